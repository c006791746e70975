# What other compiled modules may use of _lines.pyx.

from libc.stdint cimport uint8_t


cdef struct Span:  # an ASCII text, or the length in bytes of another one
    const uint8_t* letters  # which the column keeps alive; NULL if they are not ASCII
    size_t length


cdef class Column:
    cdef:
        object owner  # of the letters
        Span* spans  # by row
        size_t n_rows
        dict strings  # texts that are not ASCII, by row
        str origin  # of ids: where there is none, it is this and the number of the line; None for texts
        size_t first_line

    cdef int copy_letters(self) except -1
    cdef object text(self, size_t row)
