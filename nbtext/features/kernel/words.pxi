# The word table: a hash table from the bytes of a word to a number.
# Most words are short: a slot holds all their bytes, and a cache line holds four slots.

cdef enum:
    MAX_SHORT_BYTES = 11  # bytes of the longest word that fits into a slot

cdef struct Token:
    uint64_t low  # the first 8 bytes, padded with zeros; for a long word its hash
    uint64_t hash
    uint32_t high  # the next 3 bytes, and above them the length + 1; for a long word 0
    uint32_t start  # position of its bytes
    uint32_t length  # in bytes

cdef struct WordSlot:
    uint64_t low
    uint32_t high  # for a long word its number + 1; 0 for a free slot
    uint32_t value  # of the word

cdef struct WordTable:
    Buffer slots  # WordSlot
    size_t mask  # number of slots, a power of two, minus 1
    size_t count

cdef struct Words:
    WordTable short_words
    WordTable long_words
    size_t count
    size_t n_letters
    bint has_short_first  # a fixed vocabulary, in which frequent words do not come first as in a text
    Buffer letters  # of all words, concatenated
    Buffer starts  # uint64_t (count + 1), bounds of the words in `letters`

cdef uint64_t[12] LOW_BYTES  # by word length: mask of its bytes among the first 8
cdef uint32_t[12] HIGH_BYTES  # and among the next 4


cdef inline void fill_masks() noexcept:
    cdef int length
    for length in range(MAX_SHORT_BYTES + 1):
        LOW_BYTES[length] = <uint64_t> -1 if length >= 8 else (<uint64_t> 1 << 8 * length) - 1
        HIGH_BYTES[length] = (<uint32_t> 1 << 8 * (length - 8)) - 1 if length > 8 else 0


cdef inline void set_key(Token* token, const uint8_t* letters) noexcept nogil:
    """Compute the key of a token; 16 bytes from its start must be readable."""
    cdef const uint8_t* word = letters + token.start
    if token.length > MAX_SHORT_BYTES:
        token.low = long_hash(word, token.length)
        token.high = 0
        token.hash = token.low
    else:
        token.low = nb_load(word) & LOW_BYTES[token.length]
        token.high = <uint32_t> nb_load(word + 8) & HIGH_BYTES[token.length] | (token.length + 1) << 24
        token.hash = hash_pair(token.low, token.high)


cdef inline void set_keys(Token* tokens, size_t n_tokens, const uint8_t* letters, const Words* words) noexcept nogil:
    """Compute the keys of tokens, and prefetch their slots."""
    cdef const WordSlot* slots = <const WordSlot*> words.short_words.slots.data
    cdef size_t i
    for i in range(n_tokens):
        set_key(&tokens[i], letters)
        nb_prefetch(&slots[tokens[i].hash & words.short_words.mask])


cdef inline const uint8_t* word_letters(const Words* words, size_t number, size_t* length) noexcept nogil:
    cdef const uint64_t* starts = <const uint64_t*> words.starts.data
    length[0] = starts[number + 1] - starts[number]
    return <const uint8_t*> words.letters.data + starts[number]


cdef inline WordSlot* seek(const Words* words, const Token* token, const uint8_t* letters) noexcept nogil:
    """Return the slot of a word, or the free slot to insert it in."""
    cdef size_t i = token.hash & words.short_words.mask
    cdef WordSlot* slot
    if token.high == 0:
        return seek_long(words, token, letters)
    while True:
        slot = <WordSlot*> words.short_words.slots.data + i
        if (slot.low == token.low and slot.high == token.high) or slot.high == 0:
            return slot
        i = (i + 1) & words.short_words.mask


cdef inline WordSlot* seek_long(const Words* words, const Token* token, const uint8_t* letters) noexcept nogil:
    cdef size_t length, i = token.hash & words.long_words.mask
    cdef const uint8_t* word
    cdef WordSlot* slot
    while True:
        slot = <WordSlot*> words.long_words.slots.data + i
        if slot.high == 0:
            return slot
        if slot.low == token.low:
            word = word_letters(words, slot.high - 1, &length)
            if length == token.length and memcmp(word, letters + token.start, length) == 0:
                return slot
        i = (i + 1) & words.long_words.mask


cdef inline uint32_t put_word(Words* words, const Token* token, const uint8_t* letters, uint32_t value) noexcept nogil:
    """Insert a word for which `seek` returned a free slot, after `reserve_words`; return its value."""
    cdef uint64_t* starts = <uint64_t*> words.starts.data
    memcpy(<uint8_t*> words.letters.data + words.n_letters, letters + token.start, token.length)
    words.n_letters += token.length
    words.count += 1
    starts[words.count] = words.n_letters
    if token.high:
        words.short_words.count += 1
        place_word(&words.short_words, token.hash, WordSlot(token.low, token.high, value), words.has_short_first)
    else:
        words.long_words.count += 1
        place_word(&words.long_words, token.hash, WordSlot(token.low, <uint32_t> words.count, value), False)
    return value


cdef inline void place_word(WordTable* table, uint64_t hash, WordSlot word, bint has_short_first) noexcept nogil:
    """Insert a word before longer ones, or before those found later: they are less frequent, and may need more probes."""
    cdef WordSlot* slots = <WordSlot*> table.slots.data
    cdef WordSlot other
    cdef size_t i = hash & table.mask
    while slots[i].high:
        other = slots[i]
        if other.high > word.high if has_short_first else other.value > word.value:  # the upper bits are the length
            slots[i] = word
            word = other
        i = (i + 1) & table.mask
    slots[i] = word


cdef inline int reserve_words(Words* words, size_t n_words, size_t n_letters) except -1 nogil:
    """Reserve memory for `n_words` more words with `n_letters` bytes in all."""
    if words.count + n_words > MAX_NODES:
        return too_much("more than 2**31 words")
    reserve(&words.letters, words.n_letters + n_letters, 1)
    reserve(&words.starts, words.count + n_words + 1, sizeof(uint64_t))
    (<uint64_t*> words.starts.data)[0] = 0
    reserve_slots(&words.short_words, n_words, False)
    return reserve_slots(&words.long_words, n_words, True)


cdef inline int reserve_slots(WordTable* table, size_t n_words, bint is_long) except -1 nogil:
    if table.slots.data != NULL and (table.count + n_words) * 2 <= table.mask + 1:
        return 0
    return resize_table(table, table.count + n_words, is_long)


cdef inline int resize_table(WordTable* table, size_t n_words, bint is_long) except -1 nogil:
    """Move all words to a table for `n_words` words."""
    cdef WordTable larger = WordTable(Buffer(NULL, 0), 0, table.count)
    cdef const WordSlot* slots = <const WordSlot*> table.slots.data
    cdef size_t i, n_slots = 1024
    while n_words * 2 > n_slots:
        n_slots *= 2
    reserve_zeros(&larger.slots, n_slots, sizeof(WordSlot))
    larger.mask = n_slots - 1
    for i in range(table.mask + 1 if slots != NULL else 0):
        if slots[i].high:
            place_word(&larger, slots[i].low if is_long else hash_pair(slots[i].low, slots[i].high), slots[i], False)
    release(&table.slots)
    table[0] = larger
    return 0


cdef inline void free_words(Words* words) noexcept nogil:
    """Free the memory; zeros are a valid empty table."""
    release_all([&words.short_words.slots, &words.long_words.slots, &words.letters, &words.starts, NULL])
    memset(words, 0, sizeof(Words))
