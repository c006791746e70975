# What other compiled modules may use of _rows.pyx.

from nbtext.features.kernel.memory cimport Buffer
from nbtext.features.kernel.scorer cimport Scorer


cdef class Weights:
    cdef Scorer scorer
    cdef object source
    cdef tuple held
    cdef Buffer dense

    cdef int expand(self) except -1


cdef object copy_to_array(const void* data, size_t count, object dtype)
cdef object array_from_buffer(Buffer* buffer, size_t count, object dtype)
