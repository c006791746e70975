"""The registry of event models. To add one, write its file and name its record here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.bayes.event_model import EventModel

RECORDS = {
    "multinomial": "nbtext.bayes.multinomial:MULTINOMIAL",
    "bernoulli": "nbtext.bayes.categorical:BERNOULLI",
    "complement": "nbtext.bayes.complement:COMPLEMENT",
    "categorical": "nbtext.bayes.categorical:CATEGORICAL",
    "gaussian": "nbtext.bayes.gaussian:GAUSSIAN",
}


class EventModels(Mapping[str, "EventModel"]):
    """The records by name. A model's module is imported when its record is needed: names alone need no NumPy."""

    def __getitem__(self, name: str) -> EventModel:
        module, _, record = RECORDS[name].partition(":")
        model: EventModel = getattr(import_module(module), record)
        return model

    def __contains__(self, name: object) -> bool:
        return name in RECORDS

    def __iter__(self) -> Iterator[str]:
        return iter(RECORDS)

    def __len__(self) -> int:
        return len(RECORDS)


EVENT_MODELS = EventModels()
