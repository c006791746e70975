# A scanner of JSON values. Each function returns whether the input matches, and moves `Scanner.at` behind the match.

cdef extern from *:
    """
    /* Return the number of bytes before the next quote, backslash or control character; clear *is_ascii if one is not ASCII. */
    static inline size_t nb_plain_run(const uint8_t *text, const uint8_t *end, int *is_ascii) {
        const uint8_t *start = text;
        unsigned stops, high, seen;
        while (end - text >= 16) {
            nb_vector part;
            memcpy(&part, text, 16);
            stops = nb_bits((nb_vector)(part == '"') | (nb_vector)(part == '\\\\') | (nb_vector)(part < 0x20));
            high = nb_bits(part);
            seen = stops ? (stops & -stops) - 1 : 0xFFFF;
            *is_ascii &= (high & seen) == 0;
            if (stops)
                return (size_t)(text - start) + (size_t)__builtin_ctz(stops);
            text += 16;
        }
        for (; text < end && *text != '"' && *text != '\\\\' && *text >= 0x20; text++)
            *is_ascii &= *text < 0x80;
        return (size_t)(text - start);
    }
    """
    size_t nb_plain_run(const uint8_t* text, const uint8_t* end, int* is_ascii) noexcept nogil

cdef enum:
    MAX_DIGITS = 18  # of a number that is used as a label or id

cdef enum Kind:
    NOTHING  # null, or the key is missing
    TEXT  # a string
    SPELLED  # a number or a boolean, as Python spells it; without letters if json must format it
    LIST  # a list of the above, as it is written

cdef const char* TRUE = "True"
cdef const char* FALSE = "False"

cdef struct JsonValue:
    const uint8_t* letters  # in the line, or of a boolean; NULL for a string with escapes
    size_t start  # offset in `Scanner.unescaped`, of a string with escapes
    size_t length
    Kind kind
    int is_ascii

cdef struct Scanner:
    const uint8_t* at
    const uint8_t* end
    Buffer unescaped  # the decoded strings that had escapes
    size_t n_unescaped


cdef inline bint skip_blanks(Scanner* s) noexcept nogil:
    """Skip blanks; return whether more follows on this line."""
    while s.at < s.end and (s.at[0] == c' ' or s.at[0] == c'\t' or s.at[0] == c'\r'):
        s.at += 1
    return s.at < s.end and s.at[0] != c'\n'


cdef inline bint take(Scanner* s, uint8_t character) noexcept nogil:
    """Skip blanks, then match this character."""
    if not skip_blanks(s) or s.at[0] != character:
        return False
    s.at += 1
    return True


cdef inline bint take_word(Scanner* s, const char* word, size_t length) noexcept nogil:
    if <size_t> (s.end - s.at) < length or memcmp(s.at, word, length) != 0:
        return False
    s.at += length
    return True


cdef inline bint take_digits(Scanner* s) noexcept nogil:
    cdef const uint8_t* start = s.at
    while s.at < s.end and c'0' <= s.at[0] <= c'9':
        s.at += 1
    return s.at > start


cdef inline bint take_number(Scanner* s, JsonValue* value) noexcept nogil:
    """Match a number. Only a whole number of at most 18 digits gets its letters, as a label or id."""
    cdef const uint8_t* start = s.at
    cdef bint is_whole = True
    s.at += s.at[0] == c'-'
    if s.at < s.end and s.at[0] == c'0':
        s.at += 1
        is_whole = s.at - start == 1  # json formats -0 as 0
    elif not take_digits(s):
        return False
    if s.at < s.end and s.at[0] == c'.':
        s.at += 1
        is_whole = False
        if not take_digits(s):
            return False
    if s.at < s.end and (s.at[0] == c'e' or s.at[0] == c'E'):
        s.at += 1
        is_whole = False
        s.at += s.at < s.end and (s.at[0] == c'+' or s.at[0] == c'-')
        if not take_digits(s):
            return False
    value[0] = JsonValue(start, 0, s.at - start, SPELLED, True)
    if not is_whole or s.at - start > MAX_DIGITS:
        value.letters = NULL
    return True


cdef inline uint8_t* next_place(Scanner* s) noexcept nogil:
    """Return where the next decoded byte goes."""
    return <uint8_t*> s.unescaped.data + s.n_unescaped


cdef inline void put(Scanner* s, uint32_t byte) noexcept nogil:
    next_place(s)[0] = <uint8_t> byte
    s.n_unescaped += 1


cdef inline bint take_unit(Scanner* s, uint32_t* unit) noexcept nogil:
    """Match four hexadecimal digits."""
    cdef int i
    cdef uint32_t digit
    unit[0] = 0
    if s.end - s.at < 4:
        return False
    for i in range(4):
        digit = s.at[i]
        if c'0' <= digit <= c'9':
            digit -= c'0'
        elif c'a' <= digit | 0x20 <= c'f':
            digit = (digit | 0x20) - c'a' + 10
        else:
            return False
        unit[0] = unit[0] << 4 | digit
    s.at += 4
    return True


cdef inline bint take_escape(Scanner* s, int* is_ascii) noexcept nogil:
    """Match an escape behind its backslash, and append the character: at most four bytes, which the caller reserved."""
    cdef uint32_t unit, low
    cdef uint8_t character
    if s.at == s.end:
        return False
    character = s.at[0]
    s.at += 1
    if character == c'n':
        put(s, c'\n')
    elif character == c'"' or character == c'\\' or character == c'/':
        put(s, character)
    elif character == c't':
        put(s, c'\t')
    elif character == c'r':
        put(s, c'\r')
    elif character == c'b':
        put(s, 8)
    elif character == c'f':
        put(s, 12)
    elif character == c'u':
        if not take_unit(s, &unit):
            return False
        if 0xD800 <= unit < 0xE000:
            if unit >= 0xDC00 or not take_word(s, "\\u", 2) or not take_unit(s, &low) or not 0xDC00 <= low < 0xE000:
                return False
            unit = 0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00
        is_ascii[0] &= unit < 0x80
        s.n_unescaped += encode(next_place(s), unit)
    else:
        return False
    return True


cdef inline bint take_text(Scanner* s, JsonValue* value) noexcept nogil:
    """Match the rest of a string behind its opening quote."""
    cdef const uint8_t* start = s.at
    cdef int is_ascii = True
    cdef size_t n = nb_plain_run(s.at, s.end, &is_ascii)
    s.at += n
    value[0] = JsonValue(start, s.n_unescaped, n, TEXT, is_ascii)
    if s.at < s.end and s.at[0] == c'\\':
        value.letters = NULL
        while True:
            if not has_room(&s.unescaped, s.n_unescaped + n + 4):
                return False
            memcpy(next_place(s), start, n)
            s.n_unescaped += n
            if s.at == s.end or s.at[0] != c'\\':
                break
            s.at += 1
            if not take_escape(s, &is_ascii):
                return False
            start = s.at
            n = nb_plain_run(s.at, s.end, &is_ascii)
            s.at += n
        value.length = s.n_unescaped - value.start
        value.is_ascii = is_ascii
    if s.at == s.end or s.at[0] != c'"':
        return False
    s.at += 1
    return True


cdef inline bint take_value(Scanner* s, JsonValue* value) noexcept nogil:
    """Match a value that is no object, and no list of lists or objects."""
    cdef const uint8_t* start
    cdef JsonValue item
    cdef int is_ascii = True
    if not take(s, c'['):
        return take_scalar(s, value)
    start = s.at - 1
    if not take(s, c']'):
        while True:
            if not take_scalar(s, &item):
                return False
            is_ascii &= item.is_ascii
            if take(s, c']'):
                break
            if not take(s, c','):
                return False
    value[0] = JsonValue(start, 0, s.at - start, LIST, is_ascii)
    return True


cdef inline bint take_scalar(Scanner* s, JsonValue* value) noexcept nogil:
    """Match a string, a number, a boolean or null."""
    cdef const uint8_t* start
    if not skip_blanks(s):
        return False
    start = s.at
    if s.at[0] == c'"':
        s.at += 1
        return take_text(s, value)
    if s.at[0] == c'-' or c'0' <= s.at[0] <= c'9':
        return take_number(s, value)
    value[0] = JsonValue(NULL, 0, 0, NOTHING, True)
    if take_word(s, "null", 4):
        return True
    if take_word(s, "true", 4):
        value[0] = JsonValue(<const uint8_t*> TRUE, 0, 4, SPELLED, True)
        return True
    value[0] = JsonValue(<const uint8_t*> FALSE, 0, 5, SPELLED, True)
    return take_word(s, "false", 5)
