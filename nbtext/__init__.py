"""nbtext: a command-line text classifier."""

__version__ = "0.1.0"
