"""`nbtext inspect`: summaries of models and matrix files."""

from __future__ import annotations

from nbtext.cli import options, running
from nbtext.cli.command import command, refuse_settings
from nbtext.documents.streams import is_matrix_file
from nbtext.model.settings import CRITERIA
from nbtext.records import Strings, frozen
from nbtext.settings import setting


@frozen(kw_only=True)
class Inspect:
    """The settings of `nbtext inspect`."""

    model: str = options.model_argument()
    features: int = setting(20, "Number of features to show for each label.", low=0, metavar="N")
    by: str | None = setting(
        None,
        "Ranking criterion of features. log-odds is the weight of the feature minus the mean of its weights for "
        "the other labels; z is the log-odds ratio of its counts, divided by the standard deviation; mi is mutual "
        "information; chi2 is the chi-squared statistic.",
        choices=tuple(CRITERIA),
        metavar="NAME",
        default_help="z; log-odds for linear models",
    )
    label: Strings = setting(
        (),
        "Show only this label; may be repeated.",
        metavar="LABEL",
        is_repeated=True,
    )
    word: Strings = setting(
        (),
        "Show the counts and weights of this feature; may be repeated.",
        metavar="WORD",
        is_repeated=True,
    )
    result: options.ResultSettings = options.result()
    run: options.RunSettings = options.verbose_only()


@command(
    Inspect,
    common="-m --features --by --label --word -o --to",
    example="nbtext inspect letters.joblib --features 10 --word parking",
    notes="Memory holds the model and one number for each feature.",
)
def inspect(given: Inspect) -> None:
    """Show the settings and the most important features of a model.

    For a model file, the result is the settings, the leave-one-out estimate, the confusions of
    labels, and for each label the features with the highest score of --by. MODEL may also be a
    matrix file of `nbtext vectorize`.
    """
    from nbtext.report.inspection import inspection_result, matrix_result

    chosen = running.result_format(given.result)
    if is_matrix_file(given.model):
        refuse_settings(Inspect, because="the file is a matrix, not a model", but=("model",))
        from nbtext.features.matrix import load_matrix
        from nbtext.model.inspection import inspect_matrix

        running.write_result(
            matrix_result(inspect_matrix(load_matrix(given.model))), given.result, chosen
        )
        return
    from nbtext.artifact.model import load_model_file
    from nbtext.model.inspection import inspect_model

    found = inspect_model(
        load_model_file(given.model),
        n_features=given.features,
        by=given.by,
        labels=given.label,
        words=given.word,
    )
    running.write_result(inspection_result(found), given.result, chosen)
