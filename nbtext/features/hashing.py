"""Hashes of terms and documents, equal to those of the kernel on every machine."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np

from nbtext.arrays import Hashes, Integers32
from nbtext.features.document_table import DocumentTable
from nbtext.features.vocabulary import Vocabulary

FNV_START = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3


def murmur3(data: bytes) -> int:
    """Return the MurmurHash3 hash for x86, 32 bits, seed 0, unsigned.

    source  Appleby, MurmurHash3, 2011, MurmurHash3_x86_32
    """
    value = 0
    last = len(data) & ~3
    for (block,) in struct.iter_unpack("<I", data[:last]):
        value ^= _scramble(block)
        value = ((value << 13 | value >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    value ^= _scramble(int.from_bytes(data[last:], "little")) ^ len(data)
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return value ^ value >> 16


def _scramble(block: int) -> int:
    block = block * 0xCC9E2D51 & 0xFFFFFFFF
    return (block << 15 | block >> 17) * 0x1B873593 & 0xFFFFFFFF


def mix64(values: Hashes) -> Hashes:
    """Return values in which each input bit affects all output bits.

    source  Appleby, MurmurHash3, 2011, fmix64
    """
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> np.uint64(33))) * np.uint64(factor)
    return values ^ (values >> np.uint64(33))


def vocabulary_hashes(vocabulary: Vocabulary) -> Hashes:
    """Return the hash of each feature: mix64 of FNV-1a (64 bits) of its UTF-8 bytes, for all at
    once, byte by byte.

    source  Fowler, Noll & Vo, The FNV Non-Cryptographic Hash Algorithm, RFC 9923
    """
    hashes = np.full(len(vocabulary), FNV_START, np.uint64)
    starts = vocabulary.offsets[:-1]
    lengths = np.diff(vocabulary.offsets)
    longest_first = np.argsort(-lengths, kind="stable")
    starts = starts[longest_first]
    n_longer = np.cumsum(np.bincount(lengths, minlength=1)[::-1])[::-1]
    for place in range(len(n_longer) - 1):
        n = n_longer[place + 1]  # features with more than `place` bytes
        hashes[:n] = (hashes[:n] ^ vocabulary.blob[starts[:n] + place]) * np.uint64(FNV_PRIME)
    found = np.empty_like(hashes)
    found[longest_first] = mix64(hashes)
    return found


def bucket_hashes(buckets: Integers32) -> Hashes:
    """Return the hash of each hashed feature, from its bucket."""
    return mix64(buckets.astype(np.uint64) + np.uint64(1))


def document_hashes(rows: DocumentTable, hashes: Hashes) -> Hashes:
    """Return a hash of the features and counts (or weights) of each row, (n_documents,),
    independent of column numbers.

    hashes  (n_entries,), the hash of the feature of each entry
    """
    if rows.counts.dtype.kind == "f":
        values = mix64(hashes ^ rows.counts.astype(np.float64).view(np.uint64))
    else:
        values = hashes * rows.counts.astype(np.uint64)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(values)))
    return mix64(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def join_hashes(names: Sequence[str], hashes: Sequence[Hashes]) -> Hashes:
    """Return a hash of each document, from its hashes in all views; `names` are those of the views,
    sorted.
    """
    factors = vocabulary_hashes(Vocabulary.from_sorted(names)) | np.uint64(1)
    sums = np.sum([own * factor for own, factor in zip(hashes, factors, strict=True)], axis=0)
    return mix64(sums.astype(np.uint64))


def buckets(terms: Iterable[str], bits: int) -> Integers32:
    """Return the column of each term, from 0 to 2**bits - 1.

    It is the absolute value of the signed hash, modulo the number of columns.

    source  scikit-learn 1.9, FeatureHasher with alternate_sign=False
    """
    signed = np.array([murmur3(term.encode("utf-8", "surrogatepass")) for term in terms], np.uint32)
    return (np.abs(signed.view(np.int32).astype(np.int64)) % (1 << bits)).astype(np.int32)
