# A fixed vocabulary: builds the nodes of its terms.

cdef inline int check_terms(blob, offsets) except -1:
    """Raise an error unless the offsets are those of terms in the blob."""
    if not is_indptr(offsets, len(blob)):
        raise ValueError("the offsets of the vocabulary do not ascend from 0 to the length of its text")
    if <size_t> len(offsets) > MAX_NODES:
        raise OverflowError("more than 2**31 features")
    return 0


cdef enum:
    TERM_BLOCK = 1024  # terms processed together, so that memory is prefetched in time

cdef struct TermBlock:
    size_t count  # terms that can occur
    uint32_t[TERM_BLOCK] columns  # by term
    uint32_t[TERM_BLOCK] nodes  # by term: the node of the words processed so far
    uint32_t[TERM_BLOCK] next_words  # by term: index of its next word
    uint32_t[TERM_BLOCK] stops  # by term: index after its last word
    uint32_t[TERM_BLOCK] step_terms  # terms with more words: numbers, nodes and next words
    uint32_t[TERM_BLOCK] step_nodes
    uint32_t[TERM_BLOCK] step_words
    size_t n_words
    Buffer tokens  # Token, by word
    Buffer words  # uint32_t, by word: its node


cdef inline int add_vocabulary(Analysis* a, vocabulary) except -1:
    """Add the nodes of all terms of a fixed vocabulary."""
    cdef const uint8_t[::1] blob = vocabulary.blob
    cdef const int64_t[::1] offsets = vocabulary.offsets
    cdef const int64_t* bounds = &offsets[0]
    cdef size_t stop, start = 0, n_terms = len(offsets) - 1, n_letters = len(blob)
    cdef Buffer letters = Buffer(NULL, 0)
    cdef TermBlock block
    check_terms(vocabulary.blob, vocabulary.offsets)
    block.tokens = block.words = letters
    try:
        reserve(&letters, n_letters + 16, 1)  # keys read beyond the end of a word
        if n_letters:
            memcpy(letters.data, &blob[0], n_letters)
        with nogil:
            memset(<uint8_t*> letters.data + n_letters, 0, 16)
            a.words.has_short_first = True
            reserve_zeros(&a.columns, 1, sizeof(uint32_t))
            reserve_for_terms(a, bounds, n_terms)
            while start < n_terms:
                stop = min(start + TERM_BLOCK, n_terms)
                split_terms(a, &block, <const uint8_t*> letters.data + bounds[start], bounds, start, stop)
                place_terms(a, &block, <const uint8_t*> letters.data + bounds[start])
                start = stop
            a.n_columns = n_terms
            a.nodes_are_columns = True
            for start in range(a.tree.count):  # each node is a feature, and its number is its column, as with single words
                a.nodes_are_columns &= (<const uint32_t*> a.columns.data)[start] == start + 1
    finally:
        release_all([&letters, &block.tokens, &block.words, NULL])
    return 0


cdef inline int reserve_for_terms(Analysis* a, const int64_t* bounds, size_t n_terms) except -1 nogil:
    """Reserve memory for all terms, so that no table is resized."""
    cdef size_t i, n_long = 0
    reserve_nodes(&a.tree, n_terms)
    if a.joins_words or a.has_names:
        return reserve_pairs(&a.tree, n_terms)
    for i in range(n_terms):
        n_long += bounds[i + 1] - bounds[i] > MAX_SHORT_BYTES
    reserve_words(&a.words, 0, bounds[n_terms])
    reserve(&a.words.starts, n_terms + 1, sizeof(uint64_t))
    reserve_slots(&a.words.short_words, n_terms - n_long, False)
    return reserve_slots(&a.words.long_words, n_long, True)


cdef inline int split_terms(
    Analysis* a, TermBlock* block, const uint8_t* letters, const int64_t* bounds, size_t start, size_t stop
) except -1 nogil:
    """Find the field and the words of each term; terms without a field prefix never occur and are skipped.

    letters  of the terms from `start` on
    """
    cdef const Prefix* prefixes = <const Prefix*> a.prefixes.data
    cdef size_t term, field, begin, end, length
    block.count = 0
    block.n_words = 0
    for term in range(start, stop):
        begin = bounds[term] - bounds[start]
        end = bounds[term + 1] - bounds[start]
        for field in range(a.n_fields):
            length = prefixes[field].length
            if end - begin >= length and memcmp(letters + begin, prefixes[field].letters, length) == 0:
                block.columns[block.count] = <uint32_t> term
                block.nodes[block.count] = <uint32_t> (FIELD - field) if a.has_names else WORD
                block.next_words[block.count] = <uint32_t> block.n_words
                split_term(a, block, letters, begin + length, end)
                block.stops[block.count] = <uint32_t> block.n_words
                block.count += 1
    return 0


cdef inline int split_term(Analysis* a, TermBlock* block, const uint8_t* letters, size_t start, size_t end) except -1 nogil:
    """Append the words of a term: one word unless features are n-grams."""
    cdef size_t stop = start
    cdef Token* token
    while True:
        while stop < end and not (a.joins_words and letters[stop] == c' '):
            stop += 1
        if stop - start > MAX_NODES or start > <uint32_t> -1:
            return too_much("terms of more than 2**31 bytes")
        reserve(&block.tokens, block.n_words + 1, sizeof(Token))
        token = <Token*> block.tokens.data + block.n_words
        token.start = <uint32_t> start
        token.length = <uint32_t> (stop - start)
        block.n_words += 1
        if stop == end:
            return 0
        stop += 1
        start = stop


cdef inline int place_terms(Analysis* a, TermBlock* block, const uint8_t* letters) except -1 nogil:
    """Add the nodes of the terms, and store their columns."""
    cdef size_t i, n = 0
    reserve(&block.words, block.n_words, sizeof(uint32_t))
    while n < block.n_words:
        i = min(block.n_words - n, <size_t> TOKEN_BATCH)
        add_words(&a.words, &a.tree, <Token*> block.tokens.data + n, i, letters, <uint32_t*> block.words.data + n)
        n += i
    for i in range(0 if a.has_names else block.count):
        block.nodes[i] = (<const uint32_t*> block.words.data)[block.next_words[i]]
        block.next_words[i] += 1
    while descend_one_word(a, block):
        pass
    reserve_zeros(&a.columns, a.tree.count, sizeof(uint32_t))
    for i in range(block.count):
        (<uint32_t*> a.columns.data)[block.nodes[i]] = block.columns[i] + 1
    return 0


cdef inline size_t descend_one_word(Analysis* a, TermBlock* block) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Descend one word for each term that has more words; return the number of these terms."""
    cdef size_t i, n_steps = 0
    for i in range(block.count):
        if block.next_words[i] < block.stops[i]:
            block.step_terms[n_steps] = <uint32_t> i
            block.step_nodes[n_steps] = block.nodes[i]
            block.step_words[n_steps] = (<const uint32_t*> block.words.data)[block.next_words[i]]
            block.next_words[i] += 1
            n_steps += 1
    descend(&a.tree, block.step_nodes, block.step_words, n_steps, True)
    for i in range(n_steps):
        block.nodes[block.step_terms[i]] = block.step_nodes[i]
    return n_steps
