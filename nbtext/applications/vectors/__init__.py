"""Tables of word vectors, for `--vectors`."""

from nbtext.registry import Application

APPLICATION = Application(
    __package__,
    methods={
        "add_unlabeled_words": "words:add_unlabeled_words",
        "fit_names": "names:fit_names",
        "read_names": "names:read_names",
        "read_vectors": "table:read_vectors",
        "train_by_names": "names:train_by_names",
    },
)
