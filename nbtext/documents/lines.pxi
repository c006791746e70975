# Count bytes, and parse lines that are flat JSON objects. The GIL is held only to create Python objects.
#
# Texts stay in the block of bytes: a `Column` makes a str of one when it is asked for, and the compiled counter
# reads ASCII texts where they are.
#
# `jsonl.parse_jsonl` defines the result. This parser rejects unusual lines, which the standard library then parses or
# reports: nested objects, lists that hold lists or objects, blank lines, escapes in keys, lone surrogates, and invalid
# JSON.

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 largest)


cdef struct Span:  # an ASCII text, or the length in bytes of another one
    const uint8_t* letters  # which the column keeps alive; NULL if they are not ASCII
    size_t length


cdef Buffer free_unescaped  # of a block that is gone, for the next one


cdef class Lines:
    """The lines of a block, and the values of the wanted keys in each."""

    cdef:
        bytes data
        list names  # bytes
        Scanner scanner
        Buffer values  # JsonValue, (n_lines, n_names), by line
        Buffer others  # JsonValue, other values and keys that are not ASCII; they are only checked to be valid UTF-8
        size_t n_names, n_lines, n_others

    def __init__(self, bytes data, list names):
        global free_unescaped
        self.data = data
        self.names = names
        self.n_names = len(names)
        self.scanner.unescaped = free_unescaped
        free_unescaped = Buffer(NULL, 0)
        self.scanner.at = <const uint8_t*> PyBytes_AS_STRING(data)
        self.scanner.end = self.scanner.at + PyBytes_GET_SIZE(data)

    def __dealloc__(self):
        global free_unescaped
        if self.scanner.unescaped.size <= MAX_KEPT_BYTES:
            free_unescaped, self.scanner.unescaped = self.scanner.unescaped, free_unescaped
        release_all([&self.values, &self.others, &self.scanner.unescaped, NULL])

    cdef bint begin_line(self) noexcept nogil:
        cdef size_t i
        if not has_room(&self.values, (self.n_lines + 1) * self.n_names * sizeof(JsonValue)):
            return False
        for i in range(self.n_names):
            self.value_of(self.n_lines, i)[0] = JsonValue(NULL, 0, 0, NOTHING, True)
        return True

    cdef JsonValue* value_of(self, size_t line, size_t name) noexcept nogil:
        return <JsonValue*> self.values.data + line * self.n_names + name

    cdef bint check_later(self, JsonValue value) noexcept nogil:
        if not has_room(&self.others, (self.n_others + 1) * sizeof(JsonValue)):
            return False
        (<JsonValue*> self.others.data)[self.n_others] = value
        self.n_others += 1
        return True

    cdef bint take_pair(self, const char** names, const size_t* lengths) noexcept nogil:
        """Parse a key and its value; if a key occurs twice, the last value is used."""
        cdef Scanner* s = &self.scanner
        cdef JsonValue key, value
        cdef JsonValue* place
        cdef bint is_wanted = False
        cdef size_t i
        if not take(s, c'"') or not take_text(s, &key) or key.letters == NULL:
            return False
        if not take(s, c':') or not take_value(s, &value):
            return False
        for i in range(self.n_names):
            if lengths[i] == key.length and memcmp(names[i], key.letters, key.length) == 0:
                place = self.value_of(self.n_lines, i)
                if not place.is_ascii and not self.check_later(place[0]):
                    return False
                place[0] = value
                is_wanted = True
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
            names[i] = PyBytes_AS_STRING(self.names[i])
            lengths[i] = PyBytes_GET_SIZE(self.names[i])
        with nogil:
            while self.scanner.at < self.scanner.end:
                if not self.take_line(names, lengths):
                    return False
        return True

    cdef const uint8_t* letters_of(self, const JsonValue* value) noexcept nogil:
        """Return the letters of a value that has some."""
        if value.kind == TEXT and value.letters == NULL:
            return <const uint8_t*> self.scanner.unescaped.data + value.start
        return value.letters

    cdef object text_of(self, const JsonValue* value):
        return make_text(self.letters_of(value), value.length, value.is_ascii)

    cdef Column column(self, size_t name):
        """Return the values of a key, which must be strings; None if one is anything else."""
        cdef Column column = Column()
        cdef const JsonValue* value
        cdef size_t line
        column.owner = self
        column.strings = {}
        column.spans = <Span*> malloc(max(self.n_lines, <size_t> 1) * sizeof(Span))
        if column.spans == NULL:
            raise MemoryError
        for line in range(self.n_lines):
            value = self.value_of(line, name)
            if value.kind != TEXT:
                return None
            column.spans[line] = Span(self.letters_of(value), value.length)
            if not value.is_ascii:
                column.strings[line] = self.text_of(value)
                column.spans[line].letters = NULL
        column.n_rows = self.n_lines
        return column

    cdef list labels(self, size_t name):
        """Return the values of a key as text: strings, numbers and booleans; None for null, an empty string or a missing key.

        A list is returned as the bytes that spell it.
        If a number must be formatted by the standard library, return None instead of the list.
        """
        cdef list names = []
        cdef const JsonValue* value
        cdef size_t line
        for line in range(self.n_lines):
            value = self.value_of(line, name)
            if value.kind == SPELLED and value.letters == NULL:
                return None
            if value.kind == LIST:
                names.append(PyBytes_FromStringAndSize(<const char*> value.letters, value.length))
            else:
                names.append(None if value.kind == NOTHING or value.length == 0 else self.text_of(value))
        return names


cdef object make_text(const uint8_t* letters, size_t length, bint is_ascii):
    """Return a str; ValueError if it is not valid UTF-8."""
    if length == 0:
        return ""
    if not is_ascii:
        return PyUnicode_DecodeUTF8(<const char*> letters, length, NULL)
    text = PyUnicode_New(length, 127)
    memcpy(PyUnicode_DATA(text), letters, length)
    return text


@cython.final
cdef class Column:
    """The texts of the lines of a block; see `_kernel.pyi`."""

    cdef:
        object owner  # of the letters
        Span* spans  # by row
        size_t n_rows
        dict strings  # texts that are not ASCII, by row

    def __dealloc__(self):
        free(self.spans)

    cdef object text(self, size_t row):
        cdef const Span* span = &self.spans[row]
        if span.length == 0:
            return ""
        return self.strings[row] if span.letters == NULL else make_text(span.letters, span.length, True)

    def __len__(self):
        return self.n_rows

    def __contains__(self, str wanted):
        cdef size_t row, length = len((wanted or "").encode("utf-8", "surrogatepass"))  # a missing text is None
        for row in range(self.n_rows):
            if self.spans[row].length == length and self.text(row) == wanted:
                return True
        return False

    def __getitem__(self, row):
        if isinstance(row, slice):
            return [self.text(i) for i in range(*row.indices(self.n_rows))]
        return self.text(range(self.n_rows)[row])

    def __iter__(self):
        cdef size_t row
        for row in range(self.n_rows):
            yield self.text(row)

    def __eq__(self, other):
        return list(self) == list(other) if isinstance(other, (list, Column)) else NotImplemented

    def __repr__(self):
        return repr(list(self))

    def __reduce__(self):
        return list, (list(self),)


Sequence.register(Column)


def count_byte(bytes data, int wanted):
    """Return how often a byte occurs; several times as fast as `bytes.count` of Python 3.13 and older."""
    cdef const uint8_t* place = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const uint8_t* end = place + PyBytes_GET_SIZE(data)
    cdef size_t n = 0
    while place < end:
        place = <const uint8_t*> memchr(place, wanted, end - place)
        if place == NULL:
            break
        place += 1
        n += 1
    return n


def text_lengths(texts):
    """Return the number of characters of each text, without a str of each."""
    cdef Column column
    cdef size_t row
    cdef list lengths = []
    if not isinstance(texts, Column):
        return list(map(len, texts))
    column = texts
    for row in range(column.n_rows):
        lengths.append(len(column.strings[row]) if column.spans[row].letters == NULL else column.spans[row].length)
    return lengths


def scan(bytes data, text_names, other_names):
    """Parse lines that are flat JSON objects; see `_kernel.pyi`."""
    cdef Lines lines = Lines(data, [name.encode() for name in (*text_names, *other_names)])
    cdef size_t i, n_texts = len(text_names)
    if not lines.take_lines():
        return None
    for i in range(lines.n_others):
        lines.text_of(<const JsonValue*> lines.others.data + i)  # raises an error if it is not valid UTF-8
    texts = [lines.column(i) for i in range(n_texts)]
    others = [lines.labels(i) for i in range(n_texts, lines.n_names)]
    return None if None in texts or None in others else (texts, others)
