"""`nbtext diff`: the differences between two models."""

from __future__ import annotations

from nbtext.cli import options, running
from nbtext.cli.command import command
from nbtext.records import frozen
from nbtext.settings import setting


@frozen(kw_only=True)
class Diff:
    """The settings of `nbtext diff`."""

    before: str = setting("", metavar="A", file="model", is_argument=True, is_required=True)
    after: str = setting("", metavar="B", file="model", is_argument=True, is_required=True)
    features: int = setting(
        5,
        "Number of features to show for each label: those whose log-odds changed most.",
        low=0,
        high=1000,
        metavar="N",
    )
    result: options.ResultSettings = options.result()
    run: options.RunSettings = options.verbose_only()


@command(
    Diff,
    common="--features -o --to",
    example="nbtext diff letters.joblib bernoulli.joblib --features 5",
    notes="For the second model: nbtext train letters.joblib --model bernoulli -o bernoulli.joblib\n\n"
    "Memory holds both models.",
)
def diff(given: Diff) -> None:
    """Show the differences between two models.

    The result is what changed from model A to model B: sizes, settings, labels, features that were
    added or removed, and the features whose log-odds changed most.
    """
    from nbtext.applications.diff.difference import list_differences
    from nbtext.applications.diff.result import difference_result
    from nbtext.artifact.model import load_model_file

    chosen = running.result_format(given.result)
    changes = list_differences(
        load_model_file(given.before), load_model_file(given.after), n_features=given.features
    )
    running.write_result(difference_result(changes), given.result, chosen)
