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
MAX_TOKENIZER_STEPS = 100
MAX_WORD = 256  # characters; a longer word has no pieces
BLANKS = " ▁"
MAX_PIECE_WORD = 100  # characters of a word that WordPiece divides; the usual bound
TOKENIZER_MODELS = {  # what is read of each kind of model
    "WordPiece": "vocab unk_token continuing_subword_prefix",
    "WordLevel": "vocab unk_token",
    "Unigram": "vocab unk_id byte_fallback",
    "BPE": "vocab merges unk_token continuing_subword_prefix end_of_word_suffix fuse_unk "
    "byte_fallback ignore_merges",
}
TOKENIZER_STEPS = {
    "normalizer": "Lowercase NFC NFD NFKC NFKD Nmt Strip StripAccents BertNormalizer Prepend Replace",
    "pre_tokenizer": "BertPreTokenizer ByteLevel Digits Metaspace Punctuation Whitespace WhitespaceSplit",
}
SEQUENCES = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}


class WordTokenizer(NamedTuple):
    """A tokenizer that divides words into pieces.

    library  of the library `tokenizers`
    path     of its file
    space    what stands before a word, if the pieces of a first word differ
    unknown  the pieces that stand for unknown characters
    inner    what stands before a piece that continues a word; empty: a blank stands before one that
             begins a word
    ranks    of byte-pair encoding: the order in which pieces are made by joining two others
    """

    library: Any
    path: Path
    space: str
    unknown: set[int | None]
    inner: str
    ranks: dict[str, int]

    def split(self, words: list[str]) -> list[list[int]]:
        """Return the pieces of each word; none of a word that is too long."""
        texts = [self.space + word if len(word) <= MAX_WORD else "" for word in words]
        found = call_library(self.path, self.library.encode_batch, texts, add_special_tokens=False)
        return [each.ids for each in found]


def unread_tokenizer(path: Path, what: str) -> InputError:
    hint = f"the models {', '.join(TOKENIZER_MODELS)} are read, and {TOKENIZER_STEPS['normalizer'].replace(' ', ', ')}"
    return InputError(what, where=str(path), hint=hint)


def call_library(path: Path, function: Any, *given: Any, **options: Any) -> Any:
    """Return what the library returns; InputError if it fails or panics."""
    try:
        return function(*given, **options)
    except BaseException as error:
        # a panic of the library has another base than other errors
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise unread_tokenizer(path, f"cannot be read: {error}") from None
        raise


def read_tokenizer(path: Path) -> WordTokenizer:
    """Return the tokenizer of a file.

    raises  InputError: the file is not one, or has a part that is not read
            ImportError: the library is missing
    """
    from tokenizers import Tokenizer, decoders

    try:
        given = json.loads(path.read_bytes())
        model = _read_model(path, given["model"])
        steps = {kind: [*_read_steps(path, kind, given.get(kind))] for kind in TOKENIZER_STEPS}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise unread_tokenizer(path, f"cannot be read: {type(error).__name__}: {error}") from None
    content: dict[str, Any] = {"version": "1.0", "added_tokens": [], "model": model}
    for kind, own in steps.items():
        keys = [json.dumps([each["type"], each.get("pattern")]) for each in own]
        # which may multiply characters
        if len(own) > MAX_TOKENIZER_STEPS or len(set(keys)) < len(keys):
            raise unread_tokenizer(
                path, f"has more than {MAX_TOKENIZER_STEPS} steps of a {kind}, or one of them twice"
            )
        if own:
            content[kind] = {"type": "Sequence", SEQUENCES[kind]: own}
    library = call_library(path, Tokenizer.from_str, json.dumps(content))
    if any(each["type"] == "ByteLevel" for each in steps["pre_tokenizer"]):
        library.decoder = decoders.ByteLevel()
    names = "[UNK]", "<unk>", model.get("unk_token")
    unknown = {model.get("unk_id"), *map(library.get_vocab().get, names)}
    first = call_library(path, library.encode, " a\uffff", add_special_tokens=False).tokens
    space = " " if "".join(first).startswith("Ġ") else ""
    inner = model.get("continuing_subword_prefix") or ""
    merges = [
        each.split(" ") if isinstance(each, str) else each for each in model.get("merges", ())
    ]
    ranks = {"".join(pair): rank for rank, pair in reversed([*enumerate(merges)])}
    return WordTokenizer(library, path, space, unknown, inner, ranks)


def _read_model(path: Path, given: Any) -> dict[str, Any]:
    """Return the vocabulary and the merges, and how they are applied."""
    vocabulary = given["vocab"]
    listed = "Unigram" if isinstance(vocabulary, list) else "WordPiece"
    kind = given.get("type") or ("BPE" if "merges" in given else listed)
    if kind not in TOKENIZER_MODELS:
        raise unread_tokenizer(path, f"has the model {kind}, which is not read")
    model = {
        name: given[name] for name in TOKENIZER_MODELS[kind].split() if given.get(name) is not None
    }
    _check_texts(path, kind, model)
    unknown = model.get("unk_token")
    needs_unknown = kind != "BPE" or unknown is not None
    if needs_unknown and unknown not in vocabulary and "unk_id" not in model:
        raise unread_tokenizer(path, f"has no piece {unknown or ''} for unknown characters")
    if kind == "WordPiece":
        model = {"continuing_subword_prefix": "##"} | model
        model["max_input_chars_per_word"] = MAX_PIECE_WORD
    return {"type": kind, **model}


def _read_steps(path: Path, kind: str, given: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps that make a word longer by a few characters at most, in their order."""
    if given is None:
        return
    name = given["type"]
    pattern = given.get("pattern") or {}
    if name == "Sequence":
        for each in given[SEQUENCES[kind]]:
            yield from _read_steps(path, kind, each)
        return
    if name == "Split" or pattern.get("Regex") in (r"\s+", " {2,}"):
        return  # they divide texts, and change blanks: words have none
    if name == "Precompiled" and kind == "normalizer":
        given = {"type": "NFKC"}  # its table of characters is about the same
    elif name not in TOKENIZER_STEPS[kind].split():
        raise unread_tokenizer(path, f"has the {kind} {name}, which is not read")
    _check_texts(path, name, {**given, "pattern": None})
    if name == "Replace":
        old = pattern.get("String", "")
        new = given["content"]
        is_shorter = 0 < len(old) <= MAX_TEXT and len(new) <= len(old)
        is_spaced = len(old) == 1 and old not in BLANKS and new == f" {old} "
        if not is_shorter and not is_spaced:
            raise unread_tokenizer(
                path, f"has the {kind} Replace of {pattern!r:.99}, which is not read"
            )
    yield given


def _check_texts(path: Path, name: str, given: dict[str, Any]) -> None:
    if any(isinstance(each, str) and len(each) > MAX_TEXT for each in given.values()):
        raise unread_tokenizer(path, f"has a text of more than {MAX_TEXT} characters in {name}")
