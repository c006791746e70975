"""The corpus of the examples: `nbtext demo`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "demo": CommandLine(
            "Train and predict",
            "Write a small corpus of labeled texts, to try the commands on.",
            "command:demo",
        )
    },
)
