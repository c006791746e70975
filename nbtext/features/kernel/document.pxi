# The counts of a document: how they become a CSR row, part of a class's sums, or scores.

cdef enum Frequency:
    COUNT, BINARY, RELATIVE, LOG

cdef enum Norm:
    NONE, L1, L2

cdef struct DocumentWeighting:
    Frequency tf
    Norm norm
    const double* idf  # or NULL
    bint are_ones  # whether the weights are 1, and need not be written


cdef struct Scratch:  # the working memory of one thread: the text and the counts of the current document
    # the text
    Buffer letters  # lowercase UTF-8
    Buffer marks  # a bit for each byte (words), or the position of each character
    Buffer ends  # of padded words, as character numbers
    Token[TOKEN_BATCH + 32] tokens  # the current tokens
    size_t n_tokens_held
    size_t next_bits  # index of the next 64 bits of `marks`
    uint64_t was_in_word  # 1 if the byte before them is of a word that has not ended
    uint32_t open_word  # start of that word
    bint is_plain  # whether each character of the text has one byte, and no word can be too long
    uint32_t[TOKEN_BATCH + 32] found  # the nodes of the current tokens
    # the document
    Buffer sequence  # uint32_t: nodes of its words; with hashing, their positions in `joined`
    size_t n_sequence
    Buffer nodes  # uint32_t: nodes of the n-grams that begin at each word
    Buffer joined  # with hashing: its words, each followed by a space
    size_t n_joined
    Buffer named  # with hashing: a feature with the prefix of its field
    Buffer features  # uint32_t: one for each occurrence
    size_t n_features
    Buffer places  # uint32_t, by feature: index of its entry + 1, or 0
    Buffer seen  # a bit for each column, 0 between documents
    Buffer entries  # uint64_t, in order of first occurrence
    Buffer spare  # uint64_t, for sorting
    Buffer values  # double, weights of the entries
    size_t n_entries
    uint64_t n_tokens  # UNKNOWN features included
    # the normal forms of words seen so far, with `normalize`
    Words raw
    Words normalized  # with hashing: the normal forms
    # finished rows
    Buffer indices
    Buffer counts
    size_t n_done
    size_t n_too_long  # tokens ignored because they are too long


cdef inline void free_scratch(Scratch* s) noexcept nogil:
    release_all([
        &s.letters, &s.marks, &s.ends, &s.sequence, &s.nodes, &s.joined, &s.named, &s.features, &s.places, &s.seen, &s.entries,
        &s.spare, &s.values, &s.indices, &s.counts, NULL,
    ])
    free_words(&s.raw)
    free_words(&s.normalized)


cdef inline int append_features(Scratch* s, const uint32_t* features, size_t count) except -1 nogil:
    """Append occurrences of features."""
    reserve(&s.features, s.n_features + count, sizeof(uint32_t))
    memcpy(<uint32_t*> s.features.data + s.n_features, features, count * sizeof(uint32_t))
    s.n_features += count
    if s.n_features > MAX_TOKENS:
        return too_much("a document of more than 2**31 tokens")
    return 0


cdef inline int count_features(Scratch* s, size_t n_numbers) except -1 nogil:
    """Make the document's entries, in order of first occurrence; features are below `n_numbers`."""
    cdef const uint32_t* features = <const uint32_t*> s.features.data
    cdef uint32_t* places
    cdef uint64_t* entries
    cdef size_t i, n_entries = 0
    cdef uint32_t place
    cdef uint64_t is_new  # 1 or 0
    reserve_zeros(&s.places, n_numbers, sizeof(uint32_t))
    reserve(&s.entries, s.n_features + 1, sizeof(uint64_t))
    places = <uint32_t*> s.places.data
    entries = <uint64_t*> s.entries.data
    for i in range(s.n_features):
        if i + AHEAD < s.n_features:
            nb_prefetch(&places[features[i + AHEAD]])
        # without a branch, because new words cannot be predicted
        place = places[features[i]]
        is_new = place == 0
        place += is_new * <uint32_t> (n_entries + 1)
        places[features[i]] = place
        entries[place - 1] = (entries[place - 1] & (is_new - 1)) + is_new * (<uint64_t> features[i] << 32) + 1
        n_entries += is_new
    s.n_entries = n_entries
    for i in range(n_entries):
        places[feature_of(entries[i])] = 0
    return 0


cdef inline int count_buckets(Scratch* s) except -1 nogil:
    """Make the document's entries, sorted; for buckets, of which there may be too many for `places`."""
    cdef const uint32_t* features = <const uint32_t*> s.features.data
    cdef uint64_t* entries
    cdef size_t i
    reserve(&s.entries, s.n_features, sizeof(uint64_t))
    entries = <uint64_t*> s.entries.data
    for i in range(s.n_features):
        entries[i] = (<uint64_t> features[i] << 32) + 1
    sort_entries(entries, s.n_features, &s.spare)
    s.n_entries = merge_equal(entries, s.n_features)
    return 0


cdef inline int append_row(Scratch* s) except -1 nogil:
    """Append the document's entries to the finished rows."""
    cdef uint64_t* entries = <uint64_t*> s.entries.data
    cdef int32_t *indices
    cdef int32_t *counts
    cdef size_t i
    reserve(&s.indices, s.n_done + s.n_entries, sizeof(int32_t))
    reserve(&s.counts, s.n_done + s.n_entries, sizeof(int32_t))
    indices = <int32_t*> s.indices.data + s.n_done
    counts = <int32_t*> s.counts.data + s.n_done
    for i in range(s.n_entries):
        indices[i] = <int32_t> feature_of(entries[i])
        counts[i] = <int32_t> count_of(entries[i])
    s.n_done += s.n_entries
    return 0


cdef inline int count_document(Analysis* a, Scratch* s) except -1 nogil:
    """Make the document's entries, by column, or by node if the vocabulary grows, in order of first occurrence.

    Buckets are sorted.
    """
    if a.n_buckets:
        return count_buckets(s)
    if a.is_growing:
        return count_features(s, a.tree.count)
    replace_nodes_by_columns(a, s)
    return count_features(s, a.n_columns)


cdef inline void replace_nodes_by_columns(Analysis* a, Scratch* s) noexcept nogil:
    """Replace nodes by columns of a fixed vocabulary, and remove features outside it."""
    cdef const uint32_t* columns = <const uint32_t*> a.columns.data
    cdef uint32_t* features = <uint32_t*> s.features.data
    cdef size_t i, n_known = 0
    cdef uint32_t feature, column
    for i in range(s.n_features):
        feature = features[i]
        if a.nodes_are_columns:
            column = feature
        else:
            column = columns[feature] - 1 if feature != UNKNOWN else UNKNOWN
        features[n_known] = column
        n_known += column < MAX_NODES
    s.n_features = n_known


cdef inline uint64_t add_to_class(Analysis* a, Scratch* s, Pool* pool, uint32_t group) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Add the document to its class; return its hash."""
    cdef const uint32_t* nodes = <const uint32_t*> s.features.data
    cdef uint32_t* buckets
    cdef size_t i
    if group >= MAX_GROUPS:
        too_much("more than 2**24 classes")
    if a.n_buckets:
        reserve(&s.nodes, s.n_features, sizeof(uint32_t))
        buckets = <uint32_t*> s.nodes.data
        for i in range(s.n_features):
            buckets[i] = BUCKET
        descend(&a.tree, buckets, nodes, s.n_features, True)
        nodes = buckets
    hash_new_nodes(a)
    return add_features(pool, &a.tree, nodes, s.n_features, group + 1)


cdef inline int find_columns(Analysis* a, Scratch* s) except -1 nogil:
    """Write the columns of the document to `indices`, each once, in order of first occurrence.

    One bit for each column usually fits into the L1 cache; `places` (4 bytes for each) does not.
    """
    cdef uint32_t* columns = <uint32_t*> s.features.data  # of all occurrences, then of each column
    cdef uint64_t* seen
    cdef uint64_t* bits
    cdef uint32_t column
    cdef uint64_t is_known  # 1 or 0
    cdef size_t i, n_entries = 0, n_known = 0
    if not a.nodes_are_columns:
        replace_nodes_by_columns(a, s)
    reserve_zeros(&s.seen, a.n_columns // 64 + 1, sizeof(uint64_t))
    seen = <uint64_t*> s.seen.data
    for i in range(s.n_features):
        # without a branch, because new words cannot be predicted, and without a comparison, whose result would wait for the
        # one before it
        column = columns[i]
        is_known = ~column >> 31  # other nodes than those of known words are above MAX_NODES
        n_known += is_known
        columns[n_entries] = column
        bits = &seen[column * is_known >> 6]
        n_entries += is_known & ~(bits[0] >> (column & 63))
        bits[0] |= is_known << (column & 63)
    for i in range(n_entries):
        seen[columns[i] >> 6] = 0
    s.n_entries = n_entries
    s.n_features = n_known
    s.indices, s.features = s.features, s.indices
    return 0


cdef inline int weight_document(Analysis* a, Scratch* s, const DocumentWeighting* weighting) except -1 nogil:
    """Write the columns and weights of the current document to `indices` and `values`."""
    cdef double* values
    cdef size_t i
    if weighting.tf == BINARY and a.n_buckets == 0:
        find_columns(a, s)
    else:
        count_document(a, s)
        s.n_done = 0
        append_row(s)
    if weighting.are_ones:
        return 0
    reserve(&s.values, s.n_entries, sizeof(double))
    values = <double*> s.values.data
    set_frequencies(values, <const int32_t*> s.counts.data, s.n_entries, weighting.tf)
    if weighting.idf != NULL:
        for i in range(s.n_entries):
            values[i] *= weighting.idf[(<const int32_t*> s.indices.data)[i]]
    if weighting.norm != NONE:
        normalize_weights(values, s.n_entries, weighting.norm)
    return 0


cdef inline void set_frequencies(double* values, const int32_t* counts, size_t count, Frequency tf) noexcept nogil:
    """Write the term frequencies of counts."""
    cdef size_t i
    cdef double total = 0
    for i in range(count):
        values[i] = 1 if tf == BINARY else counts[i]
    if tf == RELATIVE:
        for i in range(count):
            total += values[i]
        for i in range(count):
            values[i] /= total
    elif tf == LOG:
        for i in range(count):
            values[i] = 1 + nb_log(values[i])


cdef inline void normalize_weights(double* values, size_t count, Norm norm) noexcept nogil:
    """Divide weights by their L1 or L2 norm, unless it is 0."""
    cdef size_t i
    cdef double length = 0
    for i in range(count):
        length += fabs(values[i]) if norm == L1 else values[i] * values[i]
    if norm == L2:
        length = sqrt(length)
    if length != 0:
        for i in range(count):
            values[i] /= length
