# Find the cells of CSV and TSV, in which each row has the same number of cells, and a quoted cell is quoted completely.
#
# `tables.read_rows` defines the result. This scanner rejects all else, which that reader then parses, repairs or reports.

cdef extern from *:
    """
    /* Return the number of bytes before the next of three; clear *is_ascii if one of them is not ASCII. */
    static inline size_t nb_run_before(const uint8_t *text, const uint8_t *end, uint8_t a, uint8_t b, uint8_t c, int *is_ascii) {
        const uint8_t *start = text;
        nb_vector parts[4];
        uint64_t stops, high;
        int i;
        while (end - text >= 64) {
            memcpy(parts, text, 64);
            stops = high = 0;
            for (i = 0; i < 4; i++) {
                stops |= (uint64_t)nb_bits((nb_vector)(parts[i] == a) | (nb_vector)(parts[i] == b) | (nb_vector)(parts[i] == c)) << 16 * i;
                high |= (uint64_t)nb_bits(parts[i]) << 16 * i;
            }
            if (stops) {
                *is_ascii &= (high & ((stops & -stops) - 1)) == 0;
                return (size_t)(text - start) + nb_lowest_bit(stops);
            }
            *is_ascii &= high == 0;
            text += 64;
        }
        for (; text < end && *text != a && *text != b && *text != c; text++)
            *is_ascii &= *text < 0x80;
        return (size_t)(text - start);
    }
    """
    size_t nb_run_before(const uint8_t* text, const uint8_t* end, uint8_t a, uint8_t b, uint8_t c, int* is_ascii) noexcept nogil


cdef enum:
    MAX_ROW = 0x20000  # bytes; `csv.reader` refuses longer cells


cdef struct Cell:
    const uint8_t* letters
    size_t length
    bint has_doubled  # quotes, each of which stands for one
    int is_ascii


cdef class Rows:
    """Complete rows at the start of some lines."""

    cdef:
        bytes data
        const uint8_t* at
        const uint8_t* end
        uint8_t separator
        bint is_spaced
        bint is_open  # whether the lines end within quotes
        size_t n_lines  # before `at`
        bytes unescaped  # the cells that had doubled quotes
        uint8_t* free  # in it

    def __init__(self, bytes data, dialect):
        self.data = data
        self.at = <const uint8_t*> PyBytes_AS_STRING(data)
        self.end = self.at + len(data)
        self.separator = ord(dialect.separator)
        self.is_spaced = dialect.is_spaced
        self.unescaped = PyBytes_FromStringAndSize(NULL, len(data))  # pages that are never written use no memory
        self.free = <uint8_t*> PyBytes_AS_STRING(self.unescaped)

    cdef bint take_quoted(self, Cell* cell) noexcept nogil:
        """Take a cell behind its opening quote; return whether it has a closing one."""
        cell.letters = self.at
        while True:
            self.at += nb_run_before(self.at, self.end, c'"', c'"', c'\n', &cell.is_ascii)
            if self.at == self.end:
                self.is_open = True
                return False
            if self.at[0] == c'\n':
                self.n_lines += 1
            elif self.at + 1 < self.end and self.at[1] == c'"':
                cell.has_doubled = True
                self.at += 1
            else:
                cell.length = self.at - cell.letters
                self.at += 1
                return True
            self.at += 1

    cdef bint take_plain(self, Cell* cell) noexcept nogil:
        """Take a cell without quotes around it; return whether it is clear that it has none."""
        cell.letters = self.at
        self.at += nb_run_before(self.at, self.end, self.separator, c'\n', c'\r', &cell.is_ascii)
        cell.length = self.at - cell.letters
        if cell.length == 0 or cell.letters[0] != c' ':
            return True
        return not self.is_spaced and memchr(cell.letters, c'"', cell.length) == NULL

    cdef bint take_line_end(self) noexcept nogil:
        """Take a line end, which the last line of a file may lack; return whether there is one."""
        if self.at < self.end:
            self.at += self.at[0] == c'\r' and self.at + 1 < self.end
            if self.at[0] != c'\n':
                return False
            self.at += 1
        self.n_lines += 1
        return True

    cdef int keep(self, Column column, Cell* cell) except -1:
        """Append a cell to a column."""
        cdef size_t n = 0, i = 0
        if cell.has_doubled:
            while i < cell.length:
                self.free[n] = cell.letters[i]
                i += 1 + (cell.letters[i] == c'"')
                n += 1
            cell.letters = self.free
            cell.length = n
            self.free += n
        column.spans[column.n_rows] = Span(cell.letters, cell.length)
        if not cell.is_ascii:
            column.strings[column.n_rows] = make_text(cell.letters, cell.length, False)
            column.spans[column.n_rows].letters = NULL
        column.n_rows += 1
        return 0

    cdef bint take_row(self, list places, list columns, size_t width) except -1:
        """Take a row, and append its cells at some places to columns; return whether it has `width` cells."""
        cdef Cell cell
        cdef size_t place, n_kept = 0
        for place in range(width):
            cell = Cell(self.at, 0, False, True)
            if place:
                if self.at == self.end or self.at[0] != self.separator:
                    return False
                self.at += 1
            if self.at < self.end and self.at[0] == c'"':
                self.at += 1
                if not self.take_quoted(&cell):
                    return False
            elif not self.take_plain(&cell):
                return False
            if n_kept < <size_t> len(places) and places[n_kept] == place:
                self.keep(columns[n_kept], &cell)
                n_kept += 1
            elif not cell.is_ascii:
                make_text(cell.letters, cell.length, False)  # raises an error if it is not valid UTF-8
        return self.take_line_end()


cdef bint are_like_rows(const uint8_t* at, const uint8_t* end, uint8_t separator, size_t width) noexcept nogil:
    """Return whether more than half of the lines of a row of several cells may be like rows; see `tables.Dialect`."""
    cdef int balance = 0  # of the lines that may be, and of the others
    cdef size_t n_cells = 1
    cdef bint has_blank = False
    while at < end:
        if at[0] == separator:
            n_cells += 1
            has_blank |= at + 1 < end and at[1] == c' '
        if at[0] == c'\n' or at + 1 == end:
            balance += 1 if n_cells == width and not has_blank else -1
            n_cells = 1
            has_blank = False
        at += 1
    return width > 1 and balance > 0


def scan_rows(bytes data, dialect, size_t width, list places, bint is_searched):
    """Find the cells of some columns in complete rows; see `_kernel.pyi`."""
    cdef Rows rows = Rows(data, dialect)
    cdef const uint8_t* start = rows.at
    cdef size_t first_line, limit = min(<size_t> dialect.limit, <size_t> MAX_ROW)
    cdef size_t capacity = count_byte(data, c'\n') + 1
    cdef Column column
    cdef list numbers = [], columns = []
    for _ in places:
        column = Column()
        column.owner = rows
        column.strings = {}
        column.spans = <Span*> malloc(capacity * sizeof(Span))
        if column.spans == NULL:
            raise MemoryError
        columns.append(column)
    while rows.at < rows.end:
        start = rows.at
        first_line = rows.n_lines
        if rows.take_line_end():  # a blank line
            continue
        rows.at = start
        if not rows.take_row(places, columns, width) and not rows.is_open or <size_t> (rows.at - start) > limit:
            return None
        if rows.is_open:
            rows.at = start
            rows.n_lines = first_line
            break
        if is_searched and rows.n_lines > first_line + 1 and are_like_rows(start, rows.at, rows.separator, width):
            return None
        numbers.append(first_line)
    for column in columns:
        column.n_rows = len(numbers)
    return columns, numbers, rows.at - <const uint8_t*> PyBytes_AS_STRING(data), rows.n_lines
