# Text: from the code points of a str to lowercase UTF-8, with the positions of its words or characters.

cdef extern from "Python.h":
    bint Py_UNICODE_ISALNUM(Py_UCS4 point) noexcept nogil
    bint Py_UNICODE_ISSPACE(Py_UCS4 point) noexcept nogil
    Py_UCS4 Py_UNICODE_TOLOWER(Py_UCS4 point) noexcept nogil
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    bint PyUnicode_IS_ASCII(object text)

cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030C0000
    #define nb_make_ready(text) PyUnicode_READY(text)
    #else
    #define nb_make_ready(text) 0
    #endif
    """
    int nb_make_ready(object text) except -1

ctypedef fused CodeUnit:
    uint8_t
    uint16_t
    uint32_t

cdef struct Text:
    const void* units
    size_t length  # in code points
    int width  # bytes of a code point: 1, 2 or 4
    bint lowercase  # whether it must be lowercased

cdef enum:
    MAX_CHARACTERS = 0x3FFFFFFF  # of a text: byte positions are uint32
    IS_WORD = 1  # \w of the module re
    IS_SPACE = 2  # \s of the module re, and where str.split() splits
    SIGMA = 0x03A3  # Σ, whose lower case depends on its neighbors
    DOTTED_I = 0x0130  # İ, whose lower case is two characters

# The lower case and the kind of each character of the Basic Multilingual Plane. Latin-1 is filled in at import, the rest
# when a text needs it (1 ms).
cdef uint16_t[0x10000] LOWER
cdef uint8_t[0x10000] KINDS
cdef uint32_t N_FILLED = 0  # number of characters in these tables
cdef extern from *:
    """
    #define NB_EACH 0x0101010101010101u
    #define NB_FLAGS 0x8080808080808080u
    """
    const uint64_t EACH "NB_EACH"  # each of eight bytes 1
    const uint64_t FLAGS "NB_FLAGS"  # each of eight bytes 128


cdef inline int kinds_by_python(uint32_t point) noexcept nogil:
    return (IS_WORD if Py_UNICODE_ISALNUM(point) or point == c'_' else 0) | (IS_SPACE if Py_UNICODE_ISSPACE(point) else 0)


cdef inline void fill_character_tables(uint32_t stop) noexcept:
    global N_FILLED
    cdef uint32_t point
    for point in range(N_FILLED, stop):
        LOWER[point] = <uint16_t> Py_UNICODE_TOLOWER(point)
        KINDS[point] = <uint8_t> kinds_by_python(point)
    N_FILLED = max(N_FILLED, stop)


cdef inline uint32_t lower(uint32_t point) noexcept nogil:
    return LOWER[point] if point < 0x10000 else Py_UNICODE_TOLOWER(point)


cdef inline int kinds_of(uint32_t point) noexcept nogil:
    return KINDS[point] if point < 0x10000 else kinds_by_python(point)


cdef inline bint is_space(const uint8_t* letters) noexcept nogil:
    """Return whether a character in UTF-8 is white space."""
    cdef uint32_t n_bytes = character_length(letters[0]), point = letters[0]
    cdef uint32_t i
    if n_bytes > 1:
        point &= 0x7F >> n_bytes
    for i in range(1, n_bytes):
        point = point << 6 | letters[i] & 0x3F
    return kinds_of(point) & IS_SPACE != 0


cdef inline size_t encode(uint8_t* letters, uint32_t point) noexcept nogil:
    """Write a character as UTF-8, lone surrogates included; return its number of bytes. Four bytes must be writable."""
    if point < 0x80:
        letters[0] = <uint8_t> point
        return 1
    if point < 0x800:
        letters[0] = <uint8_t> (0xC0 | point >> 6)
        letters[1] = <uint8_t> (0x80 | point & 0x3F)
        return 2
    if point < 0x10000:
        letters[0] = <uint8_t> (0xE0 | point >> 12)
        letters[1] = <uint8_t> (0x80 | point >> 6 & 0x3F)
        letters[2] = <uint8_t> (0x80 | point & 0x3F)
        return 3
    letters[0] = <uint8_t> (0xF0 | point >> 18)
    letters[1] = <uint8_t> (0x80 | point >> 12 & 0x3F)
    letters[2] = <uint8_t> (0x80 | point >> 6 & 0x3F)
    letters[3] = <uint8_t> (0x80 | point & 0x3F)
    return 4


cdef inline uint32_t character_length(uint8_t first) noexcept nogil:
    """Return the number of bytes of a UTF-8 character from its first byte."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


# Operations on 8 ASCII characters in a 64-bit number; flags are the highest bit of each byte.

cdef inline uint64_t flag_range(uint64_t eight, uint64_t first, uint64_t last) noexcept nogil:
    """Flag the characters from `first` to `last`; all are below 128, so no sum carries over."""
    return (eight + (128 - first) * EACH) & ~(eight + (127 - last) * EACH) & FLAGS


cdef inline uint64_t flag_word_characters(uint64_t eight) noexcept nogil:
    cdef uint64_t underscores = FLAGS - (eight ^ (c'_' * EACH))
    return (flag_range(eight | 0x20 * EACH, c'a', c'z') | flag_range(eight, c'0', c'9') | underscores) & FLAGS


cdef inline bint is_ascii(const CodeUnit* units) noexcept nogil:
    """Return whether the next 8 characters are ASCII."""
    cdef int i
    cdef CodeUnit any_bits = 0
    if CodeUnit is uint8_t:
        return nb_load(units) & FLAGS == 0
    else:
        for i in range(8):
            any_bits |= units[i]
        return any_bits < 128


cdef inline uint64_t pack(const CodeUnit* units) noexcept nogil:
    """Return the next 8 characters, one byte each."""
    cdef int i
    cdef uint64_t eight = 0
    if CodeUnit is uint8_t:
        return nb_load(units)
    else:
        for i in range(8):
            eight |= <uint64_t> units[i] << (8 * i)
        return eight


cdef extern from *:
    """
    /* The same for 64 characters, as vectors of 16. */
    static inline int nb_is_ascii_block(const uint8_t *text) {
        nb_vector parts[4];
        memcpy(parts, text, 64);
        return nb_bits(parts[0] | parts[1] | parts[2] | parts[3]) == 0;
    }

    /* Write the characters, in lower case if asked; return a bit for each, whether it is a word character. */
    static inline uint64_t nb_encode_block(const uint8_t *text, int lowercase, uint8_t *letters) {
        const nb_vector case_bit = (nb_vector){0} + (uint8_t)(lowercase ? 0x20 : 0);
        uint64_t in_word = 0;
        int i;
        for (i = 0; i < 4; i++) {
            nb_vector part, is_upper, is_letter, is_digit;
            memcpy(&part, text + 16 * i, 16);
            is_upper = (nb_vector)(part - 'A' < 26);
            is_letter = (nb_vector)((part | 0x20) - 'a' < 26);
            is_digit = (nb_vector)(part - '0' < 10);
            in_word |= (uint64_t)nb_bits(is_letter | is_digit | (nb_vector)(part == '_')) << 16 * i;
            part |= is_upper & case_bit;
            memcpy(letters + 16 * i, &part, 16);
        }
        return in_word;
    }
    """
    bint nb_is_ascii_block(const uint8_t* text) noexcept nogil
    uint64_t nb_encode_block(const uint8_t* text, bint lowercase, uint8_t* letters) noexcept nogil


cdef struct Bits:
    uint64_t* whole  # the next 64 bits
    uint64_t pending
    unsigned n_pending


cdef inline void put_bits(Bits* bits, uint64_t some, unsigned number) noexcept nogil:
    """Append up to 8 bits."""
    bits.pending |= some << bits.n_pending
    bits.n_pending += number
    if bits.n_pending >= 64:
        bits.whole[0] = bits.pending
        bits.whole += 1
        bits.n_pending -= 64
        bits.pending = some >> (number - bits.n_pending)


cdef inline size_t encode_one(uint32_t point, bint lowercase, uint8_t* letters, Bits* bits) noexcept nogil:
    cdef size_t n_bytes
    if lowercase:
        point = lower(point)
    n_bytes = encode(letters, point)
    put_bits(bits, (<uint64_t> 1 << n_bytes) - 1 if kinds_of(point) & IS_WORD else 0, <unsigned> n_bytes)
    return n_bytes


cdef inline size_t encode_words(
    const CodeUnit* units, size_t length, bint lowercase, uint8_t* letters, uint64_t* in_word
) noexcept nogil:
    """Write a text as lowercase UTF-8 and, for each byte, a bit: whether it is of a word character; return the number of bytes.

    letters  holds 4 * length + 8 bytes
    in_word  holds a bit for each of them and 64 more, which are zero
    """
    cdef size_t i = 0, end, n_bytes = 0
    cdef uint64_t eight, upper_to_lower = FLAGS if lowercase else 0
    cdef Bits bits = Bits(in_word, 0, 0)
    while i < length:
        if CodeUnit is uint8_t and bits.n_pending == 0:
            while length - i >= 64 and nb_is_ascii_block(<const uint8_t*> units + i):
                bits.whole[0] = nb_encode_block(<const uint8_t*> units + i, lowercase, letters + n_bytes)
                bits.whole += 1
                n_bytes += 64
                i += 64
        if length - i >= 8 and is_ascii(units + i):
            eight = pack(units + i)
            put_bits(&bits, flag_word_characters(eight) * <uint64_t> 0x0002040810204081 >> 56, 8)  # the flags, as 8 bits
            nb_store(letters + n_bytes, eight | (flag_range(eight, c'A', c'Z') & upper_to_lower) >> 2)
            n_bytes += 8
            i += 8
            continue
        end = min(i + 8, length)
        while i < end:
            n_bytes += encode_one(units[i], lowercase, letters + n_bytes, &bits)
            i += 1
    bits.whole[0] = bits.pending
    bits.whole[1] = 0
    return n_bytes


cdef inline uint32_t code_point(const Text* text, size_t i) noexcept nogil:
    """Return a character of a text."""
    if text.width == 1:
        return (<const uint8_t*> text.units)[i]
    return (<const uint16_t*> text.units)[i] if text.width == 2 else (<const uint32_t*> text.units)[i]


cdef inline size_t encode_characters(const Text* text, uint8_t* letters, uint32_t* starts) noexcept nogil:
    """Write a text as lowercase UTF-8, runs of white space as one space; return the number of characters.

    starts  holds text.length + 1 positions: where each character begins, and the end
    """
    cdef size_t i, n_characters = 0, n_bytes = 0
    cdef uint32_t point
    cdef bint is_space, after_space = False
    for i in range(text.length):
        point = code_point(text, i)
        if text.lowercase:
            point = lower(point)
        is_space = kinds_of(point) & IS_SPACE != 0
        if is_space and after_space:
            n_bytes = starts[n_characters - 1]
            letters[n_bytes] = c' '
            n_bytes += 1
        else:
            starts[n_characters] = <uint32_t> n_bytes
            n_characters += 1
            n_bytes += encode(letters + n_bytes, point)
        after_space = is_space
    starts[n_characters] = <uint32_t> n_bytes
    return n_characters


cdef inline size_t encode_padded_words(const Text* text, uint8_t* letters, uint32_t* starts, uint32_t* ends) noexcept nogil:
    """Write each word between white space as lowercase UTF-8, with a space on both sides; return the number of words.

    starts  holds 3 * text.length + 1 positions: where each character begins, and the end
    ends    holds text.length numbers: that of the first character after each word
    """
    cdef size_t i = 0, n_words = 0, n_characters = 0, n_bytes = 0
    cdef uint32_t point
    while i < text.length:
        if kinds_of(code_point(text, i)) & IS_SPACE:  # lowercasing does not change white space
            i += 1
            continue
        letters[n_bytes] = c' '
        starts[n_characters] = <uint32_t> n_bytes
        n_bytes += 1
        n_characters += 1
        while i < text.length and not kinds_of(code_point(text, i)) & IS_SPACE:
            point = lower(code_point(text, i)) if text.lowercase else code_point(text, i)
            starts[n_characters] = <uint32_t> n_bytes
            n_bytes += encode(letters + n_bytes, point)
            n_characters += 1
            i += 1
        letters[n_bytes] = c' '
        starts[n_characters] = <uint32_t> n_bytes
        n_bytes += 1
        n_characters += 1
        ends[n_words] = <uint32_t> n_characters
        n_words += 1
    starts[n_characters] = <uint32_t> n_bytes
    return n_words


cdef inline bint has_context_dependent_lower(const Text* text) noexcept nogil:
    """Return whether a character's lower case depends on its neighbors or is more than one character."""
    cdef size_t i
    for i in range(text.length if text.width > 1 else 0):
        if code_point(text, i) == SIGMA or code_point(text, i) == DOTTED_I:
            return True
    return False


cdef inline object point_at_text(Text* place, text, bint lowercase, strip_accents):
    """Describe a text for the functions above, after the steps that need Python; return the str to keep alive."""
    cdef bint is_wide
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {type(text).__name__}")
    nb_make_ready(text)
    place.lowercase = lowercase
    if not PyUnicode_IS_ASCII(text):
        point_at(place, text)
        is_wide = place.width > 1
        if lowercase and (strip_accents is not None or has_context_dependent_lower(place)):
            text = str.lower(text)
            place.lowercase = False
        if strip_accents is not None:
            text = <str?> strip_accents(text)
            nb_make_ready(text)
        fill_character_tables(0x10000 if is_wide or PyUnicode_KIND(text) > 1 else 0)
    point_at(place, text)
    if place.length > MAX_CHARACTERS:
        raise OverflowError("a text of more than 2**30 characters")
    return text


cdef inline void point_at(Text* place, text) noexcept:
    place.units = PyUnicode_DATA(text)
    place.length = PyUnicode_GET_LENGTH(text)
    place.width = PyUnicode_KIND(text)
