"""The HTTP service of `nbtext serve`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "serve": CommandLine(
            "Use elsewhere",
            "Serve models over HTTP: predictions, explanations, and a page to try them.",
            "command:serve",
        )
    },
)
