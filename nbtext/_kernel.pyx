# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernel, one extension module. `nbtext.kernel` decides whether it is used.

Its parts follow in the order of the data. Each stands in the folder of the Python code that calls it, and shares the names
of all others. Nothing here imports NumPy or Python code of nbtext before it is needed: reading files needs neither.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc cimport errno
from libc.math cimport fabs, isfinite, sqrt
from libc.stdint cimport SIZE_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

import os
from collections.abc import Sequence
from importlib import import_module


@cython.final
cdef class Later:
    """A module that is imported when a name of it is needed."""

    cdef str name

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        return getattr(import_module(self.name), attribute)


np = Later("numpy")
document_table = Later("nbtext.features.document_table")
vocabularies = Later("nbtext.features.vocabulary")

include "features/kernel/memory.pxi"  # compiler built-ins, vectors, growable buffers

include "numerics.pxi"

include "documents/files.pxi"
include "documents/scanner.pxi"  # JSON values
include "documents/lines.pxi"  # flat JSON objects
include "documents/tables.pxi"  # cells of CSV and TSV

include "features/kernel/hashes.pxi"
include "features/kernel/ngrams.pxi"
include "features/kernel/words.pxi"
include "features/kernel/entries.pxi"  # of a document: a feature and its count
include "features/kernel/text.pxi"  # a str to lowercase UTF-8
include "features/kernel/analysis.pxi"  # settings and tables of a counter
include "features/kernel/class_sums.pxi"
include "features/kernel/document.pxi"
include "features/kernel/tokens.pxi"
include "features/kernel/fixed.pxi"  # a fixed vocabulary
include "features/kernel/order.pxi"  # a sorted vocabulary
include "features/kernel/scorer.pxi"
include "features/kernel/rows.pxi"
include "features/kernel/counter.pxi"

include "bayes/left_out.pxi"
include "bayes/statistics.pxi"
include "bayes/products.pxi"

include "linear/one_vs_rest.pxi"
include "linear/solvers.pxi"
