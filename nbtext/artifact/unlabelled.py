"""How a model has learned from unlabelled documents, as part of its record."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbtext.artifact import audit
from nbtext.bayes.unlabelled import METHODS, Unlabelled

Record = dict[str, Any]


def unlabelled_record(how: Unlabelled | None) -> Record | None:
    """What is said of it; the unlabelled documents' counts are in the scorer alone."""
    if how is None:
        return None
    return {
        "method": how.method,
        "documents": how.documents,
        "weight": how.weight,
        "log_prior": np.array(how.log_prior, dtype=np.float64),
        "log_likelihoods": np.array(how.log_likelihoods, dtype=np.float64),
    }


def unlabelled_of(record: Record, n_classes: int) -> Unlabelled | None:
    """What the record says of it."""
    if audit.optional(record, "unlabelled", dict) is None:
        return None
    audit.section(record, "unlabelled", ("method", "documents", "weight", "log_prior", "log_likelihoods"))
    return Unlabelled(
        audit.choice(record, "unlabelled.method", METHODS),
        audit.whole_number(record, "unlabelled.documents", least=1),
        audit.number(record, "unlabelled.weight", least=0, most=1),
        tuple(audit.real_numbers(record, "unlabelled.log_prior", n_classes).tolist()),
        tuple(audit.real_numbers(record, "unlabelled.log_likelihoods", None).tolist()),
    )
