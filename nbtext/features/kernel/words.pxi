# The word table: from the letters of a word to the number that stands for it.

cdef struct Token:
    uint64_t low  # the first eight bytes, zero after the end; of a long word (over 16 bytes) its hash
    uint64_t high  # the next eight; of a long word 0
    uint64_t hash
    uint32_t start  # where its letters are
    uint32_t length  # in bytes

cdef struct WordSlot:
    uint64_t low
    uint64_t high  # of a long word its number among all words
    uint32_t size  # length + 1, or 0 where the slot is free
    uint32_t value  # what the word stands for

cdef struct Words:
    WordSlot* slots
    size_t mask  # number of slots - 1; a power of two, so that a hash is cut to size by its lowest bits
    size_t count
    size_t n_letters
    Buffer letters  # of all words, one after the other
    Buffer starts  # uint64_t, where those of each word begin, and the end

cdef uint64_t[17] LOW_BYTES  # by the length of a word, what is its own in the first eight bytes read from its start
cdef uint64_t[17] HIGH_BYTES  # and in the next eight


cdef void make_masks() noexcept:
    cdef int length
    for length in range(17):
        LOW_BYTES[length] = <uint64_t> -1 if length >= 8 else (<uint64_t> 1 << 8 * length) - 1
        HIGH_BYTES[length] = <uint64_t> -1 if length == 16 else 0 if length <= 8 else (<uint64_t> 1 << 8 * (length - 8)) - 1


cdef inline void take_key(Token* token, const uint8_t* letters) noexcept nogil:
    """Work out what the word is found by; 16 bytes from its start can be read, whatever they are."""
    cdef const uint8_t* word = letters + token.start
    if token.length > 16:
        token.low, token.high = long_hash(word, token.length), 0
    else:
        token.low = nb_load(word) & LOW_BYTES[token.length]
        token.high = nb_load(word + 8) & HIGH_BYTES[token.length]
    token.hash = short_hash(token.low, token.high, token.length)


cdef void take_keys(Token* tokens, size_t n_tokens, const uint8_t* letters, const Words* words) noexcept nogil:
    """Work out the keys of tokens, and have the memory fetch their slots in the meantime."""
    cdef size_t i
    for i in range(n_tokens):
        take_key(&tokens[i], letters)
        nb_prefetch(&words.slots[tokens[i].hash & words.mask])


cdef inline const uint8_t* word_letters(const Words* words, size_t number, size_t* length) noexcept nogil:
    cdef const uint64_t* starts = <const uint64_t*> words.starts.data
    length[0] = starts[number + 1] - starts[number]
    return <const uint8_t*> words.letters.data + starts[number]


cdef inline bint is_long_word(const Words* words, const WordSlot* slot, const uint8_t* word, size_t length) noexcept nogil:
    cdef size_t stored_length
    return memcmp(word_letters(words, slot.high, &stored_length), word, length) == 0


cdef inline WordSlot* seek(const Words* words, const Token* token, const uint8_t* letters) noexcept nogil:
    """The slot of a word, or the free one where it belongs."""
    cdef size_t i = token.hash & words.mask
    cdef WordSlot* slot
    while True:
        slot = &words.slots[i]
        if slot.size == token.length + 1 and slot.low == token.low:
            if slot.high == token.high and token.length <= 16:
                return slot
            if token.length > 16 and is_long_word(words, slot, letters + token.start, token.length):
                return slot
        elif slot.size == 0:
            return slot
        i = (i + 1) & words.mask


cdef inline void put_word(
    Words* words, WordSlot* slot, const Token* token, const uint8_t* letters, uint32_t value
) noexcept nogil:
    """Add a word at the free slot that `seek` gave; `make_room` was asked before."""
    cdef uint64_t* starts = <uint64_t*> words.starts.data
    memcpy(<uint8_t*> words.letters.data + words.n_letters, letters + token.start, token.length)
    words.n_letters += token.length
    slot.low = token.low
    slot.high = words.count if token.length > 16 else token.high
    slot.size = token.length + 1
    slot.value = value
    words.count += 1
    starts[words.count] = words.n_letters


cdef int make_room(Words* words, size_t n_words, size_t n_letters) except -1 nogil:
    """Have room for so many more words, with so many letters together."""
    cdef size_t count = words.count + n_words, n_slots = words.mask + 1
    reserve(&words.letters, words.n_letters + n_letters, 1)
    reserve(&words.starts, count + 1, sizeof(uint64_t))
    if words.slots == NULL:
        n_slots = 1024
        (<uint64_t*> words.starts.data)[0] = 0
    elif count * 5 <= n_slots * 3:
        return 0
    while count * 5 > n_slots * 3:
        n_slots *= 2
    return spread(words, n_slots)


cdef int spread(Words* words, size_t n_slots) except -1 nogil:
    """Move all words to a table of this size."""
    cdef WordSlot* slots = <WordSlot*> zeros(n_slots, sizeof(WordSlot))
    cdef WordSlot* slot
    cdef size_t i, position, mask = n_slots - 1
    for i in range(words.mask + 1 if words.slots != NULL else 0):
        slot = &words.slots[i]
        if slot.size:
            position = short_hash(slot.low, slot.high if slot.size <= 17 else 0, slot.size - 1) & mask
            while slots[position].size:
                position = (position + 1) & mask
            slots[position] = slot[0]
    free(words.slots)
    words.slots, words.mask = slots, mask
    return 0


cdef void empty_words(Words* words) noexcept nogil:
    """Give all memory back; an empty table is one of zeros."""
    free(words.slots)
    release(&words.letters)
    release(&words.starts)
    memset(words, 0, sizeof(Words))
