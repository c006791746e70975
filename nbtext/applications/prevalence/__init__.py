"""The share of each label among unlabeled documents: `nbtext prevalence`."""

from nbtext.registry import Added, Application, CommandLine

APPLICATION = Application(
    __package__,
    commands={
        "prevalence": CommandLine(
            "Train and predict",
            "Estimate the share of each label among unlabeled documents.",
            "command:prevalence",
        )
    },
    options={"predict": Added("settings:AdaptSettings", "adaptation:adapt")},
    methods={"prevalence": "estimation:estimate_text_prevalence"},
)
