"""Training on labeled and unlabeled documents: `nbtext train --em`."""

from nbtext.registry import Added, Application

APPLICATION = Application(
    __package__,
    options={"train": Added("settings:UnlabeledSettings", "training:train_semi_supervised")},
)
