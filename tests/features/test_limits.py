"""Limits for hostile texts and patterns."""

import re
import signal
import threading

import numpy as np
import pytest

from nbtext.errors import InputError, SettingsError
from nbtext.features import analyzer
from nbtext.features.analyzer import LONGEST_TOKEN, TOKEN_PATTERN
from nbtext.features.counting import counter
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary

CHARACTERS = ["a", "B", "é", "ß", "中", "𝟙", "\ud800é"]


@pytest.mark.parametrize("character", CHARACTERS, ids=ascii)
@pytest.mark.parametrize("excess", [-4, -1, 0, 1, 4, 10_000])
def test_the_longest_token(counting_kernel: str, character: str, excess: int) -> None:
    """A token of 65,535 bytes in UTF-8 is counted, a longer one is left out and told; the words
    around it stay.
    """
    width = len(character.lower().encode("utf-8", "surrogatepass"))
    lone = character.startswith("\ud800")  # which is not a letter, and ends a word
    token = character * (max(0, LONGEST_TOKEN + excess) // width)
    text = f"one {token} two {token}"
    expected = [
        word
        for word in ("one", token.lower(), "two", token.lower())
        if not lone or word in ("one", "two")
    ]
    is_kept = len(token.lower().encode("utf-8", "surrogatepass")) <= LONGEST_TOKEN
    if not is_kept:
        expected = ["one", "two"]
    growing = counter(FeatureSettings())
    rows = growing.rows([[text, "one"]])
    assert rows.n_tokens.tolist() == [len(expected), 1]
    assert set(growing.vocabulary()[0].terms) == set(expected)
    left_out = 0 if is_kept or lone else 2
    assert (growing.take_too_long(), growing.take_too_long()) == (left_out, 0)
    classes = np.zeros(2, dtype=np.int32)
    for settings, vocabulary in (
        (FeatureSettings(hash_bits=9), None),
        (FeatureSettings(), Vocabulary.from_terms(["two"])),
    ):
        other = counter(settings, vocabulary)
        assert other.rows([[text, "one"]]).n_tokens.tolist() == [len(expected), 1]
        assert other.take_too_long() == left_out
    tallied = counter(FeatureSettings(ngrams=(1, 2)))
    tallied.count([[text, "one"]], classes, 0)
    assert tallied.take_too_long() == left_out


@pytest.mark.parametrize("letter", ["a", "é"])
def test_words_at_the_edges_of_64_bytes(counting_kernel: str, letter: str) -> None:
    """Words of one to three letters, and of 63 to 130, that begin at each place of 64 bytes read at
    once.
    """
    words = [letter * length for length in (1, 2, 3, 63, 64, 65, 130)]
    texts = [f"{'.' * start}{word}.{letter}.bb" for start in range(130) for word in words]
    texts += [text.removesuffix("bb") for text in texts]
    growing = counter(FeatureSettings())
    rows = growing.rows([texts])
    terms = growing.vocabulary()[0].terms
    assert sorted(terms) == sorted(
        {word for text in texts for word in re.findall(TOKEN_PATTERN, text)}
    )
    assert rows.n_tokens.tolist() == [len(re.findall(TOKEN_PATTERN, text)) for text in texts]


def test_words_of_all_lengths_collide(counting_kernel: str) -> None:
    """Each of many words is found in a fixed vocabulary and in one that grows, however the table
    arranges them.
    """
    random = np.random.default_rng(7)
    letters = np.array(list("abcdefgh"))
    words = sorted(
        {"".join(random.choice(letters, size)) for size in random.integers(2, 14, 20_000)}
    )
    known = words[::2]
    unknown = words[1::2]
    fixed = counter(FeatureSettings(), Vocabulary.from_terms(known))
    rows = fixed.rows([[" ".join(known), " ".join(unknown), " ".join(reversed(words))]])
    everything = list(range(len(known)))
    assert rows.indices.tolist() == everything * 2
    assert rows.indptr.tolist() == [0, len(known), len(known), 2 * len(known)]
    growing = counter(FeatureSettings())
    rows = growing.rows([[" ".join(random.permutation(words)), " ".join(words)]])
    vocabulary, places = growing.vocabulary()
    assert vocabulary.terms == words
    assert rows.arrange(places).indices.tolist() == list(range(len(words))) * 2


def test_n_grams_of_characters_have_no_limit(counting_kernel: str) -> None:
    """The limit of the token length applies to words, not to n-grams of characters."""
    counting = counter(FeatureSettings(analyzer="char_wb", ngrams=(3, 3)))
    assert counting.rows([["a" * 100_000]]).n_tokens.tolist() == [100_000]
    assert counting.take_too_long() == 0


@pytest.mark.parametrize(
    "options",
    [{"ngrams": (1, 101)}, {"ngrams": (1, 2**64)}, {"token_pattern": "a" * 1001}],
    ids=str,
)
def test_settings_are_bounded(options: dict[str, object]) -> None:
    """No model, and no option, asks for n-grams or patterns without end."""
    with pytest.raises(SettingsError, match="more than"):
        FeatureSettings(**options)


HOPELESS = [r"(?:\w+)+x", r"(?:\w+\s?)+x", r"(\w|\w\w)+!", r"(?:a|a)+b", r"(?:\w*)*x"]


@pytest.mark.usefixtures("hang_guard")
@pytest.mark.parametrize("pattern", HOPELESS)
def test_a_pattern_without_end_is_ended(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that backtracks for too long gives one error, and signal handlers are restored."""
    monkeypatch.setattr(analyzer, "MIN_SECONDS", 0.05)
    counting = counter(FeatureSettings(token_pattern=pattern))
    with pytest.raises(InputError, match="takes too long"):
        counting.rows([["a" * 60]])
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.usefixtures("hang_guard")
def test_only_the_time_of_matching_in_this_thread_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer also counts other threads, and fires wherever this one is; that of the program
    stays.
    """
    is_done = threading.Event()

    def use_time() -> None:
        while not is_done.wait(0.001):  # as the timer does when other threads work
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGVTALRM)

    handler = signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000)
    worker = threading.Thread(target=use_time)
    worker.start()
    try:
        counting = counter(FeatureSettings(token_pattern=r"\w+"))
        assert counting.rows([["a b " * 100_000]]).n_tokens.tolist() == [200_000]
        monkeypatch.setattr(analyzer, "MIN_SECONDS", 0.01)
        with analyzer.regex_timeout([["a"]]):
            assert len([n for n in range(2_000_000) if n % 2]) == 1_000_000
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 900
        assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_IGN
    finally:
        is_done.set()
        worker.join()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)


def test_a_text_is_too_long_for_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matcher's memory grows with the text; the default tokens have no such limit."""
    monkeypatch.setattr(analyzer, "MAX_TEXT_CHARACTERS", 100)
    with pytest.raises(InputError, match="too long for a custom token pattern"):
        counter(FeatureSettings(token_pattern=r"\w+")).rows([["short", "x" * 101]])
    assert counter(FeatureSettings()).rows([["x" * 101]]).n_tokens.tolist() == [1]


def test_patterns_work_in_other_threads() -> None:
    """Patterns work in any thread, though only the main thread has a timeout."""
    found: list[list[int]] = []

    def count() -> None:
        found.append(
            counter(FeatureSettings(token_pattern=r"\w+")).rows([["a bb ccc"]]).n_tokens.tolist()
        )

    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    assert found == [[3]]
