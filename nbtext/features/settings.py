"""How text becomes features: the options of that stage, and nothing else."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any

from nbtext.errors import SettingsError
from nbtext.features.formulas import INVERSE_DOCUMENT_FREQUENCIES, NORMS, TERM_FREQUENCIES

LONGEST_NGRAM = 100  # words or characters
LONGEST_PATTERN = 1_000  # characters of a regular expression
MOST = 2**62  # documents or features that any option may be about


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSettings:
    """What a feature is (the analyzer), which of them count (the selection), and how much (the weighting)."""

    # what a feature is
    analyzer: str = field(default="word", metadata={"choices": ("word", "char", "char_wb")})
    ngrams: tuple[int, int] = (1, 1)
    token_pattern: str | None = None
    lowercase: bool = True
    strip_accents: str | None = field(default=None, metadata={"choices": ("unicode", "ascii")})
    stop_words: tuple[str, ...] = ()
    stem: str | None = None
    fields: tuple[str, ...] = ()  # the names of the text fields that --separate-fields keeps apart

    # which features count
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    vocabulary: tuple[str, ...] | None = None
    hash_bits: int | None = None
    select: tuple[str, int] | None = None

    # how much a feature counts
    tf: str = field(default="count", metadata={"choices": tuple(TERM_FREQUENCIES)})
    idf: str = field(default="none", metadata={"choices": tuple(INVERSE_DOCUMENT_FREQUENCIES)})
    norm: str = field(default="none", metadata={"choices": NORMS})

    def __post_init__(self) -> None:
        self._refuse_vast_numbers()
        self._refuse_no_limits()
        shortest, longest = self.ngrams
        if not 1 <= shortest <= longest:
            raise SettingsError(
                f"{shortest},{longest} is no range", where="--ngrams", hint="write 1,2 for words and pairs"
            )
        if longest > LONGEST_NGRAM:
            raise SettingsError(f"{longest:,} is more than {LONGEST_NGRAM}", where="--ngrams")
        if len(self.token_pattern or "") > LONGEST_PATTERN:
            raise SettingsError(f"has more than {LONGEST_PATTERN:,} characters", where="--token-pattern")
        if self.vocabulary is not None and self.hash_bits is not None:
            raise SettingsError("a vocabulary and hashing exclude each other", where="--hash-bits")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= 30:
            raise SettingsError(f"{self.hash_bits} is not from 1 to 30", where="--hash-bits")

    def _refuse_vast_numbers(self) -> None:
        numbers = {"--min-df": self.min_df, "--max-df": self.max_df, "--max-features": self.max_features or 0}
        for option, number in (numbers | {"--select": self.select[1] if self.select is not None else 0}).items():
            if number > MOST:
                raise SettingsError(f"is more than {MOST:,}", where=option)

    def _refuse_no_limits(self) -> None:
        for option, limit in (("--min-df", self.min_df), ("--max-df", self.max_df)):
            if isinstance(limit, int) and limit < 1:
                hint = "write a share of the documents as 0.0"
                raise SettingsError(f"{limit} is less than 1", where=option, hint=hint)
            if isinstance(limit, float) and not 0 <= limit <= 1:
                hint = "write a number without a point"
                raise SettingsError(f"{limit} is no share from 0 to 1", where=option, hint=hint)
        for option, number in (("--max-features", self.max_features), ("--select", (self.select or (None, None))[1])):
            if number is not None and number < 1:
                raise SettingsError(f"{number} is less than 1", where=option)

    def __eq__(self, other: object) -> bool:
        """Equal settings mean the same: a limit of 1 is one document, and one of 1.0 all of them."""
        return type(other) is type(self) and other._typed() == self._typed()

    def __hash__(self) -> int:
        return hash(self._typed())

    def _typed(self) -> tuple[Any, ...]:
        return astuple(self), type(self.min_df), type(self.max_df)

    @property
    def is_counting(self) -> bool:
        """Whether a document's weights are its counts or their presence, so that statistics stay whole numbers."""
        return self.is_linear and self.idf == "none"

    @property
    def is_linear(self) -> bool:
        """Whether the weights of documents add up to a multiple of their counts, or presence, together."""
        return TERM_FREQUENCIES[self.tf].is_linear and self.norm == "none"
