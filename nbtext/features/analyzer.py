"""Analyzer: the definition of tokens and features, in plain Python; their positions in a text,
which are highlighted.

Token patterns have limits, because a model file may contain a regular expression that takes
exponential time. The time of `(?:a+)+b` doubles with each letter. Python's matcher has no timeout,
but a signal interrupts it in the main thread.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, current_thread, main_thread
from types import FrameType
from typing import Any, NamedTuple

from nbtext.documents.batch import Batch
from nbtext.errors import InputError, MissingExtra, SettingsError
from nbtext.features.settings import OF_WORDS, VIEW_END, FeatureSettings

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
# words of any length, and each punctuation mark; the kernel has it too
MARKS_PATTERN = r"\w+|[^\w\s]"
# equal to TOKEN_PATTERN for every text, and faster: greedy matches begin and end at word boundaries
FAST_TOKEN_PATTERN = r"\w\w+"
LONGEST_TOKEN = 0xFFFF  # bytes in UTF-8; the same in the kernel
TOO_LONG = f"token of more than {LONGEST_TOKEN:,} bytes"
WHITE_SPACE = re.compile(r"\s\s+")
MAX_CACHED = 1_000_000  # cached normal forms of words


class _Finder:
    """What the classes that find features have in common: the settings, and a method for each kind
    of feature.
    """

    def __init__(self, settings: FeatureSettings) -> None:
        for name, default in OF_WORDS.items():
            if settings.analyzer != "word" and getattr(settings, name) != default:
                raise SettingsError(
                    "needs features of words",
                    where=name,
                    hint="leave out this option, or use ‹analyzer=word›",
                )
        self._ngrams = settings.ngrams
        self._lowercase = settings.lowercase
        self._strip_accents = ACCENTS[settings.strip_accents]
        self._pattern = compile_token_pattern(settings)
        self.normalizer = (
            Normalizer(settings) if settings.stop_words or settings.stem is not None else None
        )
        views = zip(settings.view, settings.of_views, strict=False)
        self._views: list[tuple[str, Any]] = [
            (name + VIEW_END, type(self)(each)) for name, each in views
        ]
        methods = {
            "word": "_word_features",
            "char": "_character_ngrams",
            "char_wb": "_bounded_ngrams",
        }
        self._find: Callable[..., Any] = getattr(self, methods[settings.analyzer])


class Analyzer(_Finder):
    """Turns a text into features, as scikit-learn's vectorizers do with the same options.

    With `analyzer="word"`, the steps are: lowercase the text, strip accents, find tokens, remove
    stop words, stem, and join every run of `ngrams` tokens by spaces. With "char", features are all
    runs of `ngrams` characters, after two or more white-space characters are replaced by one space.
    With "char_wb", they are the runs within each word, padded with a space on both sides; a padded
    word that is shorter than n is one feature.

    Tokens of more than 65,535 bytes in UTF-8 are ignored and counted; no natural language has them.

    Parameters
    ----------
    settings
        Stop words, stemming and the token pattern apply to words only.

    Raises
    ------
    SettingsError
        The token pattern is invalid, the language has no stemmer, or an option for words is given
        for characters.
    MissingExtra
        The library for stemming is not installed.

    Source: scikit-learn 1.9, CountVectorizer.build_analyzer.

    >>> Analyzer(FeatureSettings(ngrams=(1, 2)))("Call me NOW!")
    ['call', 'me', 'now', 'call me', 'me now']
    """

    def __init__(self, settings: FeatureSettings) -> None:
        super().__init__(settings)
        self._find_tokens = self._pattern.findall
        self._n_too_long = 0
        self._lock = Lock()
        self._prefixes = tuple(f"{name}:" for name in settings.fields)

    def __call__(self, text: str) -> list[str]:
        """Return the features of one text, with repetitions; in several views, each after the name
        of its view.
        """
        if self._views:
            return [name + feature for name, view in self._views for feature in view(text)]
        if self._lowercase:
            text = text.lower()
        if self._strip_accents is not None:
            text = self._strip_accents(text)
        features: list[str] = self._find(text)
        return features

    def document(self, texts: Sequence[str]) -> list[str]:
        """Return the features of a document; with several text fields, each as `field:feature`."""
        if self._views:
            return [
                name + feature for name, view in self._views for feature in view.document(texts)
            ]
        if not self._prefixes:
            (text,) = texts
            return self(text)
        return [
            prefix + feature
            for prefix, text in zip(self._prefixes, texts, strict=True)
            for feature in self(text)
        ]

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text that is already lowercased and stripped of accents."""
        tokens = self._find_tokens(text)
        if len(text) > LONGEST_TOKEN // 4:
            kept = [token for token in tokens if not is_too_long(token)]
            with self._lock:
                self._n_too_long += len(tokens) - len(kept)
            tokens = kept
        if self.normalizer is None:
            return tokens
        return [word for word in map(self.normalizer.__getitem__, tokens) if word is not None]

    def take_too_long(self) -> int:
        """Return the number of tokens ignored since the last call because they are too long."""
        with self._lock:
            taken = self._n_too_long
            self._n_too_long = 0
        return taken

    def _word_features(self, text: str) -> list[str]:
        tokens = self.tokens(text)
        if self._ngrams == (1, 1):
            return tokens
        shortest, longest = self._ngrams
        features = list(tokens) if shortest == 1 else []
        for n in range(max(shortest, 2), min(longest, len(tokens)) + 1):
            runs = zip(*(tokens[start:] for start in range(n)), strict=False)
            features.extend(map(" ".join, runs))
        return features

    def _character_ngrams(self, text: str) -> list[str]:
        text = WHITE_SPACE.sub(" ", text)
        shortest, longest = self._ngrams
        lengths = range(shortest, min(longest, len(text)) + 1)
        return [text[start : start + n] for n in lengths for start in range(len(text) - n + 1)]

    def _bounded_ngrams(self, text: str) -> list[str]:
        shortest, longest = self._ngrams
        return [
            ngram
            for word in text.split()
            for ngram in _padded_ngrams(f" {word} ", shortest, longest)
        ]


def is_too_long(token: str) -> bool:
    """Return whether a token has more than LONGEST_TOKEN bytes in UTF-8; lone surrogates have
    three.
    """
    return (
        len(token) > LONGEST_TOKEN // 4
        and len(token.encode("utf-8", "surrogatepass")) > LONGEST_TOKEN
    )


def _padded_ngrams(word: str, shortest: int, longest: int) -> Iterable[str]:
    """Yield the character n-grams of a padded word; a word not longer than n is yielded once."""
    for n in range(shortest, longest + 1):
        if len(word) <= n:
            yield word
            return
        for start in range(len(word) - n + 1):
            yield word[start : start + n]


def has_own_pattern(settings: FeatureSettings) -> bool:
    """Return whether the settings have a token pattern whose running time is not known."""
    return settings.token_pattern not in (None, TOKEN_PATTERN, MARKS_PATTERN)


def has_marks(settings: FeatureSettings) -> bool:
    """Return whether one-letter words and punctuation marks are tokens, too."""
    return settings.token_pattern == MARKS_PATTERN


def compile_token_pattern(settings: FeatureSettings) -> re.Pattern[str]:
    """Return the compiled token pattern; if it has a group, the group is the token.

    raises  SettingsError: invalid regular expression, or more than one capturing group
    """
    if not has_own_pattern(settings):
        return re.compile(MARKS_PATTERN if has_marks(settings) else FAST_TOKEN_PATTERN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            pattern = re.compile(settings.token_pattern or "")
    except FutureWarning as error:  # Python has no POSIX classes, and would match other characters
        what = str(error).replace("Possible", "possible")
        raise SettingsError(
            f"invalid regular expression: {what}",
            where="token_pattern",
            hint="write \\[ for a bracket in a set, and \\w for letters and digits",
        ) from None
    except (re.error, OverflowError, RecursionError) as error:
        raise SettingsError(f"invalid regular expression: {error}", where="token_pattern") from None
    if pattern.groups > 1:
        raise SettingsError(
            f"{pattern.groups} capturing groups; at most one is allowed, which is the token",
            where="token_pattern",
            hint="write (?:...) for the others",
        )
    return pattern


def strip_accents_unicode(text: str) -> str:
    """Return the text in NFKD without combining characters."""
    if text.isascii():
        return text
    return "".join([c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)])


ACCENTS: dict[str | None, Callable[[str], str] | None] = {
    None: None,
    "unicode": strip_accents_unicode,
    "ascii": lambda text: unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode(),
}


class Normalizer(dict[str, str | None]):
    """A cache of the normal form of each word: its stem, or None for a stop word. Threads may share
    it.
    """

    def __init__(self, settings: FeatureSettings) -> None:
        super().__init__()
        self._stop_words = frozenset(settings.stop_words)
        self._stemmer = _stemmer(settings.stem) if settings.stem is not None else None
        self._lock = Lock()  # a Snowball stemmer is not thread-safe

    def normalize(self, word: str) -> str | None:
        """Return the normal form of a word, without the cache."""
        if word in self._stop_words:
            return None
        if self._stemmer is None:
            return word
        with self._lock:
            return str(self._stemmer.stemWord(word))

    def __missing__(self, word: str) -> str | None:
        if len(self) >= MAX_CACHED:
            self.clear()
        form = self[word] = self.normalize(word)
        return form


def _stemmer(language: str) -> Any:
    """Return the Snowball stemmer for a language."""
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtra("stemming", library="snowballstemmer", extra="stem") from None
    if language not in snowballstemmer.algorithms():
        languages = ", ".join(sorted(snowballstemmer.algorithms()))
        raise SettingsError(
            f"no stemmer for {language}", where="stem", hint=f"choose one of {languages}"
        )
    return snowballstemmer.stemmer(language)


MAX_TEXT_CHARACTERS = 5_000_000  # of a text; the matcher may need 100 bytes for each
MIN_SECONDS = 10.0  # CPU time for a batch of texts,
LATER_SECONDS = 0.05  # until the time is looked at again, if other code runs
SECONDS_PER_CHARACTER = 1e-6  # plus this for each character; usual patterns take a tenth of it


def refuse_long_texts(batch: Batch, settings: FeatureSettings) -> None:
    """Move each document that is too long for a token pattern to the problems of its batch, and
    empty its texts.
    """
    if not has_own_pattern(settings):
        return
    batch.columns = columns = tuple(map(list, batch.columns))
    for texts in columns:
        if max(map(len, texts), default=0) > MAX_TEXT_CHARACTERS:
            for row in [row for row, text in enumerate(texts) if len(text) > MAX_TEXT_CHARACTERS]:
                batch.problems.setdefault(row, _too_long(batch.ids[row]))
    for row in batch.problems:
        for texts in columns:
            texts[row] = ""


def _too_long(where: str) -> InputError:
    return InputError(
        f"a text has more than {MAX_TEXT_CHARACTERS:,} characters, which is too long for a custom token pattern",
        where=where,
        hint="use the default pattern, or divide such texts",
    )


@contextmanager
def regex_timeout(columns: Sequence[Sequence[str]]) -> Iterator[None]:
    """Limit the time in which a token pattern is matched with these texts.

    The time is limited in the main thread only, because only it receives signals. It is the time of
    that thread: the timer counts all threads, so it starts again with what is left. Nothing but the
    matching of tokens is interrupted. The timer and the handler of the program are restored.

    Raises
    ------
    InputError
        A text is too long, or the texts together take too long.
    """
    texts = [text for column in columns for text in column]
    if max(map(len, texts), default=0) > MAX_TEXT_CHARACTERS:
        raise _too_long("")
    import signal
    import time

    if current_thread() is not main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    limit = MIN_SECONDS + SECONDS_PER_CHARACTER * sum(map(len, texts))
    end = time.thread_time() + limit

    def stop(_: int, frame: FrameType | None) -> None:
        left = end - time.thread_time()
        is_matching = frame is not None and frame.f_code is Analyzer.tokens.__code__
        if left > 0 or not is_matching:
            signal.setitimer(signal.ITIMER_VIRTUAL, max(left, LATER_SECONDS))
            return
        raise InputError(
            "matching the token pattern with these texts takes too long",
            where="‹token_pattern›",
            hint="simplify the pattern: avoid nested repetitions such as (a+)+",
        )

    handler = signal.signal(signal.SIGVTALRM, stop)
    timer = signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer)
        signal.signal(signal.SIGVTALRM, handler)


Span = tuple[int, int]  # start and end of a part of a text
NOT_SPACE = re.compile(r"\S+")


class Occurrence(NamedTuple):
    """One occurrence of a feature in a text, and the spans of the text that it consists of."""

    feature: str
    spans: tuple[Span, ...]


class Locator(_Finder):
    """Finds the features of a text as Analyzer does, in the same order, with their positions.

    A position refers to the original text, before lowercasing, accent stripping and stemming.
    """

    def __call__(self, text: str) -> list[Occurrence]:
        """Return the features of one text."""
        if self._views:
            return [
                each._replace(feature=name + each.feature)
                for name, view in self._views
                for each in view(text)
            ]
        origins = list(range(len(text)))  # of the characters of the normalized text
        for change in (str.lower if self._lowercase else None, self._strip_accents):
            if change is None:
                continue
            changed = change(text)
            if not (text.isascii() and len(changed) == len(text)):
                # a character may become several or none, independently of its neighbors; only the
                # lowercase of sigma depends on its position, and it is one letter in any case
                origins = [
                    origin for origin, c in zip(origins, text, strict=True) for _ in change(c)
                ]
            text = changed
        return list(self._find(text, origins))

    def _word_features(self, text: str, origins: list[int]) -> Iterator[Occurrence]:
        tokens = list[tuple[str, Span]]()
        for match in self._pattern.finditer(text):
            group = min(self._pattern.groups, 1)
            token = match[group] or ""
            if is_too_long(token):
                continue
            word = self.normalizer[token] if self.normalizer is not None else token
            if word is not None:
                tokens.append((word, _span(origins, *match.span(group))))
        shortest, longest = self._ngrams
        for n in range(shortest, min(longest, len(tokens)) + 1):
            for start in range(len(tokens) - n + 1):
                run = tokens[start : start + n]
                yield Occurrence(" ".join(word for word, _ in run), tuple(span for _, span in run))

    def _character_ngrams(self, text: str, origins: list[int]) -> Iterator[Occurrence]:
        kept = [True] * len(text)
        for match in WHITE_SPACE.finditer(text):
            kept[match.start() + 1 : match.end()] = [False] * (match.end() - match.start() - 1)
        origins = [origin for origin, is_kept in zip(origins, kept, strict=True) if is_kept]
        text = WHITE_SPACE.sub(" ", text)
        shortest, longest = self._ngrams
        for n in range(shortest, min(longest, len(text)) + 1):
            for start in range(len(text) - n + 1):
                yield Occurrence(text[start : start + n], (_span(origins, start, start + n),))

    def _bounded_ngrams(self, text: str, origins: list[int]) -> Iterator[Occurrence]:
        shortest, longest = self._ngrams
        for match in NOT_SPACE.finditer(text):
            first, last = match.span()
            word = f" {match[0]} "
            for n in range(shortest, longest + 1):
                for start in range(max(1, len(word) - n + 1)):
                    # the padding is not part of the text
                    span = max(first, first + start - 1), min(last, first + start - 1 + n)
                    yield Occurrence(word[start : start + n], (_span(origins, *span),))
                if len(word) <= n:
                    break


def _span(origins: list[int], start: int, end: int) -> Span:
    """Return the span of these characters in the original text; (0, 0) if there are none."""
    return (origins[start], origins[end - 1] + 1) if 0 <= start < end else (0, 0)
