"""Model search: try event models, weightings and n-grams, and choose the most accurate.

Only training documents are used. All candidates are compared by the same estimate on the same documents: exact
leave-one-out if every candidate has it, otherwise stratified k-fold cross-validation with the same folds for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.errors import InputError, number_of
from nbtext.evaluation.cross_validation import cross_validate
from nbtext.evaluation.evaluator import Evaluator
from nbtext.features.csr import running_sums
from nbtext.features.document_counts import number_contents
from nbtext.features.folds import stratified_folds
from nbtext.features.formulas import WEIGHTINGS
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import fit_model, sample_size

N_FOLDS = 5
SEED = 1
WORD_PAIRS = (1, 2)
# (model, weighting) of the candidates
NAIVE_BAYES = (
    ("multinomial", "counts"), ("multinomial", "binary"), ("bernoulli", "counts"), ("complement", "counts"),
    ("complement", "log-tfidf"), ("multinomial", "log-tfidf"),
)  # fmt: skip
LINEAR = (("nbsvm", "log-tfidf"), ("logistic", "log-tfidf"))
OF_CHARACTERS = (("multinomial", "binary"), ("nbsvm", "binary"), ("nbsvm", "log-tfidf"))
CHARACTER_NGRAMS = (2, 5)
TF_IDF_NORM = dict(WEIGHTINGS) | {"log-tfidf": ("log", "smooth", "l2")}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings to try.

    Attributes
    ----------
    weighting : str
        The name of the tf, idf and norm in `features`; "given" if the user chose them.
    """

    features: FeatureSettings
    model_settings: ModelSettings
    weighting: str


@dataclass(frozen=True, slots=True)
class Result:
    """The estimated accuracy and log-loss (in nats) of a candidate for new documents."""

    candidate: Candidate
    accuracy: float
    log_loss: float


@dataclass(frozen=True, slots=True)
class Search:
    """The results of a search.

    Attributes
    ----------
    results : tuple[Result, ...]
        In the order of the candidates.
    n_untried : int
        Candidates for which there was no time.
    n_documents : int
        Documents that the estimates are of.
    estimate : str
        How all results were estimated.
    """

    results: tuple[Result, ...]
    n_untried: int
    n_documents: int
    estimate: str

    @property
    def best(self) -> Result:
        """The most accurate result; of equally accurate ones the one with the lowest log-loss."""
        return max(self.results, key=lambda result: (result.accuracy, -result.log_loss))


def list_candidates(
    features: FeatureSettings, model_settings: ModelSettings, *, given: Collection[str], with_linear: bool
) -> list[Candidate]:
    """List the candidates of a search, the fastest first.

    Parameters
    ----------
    features, model_settings : FeatureSettings
        Settings that all candidates share.
    given : Collection[str]
        Names of the settings that the user gave; they are kept.
    with_linear : bool
        Also try linear models and character n-grams.
    """
    has_weighting = not {"tf", "idf", "norm", "weighting"}.isdisjoint(given)
    has_ngrams = (
        "ngrams" in given
        or features.analyzer != "word"
        or features.hash_bits is not None
        or features.token_pattern is not None
        or features.vocabulary is not None
    )  # else words and pairs of words are one counted corpus

    def candidate(ngrams: tuple[int, int], model: str, weighting: str, analyzer: str | None = None) -> Candidate:
        settings = replace(model_settings, model=model)
        if model in LINEAR_MODELS:
            C = AUTO if model_settings.C == ModelSettings().C else model_settings.C
            settings = replace(settings, smoothing=None, prior=None, C=C)
        chosen = replace(features, ngrams=ngrams, analyzer=analyzer or features.analyzer)
        if has_weighting:
            return Candidate(chosen, settings, "given")
        tf, idf, norm = TF_IDF_NORM[weighting]
        return Candidate(replace(chosen, tf=tf, idf=idf, norm=norm), settings, weighting)

    ngrams = [features.ngrams] if has_ngrams else [(1, 1), WORD_PAIRS]
    pairs = [NAIVE_BAYES, LINEAR] if with_linear else [NAIVE_BAYES]
    listed = [candidate(each, *pair) for group in pairs for each in ngrams for pair in group]
    if with_linear and not has_ngrams and "analyzer" not in given:
        listed += [candidate(CHARACTER_NGRAMS, *pair, analyzer="char_wb") for pair in OF_CHARACTERS]
    return list(dict.fromkeys(listed))


def search_settings(
    candidates: Sequence[Candidate],
    count: Callable[[FeatureSettings], CorpusCounts],
    *,
    has_time: Callable[[], bool],
    jobs: int = 1,
) -> Search:
    """Estimate the candidates in order while there is time, and at least the first one.

    Parameters
    ----------
    count : Callable[[FeatureSettings], CorpusCounts]
        Counts the corpus (at least a sample of it) with these feature settings.
    has_time : Callable[[], bool]
        Whether another candidate may be started.
    jobs : int
        Number of threads.

    Raises
    ------
    InputError
        There are fewer documents than folds.
    """
    corpora = _Corpora(candidates, count)
    has_leave_one_out = all(sample_size(each.features, each.model_settings) is not None for each in candidates)
    results: list[Result] = []
    for candidate in candidates:
        if results and not has_time():
            break
        corpus = corpora.get(candidate.features)
        result = _leave_one_out(candidate, corpus, jobs) if has_leave_one_out else None
        has_leave_one_out = result is not None  # None: no label has two documents, whatever the candidate
        results.append(result or _cross_validate(candidate, corpus, jobs))
    estimate = "leave-one-out" if has_leave_one_out else f"{N_FOLDS}-fold cross-validation"
    return Search(tuple(results), len(candidates) - len(results), corpora.n_documents, estimate)


class _Corpora:
    """The corpus as each candidate counts it; single words are a choice of columns from words and pairs."""

    def __init__(self, candidates: Sequence[Candidate], count: Callable[[FeatureSettings], CorpusCounts]) -> None:
        words = [candidate.features.ngrams for candidate in candidates if candidate.features.analyzer == "word"]
        self._widest = max(words, default=(1, 1))
        self._count = count
        self._counted: dict[tuple[str, tuple[int, int]], CorpusCounts] = {}
        self.n_documents = 0

    def get(self, features: FeatureSettings) -> CorpusCounts:
        """Return the counted corpus; count it if no earlier candidate needed it."""
        key = (features.analyzer, features.ngrams)
        if key not in self._counted:
            if features.analyzer == "word" and features.ngrams != self._widest:
                corpus = self.get(replace(features, ngrams=self._widest))
                assert corpus.vocabulary is not None  # for the types: of hashed features n-grams are not tried
                spaces = running_sums(corpus.vocabulary.blob == ord(" "))[corpus.vocabulary.offsets]
                self._counted[key] = corpus.restrict(np.flatnonzero(np.diff(spaces) == 0))
            else:
                self._counted[key] = _sample_alone(self._count(features))
                self.n_documents = len(self._counted[key].sample)
        if self.n_documents < N_FOLDS:
            found = number_of(self.n_documents, "document")
            raise InputError(
                f"a model search needs at least {N_FOLDS} documents; found {found}", hint="name a model with --model"
            )
        return self._counted[key]


def _sample_alone(corpus: CorpusCounts) -> CorpusCounts:
    """Reduce a counted corpus to the documents of its sample."""
    sample = corpus.sample
    if len(sample) == corpus.statistics.n_documents:
        return replace(corpus, sample_size=None)
    statistics = count_classes(sample, corpus.statistics.n_features, len(corpus.labels))
    alone = replace(corpus, statistics=statistics, sample_size=None)
    alone = alone.without(np.zeros(len(sample), dtype=np.bool_))  # removes labels without a document
    return alone.restrict(np.flatnonzero(np.diff(alone.statistics.indptr)))


def _leave_one_out(candidate: Candidate, corpus: CorpusCounts, jobs: int) -> Result | None:
    """Estimate by exact leave-one-out; None if every label has a single document."""
    estimate = fit_model(corpus, candidate.features, candidate.model_settings, jobs=jobs).estimate
    return Result(candidate, estimate.accuracy, estimate.log_loss) if estimate is not None else None


def _cross_validate(candidate: Candidate, corpus: CorpusCounts, jobs: int) -> Result:
    """Estimate by stratified cross-validation."""
    evaluator = Evaluator()
    folds = stratified_folds(corpus.sample.classes, N_FOLDS, seed=SEED, contents=number_contents(corpus.sample))
    evaluator.add_all(
        cross_validate(corpus, folds, features=candidate.features, model_settings=candidate.model_settings, jobs=jobs)
    )
    evaluation = evaluator.evaluation()
    return Result(candidate, evaluation.metrics["accuracy"], evaluation.metrics["log_loss"])
