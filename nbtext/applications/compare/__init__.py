"""Comparison of models, and learning curves: `nbtext compare`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "compare": CommandLine(
            "Inspect and compare",
            "Compare trained models, or learning curves.",
            "command:compare",
        )
    },
)
