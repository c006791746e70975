"""The results of a model search as a table."""

from __future__ import annotations

from nbtext.errors import number_of
from nbtext.evaluation.search import Candidate, Search
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table


def format_search(search: Search, *, screen: Screen = PLAIN) -> str:
    """Format the results as a table for the screen, with a mark at the chosen one."""
    table = new_table("model", "accuracy", "log-loss", "")
    for result in search.results:
        chosen = "◂" if result is search.best else ""
        table.add_row(_name(result.candidate), f"{result.accuracy:.4f}", f"{result.log_loss:.4f}", chosen)
    models, documents = number_of(len(search.results), "model"), number_of(search.n_documents, "document")
    untried = f"; no time for {search.n_untried:,} more (--budget)" if search.n_untried else ""
    return format_screen([f"tried {models} on {documents}{untried}", f"estimated by {search.estimate}", table], screen)


def _name(candidate: Candidate) -> str:
    features = candidate.features
    ngrams = ",".join(map(str, features.ngrams)) + (" characters" if features.analyzer != "word" else "")
    return f"{candidate.modelling.model} {candidate.weighting} {ngrams}"
