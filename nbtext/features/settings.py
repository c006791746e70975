"""The settings that turn text into features."""

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import product, zip_longest
from typing import Any

from nbtext.documents.settings import read_words
from nbtext.errors import SettingsError
from nbtext.features.formulas import (
    INVERSE_DOCUMENT_FREQUENCIES,
    NORMS,
    TERM_FREQUENCIES,
    WEIGHTINGS,
)
from nbtext.features.stop_words import read_stop_words
from nbtext.records import Strings, frozen
from nbtext.settings import (
    Excludes,
    Settings,
    list_settings,
    setting,
    shorthand,
)

ANALYZERS = ("word", "char", "char_wb")
LONGEST_NGRAM = 100  # words or characters
VIEW_END = "="  # after the name of a view in the name of a feature
MAX_VIEWS = 16  # each of them reads all texts
LONGEST_PATTERN = 1_000  # characters of a regular expression
# of new documents: Naive Bayes of so many columns takes about 1 GB, however few are used
MAX_HASH_BITS = 24
# the settings of a weighting, and what it may be
OF_WEIGHTING = ("tf", "idf", "norm")
WEIGHTING_NAMES = (
    f"a scheme ({', '.join(WEIGHTINGS)}), or TF:IDF:NORM, such as log:smooth:l2, where TF is one of "
    f"{', '.join(TERM_FREQUENCIES)}, IDF one of {', '.join(INVERSE_DOCUMENT_FREQUENCIES)}, and NORM "
    "none, l1 or l2"
)
MAX_OPTION_NUMBER = 2**62  # the largest number of documents or features that an option accepts


def _parse_ngrams(text: str) -> tuple[int, int]:
    shortest, _, longest = text.replace("-", ",").partition(",")
    if not (shortest.strip().isdecimal() and (longest or shortest).strip().isdecimal()):
        raise ValueError(f"{text!r} is not a range; write 1,2 for words and pairs of words")
    return int(shortest), int(longest or shortest)


def _check_ngrams(ngrams: tuple[int, int], where: str) -> None:
    shortest, longest = ngrams
    if not 1 <= shortest <= longest:
        raise SettingsError(
            f"{shortest},{longest} is not a range",
            where=where,
            hint="write 1,2 for words and pairs of words",
        )
    if longest > LONGEST_NGRAM:
        raise SettingsError(f"{longest:,} is more than {LONGEST_NGRAM}", where=where)


def normalize_view(text: str) -> str:
    """Return the name of a view, ANALYZER:N[,N][:WEIGHTING], in its only spelling; ValueError if it
    is not one.
    """
    analyzer, _, rest = text.partition(":")
    ngrams, has_weighting, weighting = rest.partition(":")
    if analyzer not in ANALYZERS or not ngrams:
        names = f"one of {', '.join(ANALYZERS)}; the weighting may be left out"
        raise ValueError(f"{text!r} is not ANALYZER:N,N:WEIGHTING; the analyzer is {names}")
    shortest, longest = _parse_ngrams(ngrams)
    name = f"{analyzer}:{shortest}{f',{longest}' if longest != shortest else ''}"
    if not has_weighting:
        return name
    parts = parse_weighting(weighting)
    schemes = (scheme for scheme, its_parts in WEIGHTINGS.items() if its_parts == parts)
    return f"{name}:{next(schemes, ':'.join(parts))}"


def _parse_document_frequency(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is neither a number of documents nor a proportion such as 0.5"
        ) from None


def _parse_selection(text: str) -> tuple[str, int]:
    criterion, _, number = text.partition(":")
    if criterion not in ("mi", "chi2") or not number.isdecimal():
        raise ValueError(f"{text!r} is neither mi:N nor chi2:N")
    return criterion, int(number)


def parse_weighting(text: str) -> Strings:
    """Return the term-frequency scaling, the inverse document frequency and the norm of a weighting
    scheme, or of TF:IDF:NORM, whose parts may be left out; ValueError if it is neither.
    """
    pairs = zip_longest(WEIGHTINGS.get(text) or text.split(":"), WEIGHTINGS["counts"], fillvalue="")
    found = tuple(part or usual for part, usual in pairs)
    known = list(product(TERM_FREQUENCIES, INVERSE_DOCUMENT_FREQUENCIES, NORMS))
    if not text or found not in known:
        raise ValueError(f"{text!r} is not {WEIGHTING_NAMES}")
    return found


@frozen(kw_only=True)
class FeatureSettings(Settings):
    """The analyzer (what a feature is), the selection (which features are kept) and the weighting
    (of counts).
    """

    TITLE = "Features"
    # hashed features have no columns of their own that could be selected
    RULES = (
        *(
            Excludes("hash_bits", name)
            for name in ("vocabulary", "select", "max_features", "min_df", "max_df")
        ),
        *(Excludes("view", name, because="each has its own") for name in ("analyzer", "ngrams")),
        Excludes("view", "hash_bits"),
    )
    SHORTHANDS = (
        shorthand(
            "weighting",
            OF_WEIGHTING,
            f"Weights of counts: {WEIGHTING_NAMES}. A part of TF:IDF:NORM that is left out is count or none; "
            "tfidf is count:smooth:l2, and log-l2 is log::l2. A TF of `relative` is count / document length, and "
            "`log` is 1 + ln(count). For n documents of which df contain the feature, an IDF of `plain` is ln(n/df), "
            "`plus-one` is ln(n/(df+1)), and `smooth` is ln((n+1)/(df+1)) + 1.",
            parse=parse_weighting,
            metavar="NAME",
            default_help="counts",
        ),
    )

    # what a feature is
    analyzer: str = setting(
        "word",
        "Unit of features. `char_wb` forms character n-grams within words only.",
        choices=ANALYZERS,
        metavar="NAME",
        is_analysis=True,
    )
    ngrams: tuple[int, int] = setting(
        (1, 1),
        "Minimum and maximum n-gram length, such as 1,2 for words and pairs of words.",
        parse=_parse_ngrams,
        metavar="N,N",
        is_analysis=True,
    )
    view: Strings = setting(
        (),
        "One of several ways to count a document; may be repeated. Each view has its own analyzer, n-gram lengths "
        "and, if it is given, weighting scheme. For example, --view word:1,2 --view char_wb:2,5 counts words, pairs of "
        "words, and character n-grams within words. All views are counted in one pass, for one model.",
        parse=normalize_view,
        metavar="ANALYZER:N[,N][:WEIGHTING]",
        is_repeated=True,
        is_analysis=True,
    )
    token_pattern: str | None = setting(
        None,
        "Regular expression of a token.",
        metavar="REGEX",
        default_help=r"(?u)\b\w\w+\b",
        is_analysis=True,
        is_of_words=True,
    )
    lowercase: bool = setting(
        True,
        "Convert text to lower case.",
        default_help="--lowercase",
        is_analysis=True,
    )
    strip_accents: str | None = setting(
        None,
        "Remove accents. `ascii` also removes all remaining characters that are not ASCII.",
        choices=("unicode", "ascii"),
        metavar="NAME",
        is_analysis=True,
    )
    stop_words: Strings = setting(
        (),
        "Words to ignore. `english` is a built-in list; a file has one word per line.",
        in_python="Words to ignore; `english` is a built-in list.",
        file="input",
        names=("english",),
        parse=lambda name: tuple(sorted(read_stop_words(name))),
        is_analysis=True,
        is_of_words=True,
    )
    stem: str | None = setting(
        None,
        "Language of the Snowball stemmer, which reduces words to stems. Needs the extra nbtext[stem].",
        metavar="LANGUAGE",
        is_analysis=True,
        is_of_words=True,
    )
    fields: Strings = setting(
        (),
        "Text fields whose words are different features, as with --separate-fields.",
        is_option=False,
        is_analysis=True,
    )

    # which features are kept
    min_df: int | float = setting(
        1,
        "Minimum document frequency of a feature: a number of documents, or, with a decimal point, a proportion such "
        "as 0.01.",
        parse=_parse_document_frequency,
        metavar="N",
    )
    max_df: int | float = setting(
        1.0,
        "Maximum document frequency of a feature: a number of documents, or, with a decimal point, a proportion such "
        "as 0.5.",
        parse=_parse_document_frequency,
        metavar="N",
    )
    max_features: int | None = setting(
        None,
        "Maximum number of features: the N features with the most occurrences. Ties are broken by code point order.",
        low=1,
        high=MAX_OPTION_NUMBER,
        metavar="N",
    )
    vocabulary: Strings | None = setting(
        None,
        "File with one feature per line. All other features are ignored.",
        in_python="The features to count; all others are ignored.",
        file="input",
        parse=lambda path: tuple(sorted(set(read_words(path)))),
    )
    hash_bits: int | None = setting(
        None,
        "Hash features into 2^N columns instead of storing a vocabulary; N is from 1 to 24.",
        low=1,
        high=30,
        wanted=f"a number from 1 to {MAX_HASH_BITS}",
        metavar="N",
        is_analysis=True,
    )
    select: tuple[str, int] | None = setting(
        None,
        "Keep the N features with the highest score. The score is the mutual information (`mi`) or the chi-squared "
        "statistic (`chi2`) of the feature and the label.",
        parse=_parse_selection,
        metavar="mi:N|chi2:N",
    )

    # the weights of features
    tf: str = setting(
        "count",
        "Term-frequency scaling. `relative` is count / document length; `log` is 1 + ln(count).",
        choices=tuple(TERM_FREQUENCIES),
        is_option=False,
    )
    idf: str = setting(
        "none",
        "Inverse-document-frequency variant, for n documents of which df contain the feature. `plain` is ln(n/df); "
        "`plus-one` is ln(n/(df+1)); `smooth` is ln((n+1)/(df+1)) + 1.",
        choices=tuple(INVERSE_DOCUMENT_FREQUENCIES),
        is_option=False,
    )
    norm: str = setting(
        "none", "Norm by which each document vector is divided.", choices=NORMS, is_option=False
    )

    def check_values(self) -> None:
        for option in ("min_df", "max_df"):
            limit = getattr(self, option)
            if limit > MAX_OPTION_NUMBER:
                raise SettingsError(f"is more than {MAX_OPTION_NUMBER:,}", where=option)
            if not (limit >= 1 if isinstance(limit, int) else 0 <= limit <= 1):
                raise SettingsError(
                    f"{limit:g} is neither a number of documents nor a proportion of them",
                    where=option,
                    hint="give a whole number from 1, or a proportion from 0.0 to 1.0 with a decimal point",
                )
        if self.select is not None and not 1 <= self.select[1] <= MAX_OPTION_NUMBER:
            raise SettingsError(
                f"{self.select[1]} is not a number from 1 to {MAX_OPTION_NUMBER:,}", where="select"
            )
        _check_ngrams(self.ngrams, "ngrams")
        if len(self.token_pattern or "") > LONGEST_PATTERN:
            raise SettingsError(
                f"has more than {LONGEST_PATTERN:,} characters", where="token_pattern"
            )
        try:
            names = sorted(map(normalize_view, self.view), key=lambda name: name + VIEW_END)
        except ValueError as error:
            raise SettingsError(
                str(error), where="view", hint="write word:1,2 or char_wb:2,5:tfidf"
            ) from None
        if len(set(names)) < len(names):
            raise SettingsError("a view is given twice", where="view", hint="leave out one of them")
        if len(names) > MAX_VIEWS:
            raise SettingsError(
                f"{len(names)} views are more than {MAX_VIEWS}",
                where="view",
                hint="use fewer views",
            )
        # views are spelled in one way, in the order of their features
        if tuple(names) != self.view:
            object.__setattr__(self, "view", tuple(names))
        for name in names:
            _check_ngrams(_parse_ngrams(name.split(":")[1]), "view")

    def __eq__(self, other: object) -> bool:
        """Compare types too: a limit of 1 is one document, and a limit of 1.0 all documents."""
        return type(other) is type(self) and other._typed_values() == self._typed_values()

    def __hash__(self) -> int:
        return hash(self._typed_values())

    def _typed_values(self) -> tuple[Any, ...]:
        return astuple(self), type(self.min_df), type(self.max_df)

    def check_hash_bits(self, maximum: int = MAX_HASH_BITS) -> None:
        """Raise SettingsError if these are too many columns for new documents. Older models may
        have more of them.
        """
        if self.hash_bits is not None and self.hash_bits > maximum:
            raise SettingsError(
                f"{self.hash_bits} is more than {maximum}; memory holds all columns, used or not",
                where="hash_bits",
                hint="20 is enough for most texts",
            )

    @property
    def of_views(self) -> tuple[FeatureSettings, ...]:
        """The settings of each view alone, in the order of its features.

        Without views, they are these settings.
        """
        if not self.view:
            return (self,)
        has_words = any(name.startswith("word") for name in self.view)
        found = []
        for name in self.view:
            analyzer, ngrams, *weighting = name.split(":", 2)
            own: dict[str, Any] = {
                "view": (),
                "analyzer": analyzer,
                "ngrams": _parse_ngrams(ngrams),
            }
            for each in weighting:
                own |= zip(OF_WEIGHTING, parse_weighting(each), strict=True)
            if has_words and analyzer != "word":
                own |= OF_WORDS
            found.append(replace(self, **own))
        return tuple(found)

    @property
    def is_of_single_words(self) -> bool:
        """Whether the features are single words, in the place of which the model `combined` counts
        several views of a text.
        """
        plain = replace(
            self, view=(), analyzer="word", ngrams=(1, 1), hash_bits=None, vocabulary=None
        )
        return plain == self

    @property
    def is_counting(self) -> bool:
        """Whether weights are counts or binary counts, so that class statistics are whole
        numbers.
        """
        return self.is_linear and all(each.idf == "none" for each in self.of_views)

    @property
    def is_linear(self) -> bool:
        """Whether the weights of documents add up as their counts, or binary counts, do."""
        return all(
            TERM_FREQUENCIES[each.tf].is_linear and each.norm == "none" for each in self.of_views
        )


# the settings that say what a feature is; the others select and weight features
ANALYSIS = tuple(field.name for field, found in list_settings(FeatureSettings) if found.is_analysis)
AFTER_COUNTING = (
    "weighting",
    *(field.name for field, found in list_settings(FeatureSettings) if not found.is_analysis),
)
# the settings for features of words, and their defaults
OF_WORDS = {
    field.name: field.default
    for field, found in list_settings(FeatureSettings)
    if found.is_of_words
}
