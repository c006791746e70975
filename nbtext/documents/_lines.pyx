# cython: language_level=3, boundscheck=False, wraparound=False
"""Count bytes, and parse lines that are flat JSON objects. The GIL is held only to create the Python strings.

`jsonl.parse_jsonl` defines the result. This parser rejects unusual lines, which the standard library then parses or
reports: nested objects, lists that hold lists or objects, blank lines, escapes in keys, lone surrogates, and invalid
JSON.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

from nbtext.documents.scanner cimport (
    LIST, NOTHING, SPELLED, TEXT, Scanner, Value, nb_count, skip_blanks, take, take_text, take_value,
)

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 largest)
    void* PyUnicode_DATA(object text)


cdef class Lines:
    """The lines of a block, and the values of the wanted keys in each."""

    cdef:
        bytes data
        list names  # bytes
        Scanner scanner
        Value* values  # (n_lines, n_names), by line
        Value* others  # other values and keys that are not ASCII; they are only checked to be valid UTF-8
        size_t n_names, n_lines, n_others, capacity, others_capacity

    def __init__(self, bytes data, list names):
        self.data, self.names, self.n_names = data, names, len(names)
        self.scanner.at = <const uint8_t*> PyBytes_AS_STRING(data)
        self.scanner.end = self.scanner.at + PyBytes_GET_SIZE(data)

    def __dealloc__(self):
        free(self.values)
        free(self.others)
        free(self.scanner.unescaped)

    cdef bint begin_line(self) noexcept nogil:
        cdef size_t i
        cdef Value* values
        if (self.n_lines + 1) * self.n_names > self.capacity:
            self.capacity = max(2 * self.capacity, 256 * self.n_names)
            values = <Value*> realloc(self.values, self.capacity * sizeof(Value))
            if values == NULL:
                return False
            self.values = values
        for i in range(self.n_names):
            self.values[self.n_lines * self.n_names + i] = Value(NULL, 0, 0, NOTHING, True)
        return True

    cdef bint check_later(self, Value value) noexcept nogil:
        cdef Value* others
        if self.n_others == self.others_capacity:
            self.others_capacity = max(2 * self.others_capacity, <size_t> 64)
            others = <Value*> realloc(self.others, self.others_capacity * sizeof(Value))
            if others == NULL:
                return False
            self.others = others
        self.others[self.n_others] = value
        self.n_others += 1
        return True

    cdef bint take_pair(self, const char** names, const size_t* lengths) noexcept nogil:
        """Parse a key and its value; if a key occurs twice, the last value is used."""
        cdef Scanner* s = &self.scanner
        cdef Value key, value
        cdef Value* place
        cdef bint is_wanted = False
        cdef size_t i
        if not take(s, c'"') or not take_text(s, &key) or key.letters == NULL:
            return False
        if not take(s, c':') or not take_value(s, &value):
            return False
        for i in range(self.n_names):
            if lengths[i] == key.length and memcmp(names[i], key.letters, key.length) == 0:
                place = &self.values[self.n_lines * self.n_names + i]
                if not place.is_ascii and not self.check_later(place[0]):
                    return False
                place[0], is_wanted = value, True
        if not key.is_ascii and not self.check_later(key):
            return False
        return value.is_ascii or is_wanted or self.check_later(value)

    cdef bint take_line(self, const char** names, const size_t* lengths) noexcept nogil:
        cdef Scanner* s = &self.scanner
        if not self.begin_line() or not take(s, c'{'):
            return False
        if not take(s, c'}'):
            while True:
                if not self.take_pair(names, lengths):
                    return False
                if take(s, c'}'):
                    break
                if not take(s, c','):
                    return False
        if skip_blanks(s):
            return False
        s.at += s.at < s.end  # the line feed
        self.n_lines += 1
        return True

    cdef bint take_lines(self) except -1:
        """Parse all lines; return False if one is unusual."""
        cdef const char* names[16]
        cdef size_t lengths[16]
        cdef size_t i
        if self.n_names > 16:
            return False
        for i in range(self.n_names):
            names[i], lengths[i] = PyBytes_AS_STRING(self.names[i]), PyBytes_GET_SIZE(self.names[i])
        with nogil:
            while self.scanner.at < self.scanner.end:
                if not self.take_line(names, lengths):
                    return False
        return True

    cdef object text_of(self, const Value* value):
        cdef const uint8_t* letters = value.letters
        if value.kind == TEXT and letters == NULL:
            letters = self.scanner.unescaped + value.start
        if value.length == 0:
            return ""
        if not value.is_ascii:
            return PyUnicode_DecodeUTF8(<const char*> letters, value.length, NULL)
        text = PyUnicode_New(value.length, 127)
        memcpy(PyUnicode_DATA(text), letters, value.length)
        return text

    cdef list texts(self, size_t name):
        """Return the values of a key, which must be strings; None if one is not."""
        cdef list texts = []
        cdef const Value* value
        cdef size_t line
        for line in range(self.n_lines):
            value = &self.values[line * self.n_names + name]
            if value.kind != TEXT:
                return None
            texts.append(self.text_of(value))
        return texts

    cdef list labels(self, size_t name):
        """Return the values of a key as text: strings, numbers and booleans; None for null, an empty string or a missing key.

        A list is returned as the bytes that spell it.
        If a number must be formatted by the standard library, return None instead of the list.
        """
        cdef list names = []
        cdef const Value* value
        cdef size_t line
        for line in range(self.n_lines):
            value = &self.values[line * self.n_names + name]
            if value.kind == SPELLED and value.letters == NULL:
                return None
            if value.kind == LIST:
                names.append(PyBytes_FromStringAndSize(<const char*> value.letters, value.length))
            else:
                names.append(None if value.kind == NOTHING or value.length == 0 else self.text_of(value))
        return names


def count_byte(bytes data, uint8_t wanted):
    """Return the number of occurrences of a byte."""
    cdef const uint8_t* letters = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef size_t count, size = PyBytes_GET_SIZE(data)
    with nogil:
        count = nb_count(letters, size, wanted)
    return count


def scan(bytes data, text_names, other_names):
    """Parse lines that are flat JSON objects; see `_lines.pyi`."""
    cdef Lines lines = Lines(data, [name.encode() for name in (*text_names, *other_names)])
    cdef size_t i, n_texts = len(text_names)
    cdef list columns = []
    if not lines.take_lines():
        return None
    for i in range(lines.n_others):
        lines.text_of(&lines.others[i])
    for i in range(lines.n_names):
        columns.append(lines.texts(i) if i < n_texts else lines.labels(i))
    return None if None in columns else (columns[:n_texts], columns[n_texts:])
