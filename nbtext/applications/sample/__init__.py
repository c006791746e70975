"""Documents that a model generates: `nbtext sample`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "sample": CommandLine(
            "Inspect and compare", "Generate documents from a model.", "command:sample"
        )
    },
)
