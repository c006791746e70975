"""The registries of models. To add one, write its file and name its record here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from nbtext.bayes.event_model import EventModel

Record_co = TypeVar("Record_co", covariant=True)


class Registry(Mapping[str, Record_co]):
    """The records by name. A record's module is imported when the record is needed: names alone need no NumPy.

    places  where each record is, by name: "module:record"
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Record_co:
        module, _, record = self._places[name].partition(":")
        found: Record_co = getattr(import_module(module), record)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


EVENT_MODELS: Registry[EventModel] = Registry({
    "multinomial": "nbtext.bayes.multinomial:MULTINOMIAL",
    "bernoulli": "nbtext.bayes.categorical:BERNOULLI",
    "complement": "nbtext.bayes.complement:COMPLEMENT",
    "categorical": "nbtext.bayes.categorical:CATEGORICAL",
    "gaussian": "nbtext.bayes.gaussian:GAUSSIAN",
})  # fmt: skip

LINEAR_MODELS: Registry[Any] = Registry({  # of nbtext.linear.models.LinearModel, which is in a later layer
    "logistic": "nbtext.linear.models:LOGISTIC",
    "nbsvm": "nbtext.linear.models:NBSVM",
    "svm": "nbtext.linear.models:SVM",
})  # fmt: skip
