"""What of a model can leave it: weights of named features."""

from __future__ import annotations

from nbtext.errors import ModelError
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.fitted_model import FittedModel

MOST_WEIGHTS = 2**28  # of all features and labels together, in a format that writes each of them out: 2 GiB


def named_features(model: FittedModel) -> Vocabulary:
    """The features of a model that is one weight for each of them and each label.

    raises  ModelError: its features are hashed, or it looks at more than their weights
    """
    if model.scorer.derivation is not None:
        raise ModelError(
            f"a {model.model_settings.model} model is more than a weight for each feature, and cannot be exported",
            hint="read its counts as another model: nbtext train MODEL --model multinomial",
        )
    if model.vocabulary is None:
        raise ModelError("hashed features have no names to export", hint="train without --hash-bits")
    return model.vocabulary


def check_dense(model: FittedModel) -> None:
    """Raise ModelError where there are too many weights to write each of them out."""
    n_weights = len(named_features(model)) * len(model.labels)
    if n_weights > MOST_WEIGHTS:
        raise ModelError(
            f"{n_weights:,} weights are too many to write each of them out",
            hint="use --to js, which holds only those that differ, or train with --min-df or --max-features",
        )


def check_analyzer(model: FittedModel, *, is_own_pattern_known: bool = False) -> None:
    """Raise ModelError where others than nbtext cannot make the model's features out of a text.

    is_own_pattern_known  whether they read Python's regular expressions
    """
    settings = model.feature_settings
    if settings.stem is not None:
        raise ModelError("stems cannot be exported", hint="train without --stem")
    if settings.fields:
        raise ModelError("features of separate fields cannot be exported", hint="train without --separate-fields")
    if has_own_pattern(settings) and not is_own_pattern_known:
        raise ModelError("a token pattern of one's own cannot be exported", hint="train without --token-pattern")
