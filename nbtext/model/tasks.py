"""The registry of tasks: what the rest of the program has to know about each kind of task.

A task is a class (`nbtext.model.task`), which says what a prediction is. Its record names the code
that fits such models, and that measures, writes and explains such predictions, which is in later
layers: each place is `module:name`, and is imported when it is used. To add a task, write its file
and name its record here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.errors import ModelError, SettingsError
from nbtext.registry import import_place

if TYPE_CHECKING:
    from nbtext.documents.batch import Batch
    from nbtext.model.settings import DecisionSettings


class Form(NamedTuple):
    """How the predictions of a task are written: the names of the columns, and the values in JSON.

    label, probability  of the predicted labels
    label_set           of the prediction set
    is_list             whether labels and probabilities are lists
    separator           of labels in a table, if those of the training documents had none
    """

    label: str
    probability: str
    label_set: str
    is_list: bool
    separator: str


class TaskKind(NamedTuple):
    """A kind of task.

    title          of its models, in messages
    has_one_label  whether each document has exactly one true label
    compares       whether a label is compared with others, so that what the scores of all have in
                   common does not matter
    decisions      the settings of decisions that it takes, of those that not every task takes
    instead        what to use in place of others
    form           how its predictions are written
    task           place of its class, whose fields are stored
    fit            place of the function that fits a model to counts: its arguments are a `Fitting`,
                   and what `Task.transfer` returned for it, or None
    evaluator      place of the class that measures predictions: an `Evaluator`
    log            place of the class that collects what the page of an evaluation shows
    explanation    place of the class that explains a prediction: `Odds`; "": there is none
    export         place of the function that returns the numbers, of a task, by which an exported
                   program decides as `predict` does; "": no program can
    """

    title: str
    has_one_label: bool
    compares: bool
    decisions: tuple[str, ...]
    instead: str
    form: Form
    task: str
    fit: str
    evaluator: str
    log: str
    explanation: str = ""
    export: str = ""

    def require(self, name: str) -> Any:
        """Return a field; ModelError if the task does not have it."""
        found = getattr(self, name)
        if not found:
            raise ModelError(f"predictions of this task have no {name}", hint="use nbtext predict")
        return found

    def load(self, name: str) -> Any:
        """Import one of the places; ModelError if the task has none."""
        return import_place(self.require(name))

    def check(self, batch: Batch) -> None:
        """Raise InputError if a document of a batch cannot be evaluated."""
        batch.check_labels()
        if self.has_one_label:
            batch.single_labels()

    def check_decisions(self, given: DecisionSettings, labels: Sequence[str] | None = None) -> None:
        """Raise InputError or SettingsError if a decision has no meaning for the task, or a label
        of the costs or thresholds is not among these labels.
        """
        for name in given.of_some_tasks:
            if name not in self.decisions:
                raise SettingsError(
                    f"cannot be used with a {self.title} model",
                    where=name,
                    hint=f"use {self.instead}",
                )
        if labels is not None:
            given.check_labels(labels)


TASKS: Mapping[str, TaskKind] = {
    "one": TaskKind(
        title="single-label",
        has_one_label=True,
        compares=True,
        decisions=("min_probability", "cost"),
        instead="‹threshold› LABEL=P or ‹min_probability›",
        form=Form("label", "probability", "labels", is_list=False, separator=","),
        task="nbtext.model.task:OneLabel",
        fit="nbtext.model.fitting:fit_one_label",
        evaluator="nbtext.evaluation.evaluator:Evaluator",
        log="nbtext.evaluation.diagnosis:ErrorLog",
        explanation="nbtext.model.explanation:OddsOfPairs",
        export="nbtext.applications.export.exporter:number_one_label",
    ),
    "several": TaskKind(
        title="multi-label",
        has_one_label=False,
        compares=False,
        decisions=("threshold", "at_least_one"),
        instead="‹threshold› or ‹at_least_one›",
        form=Form("labels", "probabilities", "label_set", is_list=True, separator="|"),
        task="nbtext.model.several_labels:SeveralLabels",
        fit="nbtext.model.several_labels:fit_several_labels",
        evaluator="nbtext.evaluation.evaluator:MultilabelEvaluator",
        log="nbtext.evaluation.diagnosis:SetLog",
        explanation="nbtext.model.explanation:OddsOfLabels",
        export="nbtext.applications.export.exporter:number_several_labels",
    ),
}


def find_task(has_one_label: bool) -> str:
    """Return the name of the first task of documents that have exactly one label each, or of
    others.
    """
    return next(name for name, kind in TASKS.items() if kind.has_one_label == has_one_label)
