"""The registry of tasks: what the rest of the program has to know about each kind of task.

A task is a class (`nbtext.model.task`), which says what a prediction is. Its record names the code
that measures, writes and explains such predictions, which is in later layers: each place is
`module:name`, and is imported when it is used. To add a task, write its file and name its record
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.errors import ModelError
from nbtext.registry import import_place

if TYPE_CHECKING:
    from nbtext.documents.batch import Batch


class Form(NamedTuple):
    """How the predictions of a task are written: the names of the columns, and the values in JSON.

    label, probability  of the predicted labels
    label_set           of the prediction set
    is_list             whether labels and probabilities are lists
    """

    label: str
    probability: str
    label_set: str
    is_list: bool


class TaskKind(NamedTuple):
    """A kind of task.

    has_one_label  whether each document has exactly one true label
    form           how its predictions are written
    task           place of its class, whose fields are stored
    evaluator      place of the class that measures predictions: an `Evaluator`
    log            place of the class that collects what the page of an evaluation shows
    explanation    place of the class that explains a prediction: `Odds`; "": there is none
    export         whether exporters know how it decides
    """

    has_one_label: bool
    form: Form
    task: str
    evaluator: str
    log: str
    explanation: str = ""
    export: bool = False

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
        batch.known_labels()
        if self.has_one_label:
            batch.single_labels()


TASKS: Mapping[str, TaskKind] = {
    "one": TaskKind(
        has_one_label=True,
        form=Form("label", "probability", "labels", is_list=False),
        task="nbtext.model.task:OneLabel",
        evaluator="nbtext.evaluation.evaluator:Evaluator",
        log="nbtext.evaluation.diagnosis:ErrorLog",
        explanation="nbtext.model.explanation:OddsOfPairs",
        export=True,
    ),
    "several": TaskKind(
        has_one_label=False,
        form=Form("labels", "probabilities", "label_set", is_list=True),
        task="nbtext.model.several_labels:SeveralLabels",
        evaluator="nbtext.evaluation.evaluator:MultilabelEvaluator",
        log="nbtext.evaluation.diagnosis:SetLog",
        explanation="nbtext.model.explanation:OddsOfLabels",
        export=True,
    ),
}
