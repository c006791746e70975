"""Tables of word vectors, for `--vectors`."""

from nbtext.registry import Application

APPLICATION = Application(__package__, methods={"read_vectors": "table:read_vectors"})
