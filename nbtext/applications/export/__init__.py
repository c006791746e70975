"""Models for, and from, other programs: `nbtext export`, and pipelines of scikit-learn."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "export": CommandLine(
            "Use elsewhere",
            "Export a model for other programs: C, JavaScript, spreadsheets.",
            "command:export",
        )
    },
    methods={
        "from_sklearn": "sklearn_pipeline:from_sklearn",
        "to_sklearn": "sklearn_pipeline:to_sklearn",
    },
    exporters={"c": "c_source:C_SOURCE", "csv": "table:CSV", "js": "javascript:JAVASCRIPT"},
)
