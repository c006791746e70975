"""The differences between two models: `nbtext diff`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "diff": CommandLine(
            "Inspect and compare", "Show the differences between two models.", "command:diff"
        )
    },
)
