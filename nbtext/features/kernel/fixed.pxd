# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# A vocabulary that is given: the words and n-grams that are its terms.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from nbtext.features.kernel.analysis cimport Analysis, Prefix, add_words
from nbtext.features.kernel.memory cimport Buffer, release, reserve, reserve_zeros, too_much
from nbtext.features.kernel.ngrams cimport FIELD, MOST_NODES, STRIP, WORD, Node, descend, make_room_for_nodes, make_room_for_pairs
from nbtext.features.kernel.words cimport LONGEST_SHORT, Token, make_room, make_room_in_table


cdef inline int check_terms(blob, offsets) except -1:
    """Refuse offsets that are not those of terms in the blob."""
    cdef const int64_t[::1] bounds = offsets
    cdef size_t i, n_terms = len(offsets) - 1
    cdef bint is_ascending = True
    if len(offsets) == 0 or bounds[0] != 0 or bounds[n_terms] != len(blob):
        raise ValueError("the offsets of the vocabulary do not fit its text")
    if n_terms > MOST_NODES:
        raise OverflowError("more than 2**31 features")
    for i in range(n_terms):
        is_ascending &= bounds[i] <= bounds[i + 1]
    if not is_ascending:
        raise ValueError("the offsets of the vocabulary do not ascend")
    return 0


cdef enum:
    CHUNK = 1024  # terms that are taken together, so that memory is asked for long before it is needed

cdef struct Chunk:
    size_t count  # of its terms that can occur
    Buffer columns  # uint32_t, by term
    Buffer nodes  # uint32_t, by term: where it is in the tree, as far as it is taken
    Buffer next_words  # uint32_t, by term: which of the words comes next
    Buffer stops  # uint32_t, by term: which of the words is that of the next term
    size_t n_words
    Buffer tokens  # Token, by word
    Buffer words  # uint32_t, by word: its node
    Buffer steps  # uint32_t, of the terms that go on: their numbers, nodes and next words


cdef inline int take_vocabulary(Analysis* a, vocabulary) except -1:
    """Make the nodes of all terms of a fixed vocabulary."""
    cdef const uint8_t[::1] blob = vocabulary.blob
    cdef const int64_t[::1] offsets = vocabulary.offsets
    cdef const int64_t* bounds = &offsets[0]
    cdef size_t stop, start = 0, n_terms = len(offsets) - 1, n_letters = len(blob)
    cdef Buffer letters = Buffer(NULL, 0)
    cdef Chunk chunk
    check_terms(vocabulary.blob, vocabulary.offsets)
    memset(&chunk, 0, sizeof(chunk))
    try:
        reserve(&letters, n_letters + 16, 1)  # keys are read beyond the end of a word
        if n_letters:
            memcpy(letters.data, &blob[0], n_letters)
        with nogil:
            memset(<uint8_t*> letters.data + n_letters, 0, 16)
            reserve_zeros(&a.columns, 1, sizeof(uint32_t))
            expect_terms(a, bounds, n_terms)
            while start < n_terms:
                stop = min(start + CHUNK, n_terms)
                split_terms(a, &chunk, <const uint8_t*> letters.data + bounds[start], bounds, start, stop)
                place_terms(a, &chunk, <const uint8_t*> letters.data + bounds[start])
                start = stop
            a.n_columns, a.nodes_are_columns = n_terms, has_nodes_as_columns(a)
    finally:
        release(&letters)
        drop_chunk(&chunk)
    return 0


cdef inline int expect_terms(Analysis* a, const int64_t* bounds, size_t n_terms) except -1 nogil:
    """Have room for all from the start, instead of moving to larger and larger tables."""
    cdef size_t i, n_long = 0
    make_room_for_nodes(&a.tree, n_terms)
    if a.joins_words or a.has_names:
        return make_room_for_pairs(&a.tree, n_terms)
    for i in range(n_terms):
        n_long += bounds[i + 1] - bounds[i] > LONGEST_SHORT
    make_room(&a.words, 0, bounds[n_terms])
    reserve(&a.words.starts, n_terms + 1, sizeof(uint64_t))
    make_room_in_table(&a.words.short_words, n_terms - n_long, False)
    return make_room_in_table(&a.words.long_words, n_long, True)


cdef inline bint has_nodes_as_columns(Analysis* a) noexcept nogil:
    """Whether each node is a feature, and its number its column: so it is where all are single words."""
    cdef const uint32_t* columns = <const uint32_t*> a.columns.data
    cdef size_t node
    for node in range(a.tree.count):
        if columns[node] != node + 1:
            return False
    return True


cdef inline void drop_chunk(Chunk* chunk) noexcept nogil:
    release(&chunk.columns)
    release(&chunk.nodes)
    release(&chunk.next_words)
    release(&chunk.stops)
    release(&chunk.tokens)
    release(&chunk.words)
    release(&chunk.steps)


cdef inline int split_terms(
    Analysis* a, Chunk* chunk, const uint8_t* letters, const int64_t* bounds, size_t start, size_t stop
) except -1 nogil:
    """Find the field and the words of each term; what begins with no field's name is nowhere met.

    letters  of the terms from `start` on
    """
    cdef const Prefix* prefixes = <const Prefix*> a.prefixes.data
    cdef size_t term, field, begin, end
    chunk.count, chunk.n_words = 0, 0
    reserve(&chunk.columns, CHUNK, sizeof(uint32_t))
    reserve(&chunk.nodes, CHUNK, sizeof(uint32_t))
    reserve(&chunk.next_words, CHUNK, sizeof(uint32_t))
    reserve(&chunk.stops, CHUNK, sizeof(uint32_t))
    for term in range(start, stop):
        begin, end = bounds[term] - bounds[start], bounds[term + 1] - bounds[start]
        for field in range(a.n_fields):
            if begins_with(letters, begin, end, &prefixes[field]):
                (<uint32_t*> chunk.columns.data)[chunk.count] = <uint32_t> term
                (<uint32_t*> chunk.nodes.data)[chunk.count] = <uint32_t> (FIELD - field) if a.has_names else WORD
                (<uint32_t*> chunk.next_words.data)[chunk.count] = <uint32_t> chunk.n_words
                split_term(a, chunk, letters, begin + prefixes[field].length, end)
                (<uint32_t*> chunk.stops.data)[chunk.count] = <uint32_t> chunk.n_words
                chunk.count += 1
    return 0


cdef inline bint begins_with(const uint8_t* letters, size_t start, size_t end, const Prefix* prefix) noexcept nogil:
    return end - start >= prefix.length and memcmp(letters + start, prefix.letters, prefix.length) == 0


cdef inline int split_term(Analysis* a, Chunk* chunk, const uint8_t* letters, size_t start, size_t end) except -1 nogil:
    """Note the words of a term; it is a single one where features are."""
    cdef size_t stop = start
    cdef Token* token
    while True:
        while stop < end and not (a.joins_words and letters[stop] == c' '):
            stop += 1
        if stop - start > MOST_NODES or start > <uint32_t> -1:
            return too_much("terms of more than 2**31 bytes")
        reserve(&chunk.tokens, chunk.n_words + 1, sizeof(Token))
        token = <Token*> chunk.tokens.data + chunk.n_words
        token.start, token.length = <uint32_t> start, <uint32_t> (stop - start)
        chunk.n_words += 1
        if stop == end:
            return 0
        stop += 1
        start = stop


cdef inline int place_terms(Analysis* a, Chunk* chunk, const uint8_t* letters) except -1 nogil:
    """Make the nodes of the terms, and note their columns."""
    cdef const uint32_t* nodes = <const uint32_t*> chunk.nodes.data
    cdef const uint32_t* columns = <const uint32_t*> chunk.columns.data
    cdef size_t i, n = 0
    reserve(&chunk.words, chunk.n_words, sizeof(uint32_t))
    while n < chunk.n_words:
        i = min(chunk.n_words - n, <size_t> STRIP)
        add_words(&a.words, &a.tree, <Token*> chunk.tokens.data + n, i, letters, <uint32_t*> chunk.words.data + n)
        n += i
    if not a.has_names:
        begin_with_words(chunk)
    while take_steps(a, chunk):
        pass
    reserve_zeros(&a.columns, a.tree.count, sizeof(uint32_t))
    for i in range(chunk.count):
        (<uint32_t*> a.columns.data)[nodes[i]] = columns[i] + 1
    return 0


cdef inline void begin_with_words(Chunk* chunk) noexcept nogil:
    """Place each term at its first word."""
    cdef uint32_t* nodes = <uint32_t*> chunk.nodes.data
    cdef uint32_t* next_words = <uint32_t*> chunk.next_words.data
    cdef size_t i
    for i in range(chunk.count):
        nodes[i] = (<const uint32_t*> chunk.words.data)[next_words[i]]
        next_words[i] += 1


cdef inline size_t take_steps(Analysis* a, Chunk* chunk) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Take each term that has more words a word further; return how many there were."""
    cdef const uint32_t* words = <const uint32_t*> chunk.words.data
    cdef const uint32_t* stops = <const uint32_t*> chunk.stops.data
    cdef uint32_t* nodes = <uint32_t*> chunk.nodes.data
    cdef uint32_t* next_words = <uint32_t*> chunk.next_words.data
    cdef uint32_t* terms
    cdef uint32_t* step_nodes
    cdef uint32_t* step_words
    cdef size_t i, n_steps = 0
    reserve(&chunk.steps, 3 * CHUNK, sizeof(uint32_t))
    terms = <uint32_t*> chunk.steps.data
    step_nodes, step_words = terms + CHUNK, terms + 2 * CHUNK
    for i in range(chunk.count):
        if next_words[i] < stops[i]:
            terms[n_steps], step_nodes[n_steps], step_words[n_steps] = <uint32_t> i, nodes[i], words[next_words[i]]
            next_words[i] += 1
            n_steps += 1
    descend(&a.tree, step_nodes, step_words, n_steps, True)
    for i in range(n_steps):
        nodes[terms[i]] = step_nodes[i]
    return n_steps


cdef inline void fill_order(const Analysis* a, uint32_t* order) noexcept nogil:
    """Write the node of each column that has one, where the columns are fixed or hashed."""
    cdef const uint32_t* columns = <const uint32_t*> a.columns.data
    cdef const Node* nodes = <const Node*> a.tree.nodes.data
    cdef size_t node
    for node in range(a.tree.count):
        if a.n_buckets:
            order[nodes[node].word] = <uint32_t> node
        elif columns[node]:
            order[columns[node] - 1] = <uint32_t> node
