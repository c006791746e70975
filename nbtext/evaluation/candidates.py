"""The feature sets of a model search: words, pairs and triples of words and punctuation marks, character n-grams."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.features.analyzer import MARKS_PATTERN
from nbtext.features.csr import running_sums
from nbtext.features.formulas import WEIGHTINGS
from nbtext.features.hashing import document_hashes, vocabulary_hashes
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.records import dataclass

WORDS, PAIRS, TRIPLES, CHARACTERS, GIVEN = "words", "pairs", "triples", "characters", "given"
OWN_FEATURES = ("ngrams", "analyzer", "token_pattern", "vocabulary", "hash_bits")  # options that say what a feature is
SHORT = 48.0  # mean number of words and marks in a document, up to which n-grams of higher order are tried
UNSPACED = 0.2  # share of the words in scripts without spaces, from which character n-grams are tried
# Leading bytes, in UTF-8, of the scripts without spaces: Thai, Lao, Tibetan; Myanmar; Khmer; Chinese and Japanese.
UNSPACED_SCRIPTS = ((0xE0B8, 0xE0BF), (0xE180, 0xE182), (0xE19E, 0xE19F), (0xE2BA, 0xE9BF), (0xF0A0, 0xF0B3))


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings to try; `feature_set` and `weighting` are their names, "given" if the user chose them."""

    features: FeatureSettings
    model_settings: ModelSettings
    feature_set: str
    weighting: str

    @property
    def is_linear(self) -> bool:
        return self.model_settings.is_linear


def list_candidates(
    features: FeatureSettings, model_settings: ModelSettings, given: Collection[str]
) -> list[Candidate]:
    """List the candidates of a search: Naive Bayes models, the default model first, and then linear ones.

    Parameters
    ----------
    features, model_settings : FeatureSettings, ModelSettings
        Settings that all candidates share.
    given : collection of str
        Names of the settings that the user gave; they are kept. Linear models have no smoothing and no prior: if one is
        given, they are not tried.
    """
    has_weighting = not {"tf", "idf", "norm", "weighting"}.isdisjoint(given)
    sets = list_feature_sets(features, given)

    def candidate(name: str, weighting: str, settings: ModelSettings) -> Candidate:
        name = name if name in sets else GIVEN
        if has_weighting:
            return Candidate(sets[name], settings, name, GIVEN)
        tf, idf, norm = WEIGHTINGS[weighting]
        return Candidate(replace(sets[name], tf=tf, idf=idf, norm=norm), settings, name, weighting)

    found = [candidate(name, "counts", replace(model_settings, model=AUTO)) for name in sets if name != TRIPLES]
    if (model_settings.smoothing, model_settings.prior, model_settings.class_weight) == (None, None, None):
        for own_set in sets:
            for model in LINEAR_MODELS:
                for name, weighting, C in LINEAR_MODELS[model].searched:
                    if own_set in (name, GIVEN):
                        found.append(candidate(name, weighting, replace(model_settings, model=model, C=C)))
    return list(dict.fromkeys(found))


def list_last_candidates(candidate: Candidate) -> list[Candidate]:
    """Return the linear models that are compared on the features and the weighting of the best of the others."""
    names = [name for name, record in LINEAR_MODELS.items() if record.is_tried_last]
    return [replace(candidate, model_settings=replace(candidate.model_settings, model=name)) for name in names]


def list_feature_sets(features: FeatureSettings, given: Collection[str]) -> dict[str, FeatureSettings]:
    """Return the settings of each feature set by name; only `GIVEN` if the user set an option of OWN_FEATURES.

    With stop words or stems, tokens are those of the default pattern, for which lists and stemmers are made.
    """
    if not set(OWN_FEATURES).isdisjoint(given):
        return {GIVEN: features}
    pattern = None if features.stop_words or features.stem is not None else MARKS_PATTERN
    sets = {
        WORDS: features,
        PAIRS: replace(features, ngrams=(1, 2), token_pattern=pattern),
        TRIPLES: replace(features, ngrams=(1, 3), token_pattern=pattern),
    }
    if pattern is not None:
        sets[CHARACTERS] = replace(features, analyzer="char_wb", ngrams=(1, 5))
    return sets


def find_promising(pairs: CorpusCounts, features: FeatureSettings) -> tuple[str, ...]:
    """Return the feature sets that are worth a second reading, from the words and pairs of a corpus.

    Triples and character n-grams need many times the memory of words, and help where a document has few words, or where
    the words are not separated.

    features : the settings of the words and pairs
    """
    starts, n_spaces = _find_first_words(pairs, features.fields)
    counts = pairs.statistics.feature_sums(pairs.statistics.occurrences) * (n_spaces == 0)
    if counts.sum() <= SHORT * pairs.statistics.n_documents:
        return TRIPLES, CHARACTERS
    blob = np.concatenate((pairs.vocabulary.blob, np.zeros(2, dtype=np.uint8))) if pairs.vocabulary else starts
    leading = blob[starts].astype(np.int64) << 8 | blob[starts + 1]
    is_unspaced = np.any([(leading >= first) & (leading <= last) for first, last in UNSPACED_SCRIPTS], axis=0)
    return (CHARACTERS,) if counts[is_unspaced].sum() >= UNSPACED * counts.sum() else ()


def select_words(pairs: CorpusCounts, words: FeatureSettings) -> CorpusCounts:
    """Return the counts of single words, which are some of the columns of words and pairs.

    They equal the counts of reading the texts with the settings `words`, the hashes of the documents included. The
    default pattern omits words of one letter, and marks.
    """
    starts, n_spaces = _find_first_words(pairs, words.fields)
    assert pairs.vocabulary is not None  # for the types: see _find_first_words
    characters = running_sums(pairs.vocabulary.blob & 0xC0 != 0x80)
    n_characters = characters[pairs.vocabulary.offsets[1:]] - characters[starts]
    counts = pairs.restrict(np.flatnonzero((n_spaces == 0) & (n_characters > 1)))
    assert counts.vocabulary is not None
    hashes = document_hashes(counts.sample, vocabulary_hashes(counts.vocabulary)[counts.sample.indices])
    return replace(counts, sample=replace(counts.sample, hashes=hashes).smallest(None))


def take_documents(corpus: CorpusCounts, size: int) -> CorpusCounts:
    """Return a stratified subset of the documents, which are in random order, with the features that it has."""
    by_class = np.argsort(corpus.sample.classes, kind="stable")
    rows = np.sort(by_class[np.linspace(0, len(by_class) - 1, size).astype(np.int64)])
    sample = corpus.sample.take(rows)
    statistics = count_classes(sample, corpus.statistics.n_features, len(corpus.labels))
    part = replace(corpus, statistics=statistics, sample=sample, sample_size=None)
    return part.without(np.zeros(len(sample), dtype=np.bool_)).drop_unused_features()


def _find_first_words(corpus: CorpusCounts, fields: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the first word of each feature begins, after the name of its field, and how many words follow it."""
    assert corpus.vocabulary is not None  # for the types: features are hashed only if the user chose them
    blob, offsets = corpus.vocabulary.blob, corpus.vocabulary.offsets
    starts = offsets[:-1].copy()
    for name in sorted(fields, key=len):  # one name may begin another
        prefix = np.frombuffer(f"{name}:".encode("utf-8", "surrogatepass"), dtype=np.uint8)
        rows = np.flatnonzero(np.diff(offsets) > len(prefix))
        windows = blob[offsets[rows][:, None] + np.arange(len(prefix))]
        rows = rows[(windows == prefix).all(axis=1)]
        starts[rows] = offsets[rows] + len(prefix)
    spaces = running_sums(blob == ord(" "))
    return starts, spaces[offsets[1:]] - spaces[starts]
