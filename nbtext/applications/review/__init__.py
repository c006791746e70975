"""Review of a corpus: `nbtext review`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "review": CommandLine(
            "Inspect and compare",
            "Find probable label errors, duplicates and outliers in documents, without changing them.",
            "command:review",
        )
    },
    methods={"estimate_near_duplicates": "near_duplicates:estimate_near_duplicates"},
)
