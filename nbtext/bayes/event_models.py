"""The registries of models. To add one, write its file and name its record here."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbtext.registry import import_place

if TYPE_CHECKING:
    from nbtext.bayes.event_model import EventModel


class Registry(UserDict[str, Any]):
    """The records by name. A record's module is imported when the record is needed: names alone
    need no NumPy.

    It is made of the place of each record, by name: "module:record".
    """

    def __getitem__(self, name: str) -> Any:
        return import_place(self.data[name])


EVENT_MODELS: Mapping[str, EventModel] = Registry(
    {
        "multinomial": "nbtext.bayes.multinomial:MULTINOMIAL",
        "bernoulli": "nbtext.bayes.categorical:BERNOULLI",
        "complement": "nbtext.bayes.complement:COMPLEMENT",
        "dirichlet": "nbtext.bayes.dirichlet:DIRICHLET",
        "categorical": "nbtext.bayes.categorical:CATEGORICAL",
        "gaussian": "nbtext.bayes.gaussian:GAUSSIAN",
        "combined": "nbtext.bayes.combination:COMBINED_VIEWS",
    }
)

# of nbtext.linear.data.LinearModel, which is in a later layer
LINEAR_MODELS: Mapping[str, Any] = Registry(
    {
        "logistic": "nbtext.linear.logistic:LOGISTIC",
        "nbsvm": "nbtext.linear.nbsvm:NBSVM",
        "svm": "nbtext.linear.one_vs_rest:SVM",
        "stacked": "nbtext.linear.stacking:STACKED_VIEWS",
    }
)
