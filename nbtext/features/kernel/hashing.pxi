# Hashed features: their text is needed, for their column is its hash.

cdef uint32_t add_decided(Words* words, const uint8_t* letters, size_t length) except? 0xFFFFFFFE nogil:
    """The number of a word in a table of such; 16 bytes from its start can be read."""
    cdef Token token
    cdef WordSlot* slot
    make_room(words, 1, length)
    token.start, token.length = 0, <uint32_t> length
    take_key(&token, letters)
    slot = seek(words, &token, letters)
    if slot.high == 0:
        put_word(words, slot, &token, letters, <uint32_t> words.count)
    return slot.value


cdef int hash_tokens(Analysis a, Scratch s, size_t field) except -1 nogil:
    """Count the tokens at hand, or put them into the text that n-grams are cut from."""
    cdef const uint8_t* letters = <const uint8_t*> s.letters.data
    cdef size_t i, length, count = s.n_strip
    if a.normalize is not None:
        count = find_decisions(a, s)
    for i in range(count):
        if a.normalize is not None:
            letters = word_letters(&s.decided, s.found[i], &length)
            take_text(a, s, letters, length, field)
        else:
            take_text(a, s, letters + s.strip[i].start, s.strip[i].length, field)
    return 0


cdef inline int take_text(Analysis a, Scratch s, const uint8_t* letters, size_t length, size_t field) except -1 nogil:
    if a.joins_words:
        return join_word(s, letters, length)
    return count_bucket(a, s, letters, length, field)


cdef int join_word(Scratch s, const uint8_t* letters, size_t length) except -1 nogil:
    """Put a word and a space after the words before, and note where it begins and the next one will."""
    cdef uint32_t* starts
    if s.n_joined + length + 1 > <uint32_t> -1:
        return too_much("a text of more than 2**32 bytes")
    reserve(&s.joined, s.n_joined + length + 1, 1)
    reserve(&s.sequence, s.n_sequence + 2, sizeof(uint32_t))
    starts = <uint32_t*> s.sequence.data
    starts[s.n_sequence] = <uint32_t> s.n_joined
    memcpy(<uint8_t*> s.joined.data + s.n_joined, letters, length)
    s.n_joined += length + 1
    (<uint8_t*> s.joined.data)[s.n_joined - 1] = c' '
    s.n_sequence += 1
    starts[s.n_sequence] = <uint32_t> s.n_joined
    return 0


cdef int hash_ngrams(Analysis a, Scratch s, size_t field) except -1 nogil:
    cdef const uint32_t* starts = <const uint32_t*> s.sequence.data
    cdef size_t i, n
    for n in range(a.shortest, min(a.longest, s.n_sequence) + 1):
        for i in range(s.n_sequence - n + 1):
            count_bucket(a, s, <uint8_t*> s.joined.data + starts[i], starts[i + n] - 1 - starts[i], field)
    return 0


cdef inline int count_bucket(Analysis a, Scratch s, const uint8_t* feature, size_t length, size_t field) except -1 nogil:
    cdef const Prefix* prefix = <const Prefix*> a.prefixes.data + field
    cdef uint8_t* named
    cdef uint32_t bucket
    if prefix.length:
        reserve(&s.named, prefix.length + length, 1)
        named = <uint8_t*> s.named.data
        memcpy(named, prefix.letters, prefix.length)
        memcpy(named + prefix.length, feature, length)
        feature, length = named, prefix.length + length
    bucket = bucket_of(feature, length, a.n_buckets)
    return append_features(s, &bucket, 1)
