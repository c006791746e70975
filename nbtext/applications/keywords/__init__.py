"""Training by keywords instead of labels: `nbtext train --keywords`."""

from nbtext.registry import Added, Application

APPLICATION = Application(
    __package__,
    options={"train": Added("settings:KeywordSettings", "training:train_by_keywords")},
)
