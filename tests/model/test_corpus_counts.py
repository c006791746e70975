"""The counts of parts add up to the counts of the whole, in any order and any number of parts."""

import json
from dataclasses import fields
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_texts import count_texts

from nbtext.bayes.class_statistics import count_classes
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_shard, open_source
from nbtext.errors import InputError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import Bound, CorpusCounter, CorpusCounts
from nbtext.model.source_counting import CountingTask, count_in_threads

PLAIN = FeatureSettings()
TEXTS = st.lists(st.sampled_from(["apple", "pear", "plum", "straße", "İx", "x1"]), max_size=6).map(
    " ".join
)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, st.sampled_from(["b", "a", "ä", "c\n"])), min_size=1, max_size=12
)


def assert_equal(a: CorpusCounts, b: CorpusCounts) -> None:
    """The same labels, features, counts and sample, to the last bit."""
    assert a.labels == b.labels
    assert a.vocabulary == b.vocabulary
    for mine, theirs in ((a.statistics, b.statistics), (a.sample, b.sample)):
        for field in fields(mine):
            np.testing.assert_array_equal(
                getattr(mine, field.name), getattr(theirs, field.name), err_msg=field.name
            )


@settings(max_examples=60)
@given(
    first=DOCUMENTS,
    second=DOCUMENTS,
    size=st.sampled_from([None, 1, 3]),
    features=st.sampled_from([PLAIN, FeatureSettings(ngrams=(1, 2)), FeatureSettings(hash_bits=4)]),
)
def test_a_sum_is_the_whole(
    first: list[tuple[str, str]],
    second: list[tuple[str, str]],
    size: int | None,
    features: FeatureSettings,
) -> None:
    """counts(a) + counts(b) equals counts(a and b), the sample included, in any order."""
    whole = count_texts(first + second, features, sample_size=size)
    a, b = (count_texts(part, features, sample_size=size) for part in (first, second))
    assert_equal(a + b, whole)
    assert_equal(b + a, whole)


@settings(max_examples=100)
@given(
    documents=st.lists(
        st.tuples(TEXTS, st.sampled_from(["b", "a", "ä"]), st.integers(0, 2)),
        min_size=1,
        max_size=40,
    ),
    size=st.sampled_from([1, 2, 3, 5]),
)
def test_builders_that_share_a_bound(documents: list[tuple[str, str, int]], size: int) -> None:
    """The sum of the counts of several threads is the count of the whole, whichever thread counts
    which documents.
    """
    bound = Bound(size)
    builders = [CorpusCounter(PLAIN, sample_size=size, bound=bound) for _ in range(3)]
    for text, label, builder in documents:
        builders[builder].add(Batch(["id"], ([text],), [label]))
    assert_equal(
        reduce(add, (each.finish() for each in builders)),
        count_texts([d[:2] for d in documents], sample_size=size),
    )


def test_a_shared_bound_keeps_little() -> None:
    """All threads together retain at most twice the sample size."""
    bound = Bound(10)
    builders = [CorpusCounter(PLAIN, sample_size=10, bound=bound) for _ in range(7)]
    for number in range(700):
        builders[number % 7].add(Batch(["id"], ([f"word{number}"],), ["a"]))
    assert sum(len(builder.finish().sample) for builder in builders) <= 40


def test_a_sample_of_equal_documents_stays_small() -> None:
    """A thousand equal documents fill a sample no further than its size, by label."""
    corpus = count_texts([("", "b")] * 500 + [("", "a")] * 500, sample_size=10)
    assert len(corpus.sample) == 10
    assert corpus.labels[corpus.sample.classes[0]] == "a"
    assert corpus.statistics.class_documents.tolist() == [500, 500]


@settings(max_examples=40)
@given(documents=DOCUMENTS, data=st.data())
def test_documents_can_be_taken_out(documents: list[tuple[str, str]], data: st.DataObject) -> None:
    """A counts without some documents counts as the counts of the others does."""
    whole = count_texts(documents)
    size = len(documents)
    out = np.array(
        data.draw(
            st.lists(st.booleans(), min_size=size, max_size=size).filter(
                lambda flags: not all(flags)
            )
        )
    )
    rest = whole.without(out)
    hashes = whole.sample.hashes[~out]
    np.testing.assert_array_equal(rest.sample.hashes, hashes)
    counted = count_classes(rest.sample, rest.statistics.n_features, len(rest.labels))
    for name in ("class_documents", "documents", "occurrences", "classes", "indptr"):
        np.testing.assert_array_equal(
            getattr(rest.statistics, name), getattr(counted, name), err_msg=name
        )


@settings(max_examples=40)
@given(documents=DOCUMENTS)
def test_sums_by_class_can_be_counted_again(documents: list[tuple[str, str]]) -> None:
    """The counts without them have the frequencies of all documents, and with them again they are
    as before.
    """
    whole = count_texts(documents)
    without = whole.without_class_sums()
    assert len(without.statistics.classes) == 0
    for name in ("document_frequencies", "feature_occurrences", "class_documents"):
        np.testing.assert_array_equal(
            getattr(without.statistics, name), getattr(whole.statistics, name)
        )
    assert_equal(without.with_class_sums(), whole)


def test_a_document_without_label() -> None:
    """Training on a document without a label names it and says what would help."""
    with pytest.raises(
        InputError, match=r"inbox/7\.txt: the document has no label; begin each line with __label__"
    ):
        CorpusCounter(FeatureSettings()).add(
            Batch(["a", "inbox/7.txt"], (["x", "y"],), ["spam", None])
        )


def test_a_document_that_cannot_be_read() -> None:
    """Training stops at the first document that cannot be read."""
    batch = Batch(["a"], ([""],), [None], {0: InputError("broken JSON", where="mail.jsonl:17")})
    with pytest.raises(InputError, match=r"mail\.jsonl:17: broken JSON"):
        CorpusCounter(FeatureSettings()).add(batch)


@pytest.mark.parametrize("n_bytes", [200, 5000, 10**6])
def test_shards_add_up_to_what_threads_count(n_bytes: int, tmp_path: Path) -> None:
    """A shard's counts by itself, added up in any tree, is the counts of the source in threads; the
    sample too.
    """
    lines = [
        json.dumps({"text": f"w{n % 97} w{n * n % 101}", "label": "ab"[n % 2]}) for n in range(500)
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    source = open_source([str(tmp_path / "x.jsonl")], InputSettings())
    task = CountingTask(PLAIN, 30)
    parts = [
        count_in_threads(open_shard(shard, source.settings), task, 1)
        for shard in source.shards(n_bytes)
    ]
    while len(parts) > 1:
        parts = [reduce(add, parts[start : start + 2]) for start in range(0, len(parts), 2)]
    assert_equal(parts[0], count_in_threads(source, task, 2))
