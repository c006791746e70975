"""Which models were tried, for people."""

from __future__ import annotations

from nbtext.errors import number_of
from nbtext.evaluation.search import FOLDS, Candidate, Search
from nbtext.report.terminal import PLAIN, Screen, drawn, new_table


def rendered_search(search: Search, *, screen: Screen = PLAIN) -> str:
    """A table of the trials, the chosen one marked."""
    untried = f"; no time for {search.n_untried:,} more (--budget)" if search.n_untried else ""
    table = new_table("model", "accuracy", "log-loss", "judged by", "")
    for trial in search.trials:
        table.add_row(
            _name(trial.candidate),
            f"{trial.accuracy:.4f}",
            f"{trial.log_loss:.4f}",
            "leave-one-out" if trial.is_left_out else f"{FOLDS} folds",
            "◂" if trial is search.best else "",
        )
    models, documents = number_of(len(search.trials), "model"), number_of(search.n_documents, "document")
    return drawn([f"tried {models} on {documents}{untried}", table], screen)


def _name(candidate: Candidate) -> str:
    features = candidate.features
    grams = ",".join(map(str, features.ngrams)) + (" characters" if features.analyzer != "word" else "")
    return f"{candidate.modelling.model} {candidate.weighting} {grams}"
