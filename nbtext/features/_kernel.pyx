# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The analyzer and the counters of this room, compiled: no Python object per token, and no GIL meanwhile.

A text's way: `kernel/text.pxi` spells it as lowercase UTF-8 and marks its words, `kernel/words.pxi` finds the number
of each, `kernel/tree.pxi` that of each n-gram, `kernel/counts.pxi` counts them within the document,
`kernel/classes.pxi` adds them to its class; or `kernel/scorer.pxi` scores it. `kernel/order.pxi` puts the vocabulary
in order. What it all means is said in plain Python by analyzer.py and reference.py; tests hold them together.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING
from libc.math cimport INFINITY, exp, fabs, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

import os
import struct

import numpy as np

from nbtext.features.rows import ClassCounts, Kept, Rows
from nbtext.features.vocabulary import Vocabulary

include "kernel/machine.pxi"
include "kernel/hashes.pxi"
include "kernel/text.pxi"
include "kernel/words.pxi"
include "kernel/tree.pxi"
include "kernel/counts.pxi"
include "kernel/classes.pxi"
include "kernel/order.pxi"
include "kernel/scorer.pxi"
include "kernel/analysis.pxi"
include "kernel/fixed.pxi"
include "kernel/reading.pxi"
include "kernel/hashing.pxi"
include "kernel/documents.pxi"
include "kernel/counter.pxi"
include "kernel/vocabularies.pxi"
include "kernel/samples.pxi"
include "kernel/statistics.pxi"
include "kernel/linear.pxi"
include "kernel/softmax.pxi"

choose_secrets()
make_masks()
learn_characters(0x100)
learn_logarithms()
