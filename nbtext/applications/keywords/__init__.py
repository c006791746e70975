"""Training by keywords instead of labels: `nbtext train --keywords`."""

from nbtext.registry import Added, Application

APPLICATION = Application(
    __package__,
    options={"train": Added("settings:KeywordSettings", "training:train")},
    methods={
        "read_keywords": "keyword_file:read_keywords",
        "extend_ngrams": "keywords:extend_ngrams",
        "train_with_keywords": "keywords:train_with_keywords",
    },
)
