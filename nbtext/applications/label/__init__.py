"""Active learning in the terminal: `nbtext label`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "label": CommandLine(
            "Train and predict",
            "Label documents in the terminal, starting with those from which the model learns most.",
            "command:label",
        )
    },
)
