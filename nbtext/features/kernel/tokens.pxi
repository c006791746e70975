# Tokens and n-grams: from the texts of a document to its features.

cdef enum:
    MAX_TOKEN_BYTES = 0xFFFF  # bytes; the same in analyzer.py
    MAX_REMEMBERED = 0x100000  # cached normal forms if the vocabulary does not grow


cdef inline int read_document(Analysis* a, Scratch* s, const Text* texts, size_t n_documents, size_t document) except -1 nogil:
    """Find the features of a document: nodes, or buckets with hashing."""
    cdef size_t field
    s.n_features = 0
    if not a.is_growing and s.raw.count > MAX_REMEMBERED:
        free_words(&s.raw)
        free_words(&s.normalized)
    for field in range(a.n_fields):
        read_text(a, s, texts + field * n_documents + document, field)
    s.n_tokens = s.n_features
    return 0


cdef inline int read_text(Analysis* a, Scratch* s, const Text* text, size_t field) except -1 nogil:
    s.n_sequence = 0
    s.n_joined = 0
    s.n_tokens_held = 0
    reserve(&s.letters, 6 * text.length + 32, 1)
    if a.analyzer == WORDS:
        read_words(a, s, text, field)
    else:
        read_characters(a, s, text, field)
    process_tokens(a, s, field)
    if a.joins_words:
        add_ngrams(a, s, field)
    return 0


cdef inline int read_words(Analysis* a, Scratch* s, const Text* text, size_t field) except -1 nogil:
    """Process the tokens of a text."""
    cdef uint8_t* letters = <uint8_t*> s.letters.data
    cdef uint64_t* in_word
    cdef size_t n_bytes
    reserve(&s.marks, text.length // 16 + 3, sizeof(uint64_t))
    in_word = <uint64_t*> s.marks.data
    if text.width == 1:
        n_bytes = encode_words(<const uint8_t*> text.units, text.length, text.lowercase, letters, in_word)
    elif text.width == 2:
        n_bytes = encode_words(<const uint16_t*> text.units, text.length, text.lowercase, letters, in_word)
    else:
        n_bytes = encode_words(<const uint32_t*> text.units, text.length, text.lowercase, letters, in_word)
    if a.has_marks:
        return read_words_and_marks(a, s, n_bytes, field)
    s.open_word = 0
    s.next_bits = 0
    s.was_in_word = 0
    s.is_plain = n_bytes == text.length and n_bytes <= MAX_TOKEN_BYTES
    while s.next_bits <= n_bytes // 64:
        find_tokens(s, n_bytes // 64 + 1)
        process_tokens(a, s, field)
    return 0


cdef inline void find_tokens(Scratch* s, size_t n_bits) noexcept nogil:
    """Find the next tokens: runs of two or more word characters, up to MAX_TOKEN_BYTES."""
    cdef const uint64_t* in_word = <const uint64_t*> s.marks.data
    cdef uint64_t bits, edges
    cdef size_t n_tokens = 0
    cdef uint32_t position, start = s.open_word
    while s.next_bits < n_bits and n_tokens < TOKEN_BATCH:
        bits = in_word[s.next_bits]
        position = <uint32_t> (64 * s.next_bits)
        bits &= (bits << 1 | s.was_in_word) | (bits >> 1 | in_word[s.next_bits + 1] << 63)  # no lone bytes
        edges = bits ^ (bits << 1 | s.was_in_word)
        if s.was_in_word and edges:
            s.tokens[n_tokens].start = start
            s.tokens[n_tokens].length = position + nb_lowest_bit(edges) - start
            n_tokens += 1
            edges &= edges - 1
        s.was_in_word = bits >> 63
        while edges:
            start = position + nb_lowest_bit(edges)
            edges &= edges - 1
            if edges == 0:
                break
            s.tokens[n_tokens].start = start
            s.tokens[n_tokens].length = position + nb_lowest_bit(edges) - start
            n_tokens += 1
            edges &= edges - 1
        s.next_bits += 1
    s.open_word = start
    s.n_tokens_held = n_tokens
    if not s.is_plain:
        keep_tokens(s)


cdef inline void keep_tokens(Scratch* s) noexcept nogil:
    """Remove tokens of one character, which may have several bytes, and those that are too long."""
    cdef const uint8_t* letters = <const uint8_t*> s.letters.data
    cdef size_t i, n_kept = 0
    cdef uint32_t start, length
    for i in range(s.n_tokens_held):
        start = s.tokens[i].start
        length = s.tokens[i].length
        s.tokens[n_kept].start = start
        s.tokens[n_kept].length = length
        n_kept += length > character_length(letters[start]) and length <= MAX_TOKEN_BYTES
        s.n_too_long += length > MAX_TOKEN_BYTES
    s.n_tokens_held = n_kept


cdef inline int read_words_and_marks(Analysis* a, Scratch* s, size_t n_bytes, size_t field) except -1 nogil:
    """Process runs of word characters, and each character that is neither of a word nor white space."""
    cdef const uint64_t* in_word = <const uint64_t*> s.marks.data
    cdef const uint8_t* letters = <const uint8_t*> s.letters.data
    cdef size_t start = 0, length
    while start < n_bytes:
        if in_word[start >> 6] >> (start & 63) & 1:
            length = count_ones(in_word, start)
        else:
            length = character_length(letters[start])
            if is_space(letters + start):
                start += length
                continue
        s.tokens[s.n_tokens_held].start = <uint32_t> start
        s.tokens[s.n_tokens_held].length = <uint32_t> length
        s.n_tokens_held += length <= MAX_TOKEN_BYTES
        s.n_too_long += length > MAX_TOKEN_BYTES
        start += length
        if s.n_tokens_held == TOKEN_BATCH:
            process_tokens(a, s, field)
    return 0


cdef inline size_t count_ones(const uint64_t* bits, size_t start) noexcept nogil:
    """Return the number of bits from `start` to the next zero bit; there is one."""
    cdef size_t block = start >> 6
    cdef uint64_t zeros = ~bits[block] >> (start & 63)
    if zeros:
        return nb_lowest_bit(zeros)
    block += 1
    while ~bits[block] == 0:
        block += 1
    return 64 * block + nb_lowest_bit(~bits[block]) - start


cdef inline int read_characters(Analysis* a, Scratch* s, const Text* text, size_t field) except -1 nogil:
    """Process the character n-grams of a text, or of its padded words; such a word shorter than n counts once."""
    cdef uint8_t* letters = <uint8_t*> s.letters.data
    cdef uint32_t* starts
    cdef uint32_t* ends
    cdef size_t i, n, n_characters, n_words = 1, first = 0
    cdef bint is_padded = a.analyzer == PADDED
    cdef size_t fewest = a.shortest if is_padded else 0
    reserve(&s.marks, (3 if is_padded else 1) * text.length + 1, sizeof(uint32_t))
    reserve(&s.ends, text.length + 1, sizeof(uint32_t))
    starts = <uint32_t*> s.marks.data
    ends = <uint32_t*> s.ends.data
    if is_padded:
        n_words = encode_padded_words(text, letters, starts, ends)
    else:
        ends[0] = <uint32_t> encode_characters(text, letters, starts)
    for i in range(n_words):
        n_characters = ends[i] - first
        for n in range(a.shortest, min(a.longest, max(n_characters, fewest)) + 1):
            collect_windows(a, s, starts + first, n_characters, min(n, n_characters), field)
        first = ends[i]
    return 0


cdef inline int collect_windows(
    Analysis* a, Scratch* s, const uint32_t* starts, size_t n_characters, size_t n, size_t field
) except -1 nogil:
    cdef size_t i
    for i in range(n_characters - n + 1):
        s.tokens[s.n_tokens_held].start = starts[i]
        s.tokens[s.n_tokens_held].length = starts[i + n] - starts[i]
        s.n_tokens_held += 1
        if s.n_tokens_held == TOKEN_BATCH:
            process_tokens(a, s, field)
    return 0


cdef inline int process_tokens(Analysis* a, Scratch* s, size_t field) except -1 nogil:
    """Append the current tokens to the features, or to the sequence for n-grams."""
    cdef size_t n_found
    if s.n_tokens_held == 0:
        return 0
    if a.n_buckets:
        hash_words(a, s, field)
    else:
        n_found = find_nodes(a, s)
        if a.joins_words:
            reserve(&s.sequence, s.n_sequence + n_found, sizeof(uint32_t))
            memcpy(<uint32_t*> s.sequence.data + s.n_sequence, s.found, n_found * sizeof(uint32_t))
            s.n_sequence += n_found
        else:
            add_features_of_words(a, s, s.found, n_found, field)
    s.n_tokens_held = 0
    return 0


cdef inline size_t find_nodes(Analysis* a, Scratch* s) except? <size_t> -1 nogil:
    """Write the nodes of the current tokens to `found`; return their number, as some may be removed."""
    cdef const uint8_t* letters = <const uint8_t*> s.letters.data
    cdef WordSlot* slot
    cdef size_t i
    if a.normalize != NULL:
        return find_normalized_nodes(a, s)
    if a.is_growing:
        add_words(&a.words, &a.tree, s.tokens, s.n_tokens_held, letters, s.found)
        return s.n_tokens_held
    set_keys(s.tokens, s.n_tokens_held, letters, &a.words)
    for i in range(s.n_tokens_held):
        slot = seek(&a.words, &s.tokens[i], letters)
        s.found[i] = slot.value if slot.high else UNKNOWN
    return s.n_tokens_held


cdef inline size_t find_normalized_nodes(Analysis* a, Scratch* s) except? <size_t> -1 nogil:
    """Do the same for words that a Python function normalizes."""
    cdef const uint8_t* letters = <const uint8_t*> s.letters.data
    cdef WordSlot* slot
    cdef uint32_t node
    cdef size_t i, n_found = 0
    reserve_words(&s.raw, 1, 0)
    set_keys(s.tokens, s.n_tokens_held, letters, &s.raw)
    for i in range(s.n_tokens_held):
        slot = seek(&s.raw, &s.tokens[i], letters)
        if slot.high:
            node = slot.value
        else:
            node = normalize_word(a, s, letters + s.tokens[i].start, s.tokens[i].length)
            reserve_words(&s.raw, 1, s.tokens[i].length)
            put_word(&s.raw, &s.tokens[i], letters, node)
        s.found[n_found] = node
        n_found += node != LEFT_OUT
    return n_found


cdef inline uint32_t normalize_word(Analysis* a, Scratch* s, const uint8_t* word, size_t length) except? 0xFFFFFFFE with gil:
    """Return the node of a word's normal form, or with hashing its number in the table of normal forms."""
    cdef Token token
    cdef WordSlot* slot
    cdef Words* words = &a.words
    cdef uint32_t node
    cdef bytes letters
    cdef Py_UCS4 character
    normal = (<object> a.normalize)((<const char*> word)[:length].decode("utf-8", "surrogatepass"))
    if normal is None:
        return LEFT_OUT
    for character in <str?> normal:
        if character <= c" " or (a.has_names and character == c":"):
            raise ValueError(f"a normal form with white space or a colon: {normal!r}")
    letters = normal.encode("utf-8", "surrogatepass") + bytes(16)  # keys read beyond the end of a word
    length = len(letters) - 16
    if length > MAX_NODES:
        return too_much("a word of more than 2**31 bytes")
    token.start = 0
    token.length = <uint32_t> length
    if a.is_growing:
        add_words(&a.words, &a.tree, &token, 1, letters, &node)
        return node
    if a.n_buckets:
        words = &s.normalized
        reserve_words(words, 1, length)
    set_key(&token, letters)
    slot = seek(words, &token, letters)
    if slot.high:
        return slot.value
    return put_word(words, &token, letters, <uint32_t> words.count) if a.n_buckets else UNKNOWN


cdef inline int add_ngrams(Analysis* a, Scratch* s, size_t field) except -1 nogil:
    """Append the word n-grams of a text to the features."""
    cdef const uint32_t* words = <const uint32_t*> s.sequence.data
    cdef uint32_t* nodes
    cdef size_t n, n_ngrams
    if a.n_buckets:
        return hash_ngrams(a, s, field)
    reserve(&s.nodes, s.n_sequence, sizeof(uint32_t))
    nodes = <uint32_t*> s.nodes.data
    for n in range(1, min(a.longest, s.n_sequence) + 1):
        n_ngrams = s.n_sequence - n + 1
        if n > 1:
            descend(&a.tree, nodes, words + n - 1, n_ngrams, a.is_growing)
        elif a.has_names:
            descend_from_field(a, nodes, words, n_ngrams, field)
        else:
            memcpy(nodes, words, n_ngrams * sizeof(uint32_t))
        if n >= a.shortest:
            append_features(s, nodes, n_ngrams)
    return 0


cdef inline int descend_from_field(Analysis* a, uint32_t* nodes, const uint32_t* words, size_t count, size_t field) except -1 nogil:
    cdef size_t i
    for i in range(count):
        nodes[i] = <uint32_t> (FIELD - field)
    return descend(&a.tree, nodes, words, count, a.is_growing)


cdef inline int add_features_of_words(Analysis* a, Scratch* s, const uint32_t* words, size_t count, size_t field) except -1 nogil:
    """Append features that are words or character n-grams."""
    cdef uint32_t[TOKEN_BATCH + 32] nodes
    if not a.has_names:
        return append_features(s, words, count)
    descend_from_field(a, nodes, words, count, field)
    return append_features(s, nodes, count)


cdef inline int hash_words(Analysis* a, Scratch* s, size_t field) except -1 nogil:
    """Append the current tokens to the features as buckets, or to the text for n-grams."""
    cdef const uint8_t* letters = <const uint8_t*> s.letters.data
    cdef const uint8_t* word
    cdef size_t i, length, count = s.n_tokens_held
    if a.normalize != NULL:
        count = find_normalized_nodes(a, s)
    for i in range(count):
        if a.normalize != NULL:
            word = word_letters(&s.normalized, s.found[i], &length)
        else:
            word = letters + s.tokens[i].start
            length = s.tokens[i].length
        if a.joins_words:
            join_word(s, word, length)
        else:
            count_bucket(a, s, word, length, field)
    return 0


cdef inline int join_word(Scratch* s, const uint8_t* letters, size_t length) except -1 nogil:
    """Append a word and a space to the text for n-grams, with its position."""
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


cdef inline int hash_ngrams(Analysis* a, Scratch* s, size_t field) except -1 nogil:
    cdef const uint32_t* starts = <const uint32_t*> s.sequence.data
    cdef size_t i, n
    for n in range(a.shortest, min(a.longest, s.n_sequence) + 1):
        for i in range(s.n_sequence - n + 1):
            count_bucket(a, s, <uint8_t*> s.joined.data + starts[i], starts[i + n] - 1 - starts[i], field)
    return 0


cdef inline int count_bucket(Analysis* a, Scratch* s, const uint8_t* feature, size_t length, size_t field) except -1 nogil:
    cdef const Prefix* prefix = <const Prefix*> a.prefixes.data + field
    cdef uint8_t* named
    cdef uint32_t bucket
    if prefix.length:
        reserve(&s.named, prefix.length + length, 1)
        named = <uint8_t*> s.named.data
        memcpy(named, prefix.letters, prefix.length)
        memcpy(named + prefix.length, feature, length)
        feature = named
        length = prefix.length + length
    bucket = bucket_of(feature, length, a.n_buckets)
    return append_features(s, &bucket, 1)
