"""The share of each label among unlabeled documents: `nbtext prevalence`."""

from nbtext.registry import Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "prevalence": CommandLine(
            "Train and predict",
            "Estimate the share of each label among unlabeled documents.",
            "command:prevalence",
        )
    },
    methods={"prevalence": "estimation:estimate_text_prevalence"},
)
