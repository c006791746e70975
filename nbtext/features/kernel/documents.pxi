# What happens to the counts of a document: they become a row, or part of a class, or scores.

cdef struct Weighing:
    Frequency tf
    Norm norm
    const double* idf  # NULL where rarity does not count


cdef int count_document(Analysis a, Scratch s) except -1 nogil:
    """Make the document's entries in the order of their first sight: by final column, or by node where they grow.

    Buckets are sorted.
    """
    if a.n_buckets:
        return count_buckets(s)
    if a.is_growing:
        return count_features(s, a.tree.count)
    number_columns(a, s)
    return count_features(s, a.n_columns)


cdef void keep_known(Analysis a, Scratch s) noexcept nogil:
    """Leave out what a fixed vocabulary does not hold: unknown words, and nodes that are but parts of its features."""
    cdef const uint32_t* columns = <const uint32_t*> a.columns.data
    cdef uint32_t* features = <uint32_t*> s.features.data
    cdef size_t i, n_known = 0
    cdef uint32_t feature
    for i in range(s.n_features):
        feature = features[i]
        features[n_known] = feature
        n_known += feature != UNKNOWN and columns[feature] != 0
    s.n_features = n_known


cdef void number_columns(Analysis a, Scratch s) noexcept nogil:
    """Replace the nodes of a fixed vocabulary by its columns, and leave out what it does not hold."""
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
        n_known += column < MOST_NODES
    s.n_features = n_known


cdef uint64_t tally_document(Analysis a, Scratch s, Pool* pool, uint32_t group) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Add the document to its class; return its hash."""
    cdef const uint32_t* nodes = <const uint32_t*> s.features.data
    if group >= MOST_GROUPS:
        too_much("more than 2**24 classes")
    if a.n_buckets:
        find_buckets(a, s)
        nodes = <const uint32_t*> s.nodes.data
    elif not a.is_growing:
        keep_known(a, s)
    hash_new_nodes(a)
    return add_features(pool, &a.tree, nodes, s.n_features, group + 1)


cdef int find_buckets(Analysis a, Scratch s) except -1 nogil:
    """Find the nodes of hashed features, which only those that are met have."""
    cdef uint32_t* nodes
    cdef size_t i
    reserve(&s.nodes, s.n_features, sizeof(uint32_t))
    nodes = <uint32_t*> s.nodes.data
    for i in range(s.n_features):
        nodes[i] = BUCKET
    return descend(&a.tree, nodes, <const uint32_t*> s.features.data, s.n_features, True)


cdef int weigh_document(Scratch s, const Weighing* weighing) except -1 nogil:
    """Write the columns and weights of the entries to `indices` and `values`."""
    cdef const uint64_t* entries = <const uint64_t*> s.entries.data
    cdef int32_t* indices
    cdef double* values
    cdef size_t i
    reserve(&s.indices, s.n_entries, sizeof(int32_t))
    reserve(&s.values, s.n_entries, sizeof(double))
    indices, values = <int32_t*> s.indices.data, <double*> s.values.data
    for i in range(s.n_entries):
        indices[i] = <int32_t> feature_of(entries[i])
    weigh(values, entries, s.n_entries, weighing.tf)
    if weighing.idf != NULL:
        for i in range(s.n_entries):
            values[i] *= weighing.idf[indices[i]]
    if weighing.norm != NONE:
        normalize_weights(values, s.n_entries, weighing.norm)
    return 0


cdef int list_field(Listing* listing, Analysis a, size_t field) except -1 nogil:
    """List the features of a field."""
    cdef const Prefix* prefix = <const Prefix*> a.prefixes.data + field
    cdef const uint32_t* first = <const uint32_t*> listing.first_child.data
    cdef const uint32_t* roots = <const uint32_t*> listing.roots.data
    cdef const uint64_t* children = <const uint64_t*> listing.children.data
    cdef size_t i, start, stop, shortest = a.shortest if a.joins_words else 1, longest = a.longest if a.joins_words else 1
    begin_path(listing, prefix.letters, prefix.length)
    if not a.has_names:
        for i in range(a.words.count):
            list_features(listing, Visit(roots[i], <uint32_t> i, 1), shortest, longest)
        return 0
    start, stop = first[a.tree.count + field], first[a.tree.count + field + 1]
    for i in range(start, stop):
        list_features(listing, Visit(<uint32_t> children[i], <uint32_t> (children[i] >> 32), 1), shortest, longest)
    return 0


cdef order_of_columns(Analysis a, size_t n_columns):
    """The node of each column, where the columns are fixed or hashed; UNKNOWN for one without."""
    order = np.full(n_columns, UNKNOWN, dtype=np.uint32)
    cdef uint32_t[::1] nodes = order
    cdef const uint32_t* columns = <const uint32_t*> a.columns.data
    cdef const Node* buckets = <const Node*> a.tree.nodes.data
    cdef size_t node
    for node in range(a.tree.count):
        if a.n_buckets:
            nodes[buckets[node].word] = <uint32_t> node
        elif columns[node]:
            nodes[columns[node] - 1] = <uint32_t> node
    return order


cdef size_t list_shares(Pool* pool, Tree* tree, order, indptr, classes, documents, occurrences) except? 0xFFFFFFFFFFFFFFFF:
    """Write the sums of every class for each feature in order; return how many."""
    cdef const uint32_t[::1] columns = order
    cdef int64_t[::1] ends = indptr, d = documents, t = occurrences
    cdef int32_t[::1] k = classes
    cdef const Node* nodes = <const Node*> tree.nodes.data
    cdef Buffer entries = Buffer(NULL, 0)
    cdef Buffer spare = Buffer(NULL, 0)
    cdef size_t column, n_shares, n_columns = len(order), count = 0
    try:
        with nogil:
            for column in range(n_columns):
                if column + AHEAD < n_columns and columns[column + AHEAD] < tree.count:
                    nb_prefetch(&nodes[columns[column + AHEAD]])
                if columns[column] < tree.count:
                    n_shares = write_shares(pool, &nodes[columns[column]], &k[count], &d[count], &t[count])
                    if n_shares > 1:
                        sort_shares(&k[count], &d[count], &t[count], n_shares, &entries, &spare)
                    count += n_shares
                ends[column + 1] = count
    finally:
        release(&entries)
        release(&spare)
    return count
