"""Adds `nbtext labels` and `nbtext export --to sql` to nbtext."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "labels": CommandLine(
            "Inspect and compare",
            "Show the labels of a model, and the number of training documents of each.",
            "command:labels",
        )
    },
    exporters={"sql": "sql:SQL"},
)
