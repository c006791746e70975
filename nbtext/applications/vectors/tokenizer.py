"""The tokenizer of a static model: which parts of a tokenizer.json are read.

A file is of anybody, and the library that runs it trusts it. So only the vocabulary and the merges
are taken from it, and steps that can make a word longer by a few characters at most. Others are
refused by name; special tokens, truncation and the like are left out, because no word needs them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nbtext.errors import InputError

MAX_TEXT = 32  # characters of a prefix, a replaced text and the like
MAX_STEPS = 100
MAX_WORD = 256  # characters; a longer word has no pieces
BLANKS = " ▁"
MAX_PIECE_WORD = 100  # characters of a word that WordPiece divides; the usual bound
AFFIXES = ("continuing_subword_prefix", "end_of_word_suffix")
MODELS = {  # what is read of each kind of model
    "WordPiece": ("vocab", "unk_token", AFFIXES[0]),
    "WordLevel": ("vocab", "unk_token"),
    "Unigram": ("vocab", "unk_id", "byte_fallback"),
    "BPE": ("vocab", "merges", "unk_token", *AFFIXES, "fuse_unk", "byte_fallback", "ignore_merges"),
}
NORMALIZERS = (
    *("Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Strip", "StripAccents"),
    *("BertNormalizer", "Prepend", "Replace"),
)
PRE_TOKENIZERS = (
    *("BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Split"),
    *("Whitespace", "WhitespaceSplit"),
)
BLANK_PATTERNS = (r"\s+", " {2,}", r"\s{2,}")
WORDS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
WORD_PATTERNS = (  # of GPT-2, of GPT-4 and Llama 3, and of Qwen 2
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + WORDS,
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + WORDS,
)


class WordTokenizer(NamedTuple):
    """A tokenizer that divides words into pieces.

    library  of the library `tokenizers`
    path     of its file
    space    what stands before a word, if the pieces of a first word differ
    unknown  the pieces that stand for unknown characters
    """

    library: Any
    path: Path
    space: str
    unknown: frozenset[int]

    def split(self, words: list[str]) -> list[list[int]]:
        """Return the pieces of each word; none of a word that is too long."""
        texts = [self.space + word if len(word) <= MAX_WORD else "" for word in words]
        found = run(self.path, self.library.encode_batch, texts, add_special_tokens=False)
        return [each.ids for each in found]


def refuse(path: Path, what: str) -> InputError:
    hint = f"what is read: {', '.join(MODELS)}, and steps such as {', '.join(NORMALIZERS[:7])}"
    return InputError(what, where=str(path), hint=hint)


def run(path: Path, function: Any, *given: Any, **options: Any) -> Any:
    """Return what the library returns; InputError if it fails or panics."""
    try:
        return function(*given, **options)
    except BaseException as error:  # a panic is no Exception, and its class has no public name
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise refuse(path, f"cannot be read: {error}") from None
        raise


def read_tokenizer(path: Path) -> WordTokenizer:
    """Return the tokenizer of a file.

    raises  InputError: the file is not one, or has a part that is not read
            ImportError: the library is missing
    """
    from tokenizers import Tokenizer

    try:
        given = json.loads(path.read_bytes())
        model = _read_model(path, given["model"])
        steps = _list_steps(given.get("normalizer"), "normalizers")
        normalizers = [_read_step(path, "normalizer", each) for each in steps]
        steps = _list_steps(given.get("pre_tokenizer"), "pretokenizers")
        pre_tokenizers = [_read_step(path, "pre-tokenizer", each) for each in steps]
        for kind, found in (("normalizer", normalizers), ("pre-tokenizer", pre_tokenizers)):
            _check_steps(path, kind, found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise refuse(path, f"cannot be read: {type(error).__name__}: {error}") from None
    is_of_bytes = any(each["type"] == "ByteLevel" for each in pre_tokenizers)
    decoder = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    content: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers} if normalizers else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre_tokenizers}
        if pre_tokenizers
        else None,
        "post_processor": None,
        "decoder": {"type": "ByteLevel", **decoder} if is_of_bytes else None,
        "model": model,
    }
    library = run(path, Tokenizer.from_str, json.dumps(content))
    vocabulary = library.get_vocab()
    unknown = {vocabulary.get(each) for each in ("[UNK]", "<unk>", model.get("unk_token"))}
    unknown = (unknown | {model.get("unk_id")}) - {None}
    first = run(path, library.encode, " a\uffff", add_special_tokens=False).tokens
    space = " " if "".join(first).startswith("Ġ") else ""
    return WordTokenizer(library, path, space, frozenset(unknown))


def _read_model(path: Path, given: Any) -> dict[str, Any]:
    """Return the vocabulary and the merges, and how they are applied."""
    vocabulary = given["vocab"]
    is_listed = isinstance(vocabulary, list)
    kind = given.get("type") or (
        "BPE" if "merges" in given else "Unigram" if is_listed else "WordPiece"
    )
    if kind not in MODELS:
        raise refuse(path, f"has the model {kind}, which is not read")
    model = {name: given[name] for name in MODELS[kind] if given.get(name) is not None}
    _check_texts(path, kind, model)
    unknown = model.get("unk_token")
    is_missing = unknown is not None and unknown not in vocabulary
    if is_missing or (unknown is None and kind.startswith("Word")):
        raise refuse(path, f"has no piece {unknown}, which stands for unknown characters")
    if kind == "Unigram" and "unk_id" not in model:
        raise refuse(path, "has no piece for unknown characters")
    if kind == "WordPiece":
        model["max_input_chars_per_word"] = MAX_PIECE_WORD
        model.setdefault(AFFIXES[0], "##")
    return {"type": kind, **model}


def _list_steps(given: Any, key: str) -> Iterator[dict[str, Any]]:
    """Yield the steps of a sequence, of sequences of them, or the only one."""
    if given is None:
        return
    if given["type"] != "Sequence":
        yield given
        return
    for each in given[key]:
        yield from _list_steps(each, key)


def _read_step(path: Path, kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return a step, if it makes a word longer by a few characters at most."""
    name = given["type"]
    if name == "Precompiled" and kind == "normalizer":  # a table of characters, about NFKC
        return {"type": "NFKC"}
    if name not in (NORMALIZERS if kind == "normalizer" else PRE_TOKENIZERS):
        raise refuse(path, f"has the {kind} {name}, which is not read")
    _check_texts(path, name, {**given, "pattern": None})
    is_plain = True
    if name in {"Replace", "Split"}:
        ((form, pattern),) = given["pattern"].items()
        content = given.get("content", "")
        is_shorter = 0 < len(pattern) <= MAX_TEXT and len(content) <= len(pattern)
        is_spaced = len(pattern) == 1 and pattern not in BLANKS and content == f" {pattern} "
        known = BLANK_PATTERNS if name == "Replace" else WORD_PATTERNS
        is_known = pattern in known and len(content) <= 1
        is_plain = is_known if form == "Regex" else is_shorter or is_spaced
    if not is_plain:
        raise refuse(path, f"has the {kind} {name} of {pattern[:MAX_TEXT]!r}, which is not read")
    return given


def _check_texts(path: Path, name: str, given: dict[str, Any]) -> None:
    if any(isinstance(each, str) and len(each) > MAX_TEXT for each in given.values()):
        raise refuse(path, f"has a text of more than {MAX_TEXT} characters in {name}")


def _check_steps(path: Path, kind: str, steps: list[dict[str, Any]]) -> None:
    """Raise InputError if one step is there twice, because together they may multiply
    characters.
    """
    keys = [json.dumps([each["type"], each.get("pattern")]) for each in steps]
    if len(steps) > MAX_STEPS or len(set(keys)) < len(keys):
        raise refuse(path, f"has more than {MAX_STEPS} steps of a {kind}, or one of them twice")
