# Sort features by the code points of their text, which is the order of their UTF-8 bytes.
# N-grams sort by the ranks of their words, because a space sorts before every character of a word.

cdef inline uint64_t sort_key(const uint8_t* word, size_t length) noexcept nogil:
    cdef uint64_t key = 0
    memcpy(&key, word, min(length, <size_t> 8))
    return nb_swap_bytes(nb_load(<uint8_t*> &key))


cdef inline bint comes_before(const Words* words, const uint64_t* keys, uint32_t a, uint32_t b) noexcept nogil:
    cdef size_t length_a, length_b
    cdef const uint8_t* word_a
    cdef const uint8_t* word_b
    cdef int difference
    if keys[a] != keys[b]:
        return keys[a] < keys[b]
    word_a, word_b = word_letters(words, a, &length_a), word_letters(words, b, &length_b)
    difference = memcmp(word_a, word_b, min(length_a, length_b))
    return difference < 0 or (difference == 0 and length_a < length_b)


cdef inline void merge_sort(
    const Words* words, const uint64_t* keys, uint32_t* numbers, uint32_t* spare, size_t count
) noexcept nogil:
    """Merge sort by the whole words."""
    cdef size_t half = count // 2, a = 0, b = half, i
    if count < 2:
        return
    merge_sort(words, keys, numbers, spare, half)
    merge_sort(words, keys, numbers + half, spare, count - half)
    memcpy(spare, numbers, half * sizeof(uint32_t))
    for i in range(count):
        if a == half:
            return
        if b < count and comes_before(words, keys, numbers[b], spare[a]):
            numbers[i] = numbers[b]
            b += 1
        else:
            numbers[i] = spare[a]
            a += 1


cdef inline int rank_words(const Words* words, uint32_t* in_order) except -1 nogil:
    """Write the numbers of all words, sorted by their bytes."""
    cdef Buffer key_memory = Buffer(NULL, 0), memory = Buffer(NULL, 0), spare = Buffer(NULL, 0)
    cdef uint64_t* keys
    cdef uint64_t* entries
    cdef const uint8_t* letters
    cdef size_t i, start = 0, length, count = words.count
    cdef unsigned shift
    reserve(&key_memory, count, sizeof(uint64_t))
    reserve(&memory, count, sizeof(uint64_t))
    keys, entries = <uint64_t*> key_memory.data, <uint64_t*> memory.data
    for i in range(count):
        letters = word_letters(words, i, &length)
        keys[i], in_order[i] = sort_key(letters, length), <uint32_t> i
    if count > MAX_INSERTED:  # by the lower half of the keys, then by the upper half
        for shift in range(0, 64, 32):
            for i in range(count):
                entries[i] = keys[in_order[i]] >> shift << 32 | in_order[i]
            sort_entries(entries, count, &spare)
            for i in range(count):
                in_order[i] = <uint32_t> entries[i]
    for i in range(1, count + 1):  # then, where keys are equal, by the whole words
        if i == count or (count > MAX_INSERTED and keys[in_order[i]] != keys[in_order[start]]):
            merge_sort(words, keys, in_order + start, <uint32_t*> entries, i - start)
            start = i
    release_all([&key_memory, &memory, &spare, NULL])
    return 0


cdef struct TreePosition:
    uint32_t node
    uint32_t rank  # of its last word
    uint32_t depth  # number of words

cdef struct Listing:
    # the tree
    Buffer ranks  # uint32_t, rank of each word, by number
    Buffer roots  # uint32_t, node of each word, by rank
    Buffer words  # uint8_t, bytes of the words, sorted
    Buffer starts  # uint64_t, bounds of the words in `words`, by rank
    Buffer children  # uint64_t, (rank of the last word, node), sorted by parent, then by rank
    Buffer first_child  # uint32_t, index of the first child, by parent; fields follow the nodes
    # the traversal
    Buffer stack  # TreePosition
    size_t n_stack
    Buffer path  # uint8_t, text of the current node
    Buffer path_ends  # uint64_t, by depth
    # the result
    size_t count
    Buffer order  # uint32_t, nodes of the features, sorted
    Buffer offsets  # int64_t, bounds of their texts
    Buffer letters  # uint8_t, their texts


cdef inline void free_listing(Listing* listing) noexcept nogil:
    release_all([
        &listing.ranks, &listing.roots, &listing.words, &listing.starts, &listing.children, &listing.first_child, &listing.stack,
        &listing.path, &listing.path_ends, &listing.order, &listing.offsets, &listing.letters, NULL,
    ])


cdef inline int list_words(Listing* listing, const Tree* tree, const Words* words) except -1 nogil:
    """Rank the words, and concatenate them in sorted order."""
    cdef const Node* nodes = <const Node*> tree.nodes.data
    cdef const uint8_t* letters
    cdef uint32_t* roots
    cdef uint32_t* ranks
    cdef uint64_t* starts
    cdef size_t i, length
    reserve(&listing.ranks, words.count, sizeof(uint32_t))
    reserve(&listing.roots, words.count, sizeof(uint32_t))
    reserve(&listing.words, words.n_letters, 1)
    reserve(&listing.starts, words.count + 1, sizeof(uint64_t))
    roots, ranks = <uint32_t*> listing.roots.data, <uint32_t*> listing.ranks.data
    starts = <uint64_t*> listing.starts.data
    rank_words(words, roots)
    starts[0] = 0
    for i in range(words.count):
        ranks[roots[i]] = <uint32_t> i
        letters = word_letters(words, roots[i], &length)
        memcpy(<uint8_t*> listing.words.data + starts[i], letters, length)
        starts[i + 1] = starts[i] + length
    for i in range(tree.count):
        if nodes[i].parent == WORD:
            roots[ranks[nodes[i].word]] = <uint32_t> i
    return 0


cdef inline size_t parent_index(const Tree* tree, uint32_t parent) noexcept nogil:
    return parent if parent < MAX_NODES else tree.count + (FIELD - parent)


cdef inline int list_children(Listing* listing, const Tree* tree, size_t n_fields) except -1 nogil:
    """Group the other nodes by parent, and sort each group by the rank of the last word."""
    cdef const Node* nodes = <const Node*> tree.nodes.data
    cdef const uint32_t* ranks = <const uint32_t*> listing.ranks.data
    cdef uint64_t* children
    cdef uint32_t* first
    cdef uint32_t* next_place
    cdef size_t i, n_parents = tree.count + n_fields
    cdef Buffer spare = Buffer(NULL, 0)
    reserve(&listing.children, tree.n_pairs, sizeof(uint64_t))
    reserve_zeros(&listing.first_child, n_parents + 2, sizeof(uint32_t))
    children, first = <uint64_t*> listing.children.data, <uint32_t*> listing.first_child.data
    for i in range(tree.count):
        if nodes[i].parent != WORD:
            first[parent_index(tree, nodes[i].parent) + 2] += 1
    for i in range(2, n_parents + 2):
        first[i] += first[i - 1]
    for i in range(tree.count):
        if i + AHEAD < tree.count and nodes[i + AHEAD].parent != WORD:
            nb_prefetch(&nodes[nodes[i + AHEAD].word])
            nb_prefetch(&first[parent_index(tree, nodes[i + AHEAD].parent)])
        if nodes[i].parent != WORD:
            next_place = &first[parent_index(tree, nodes[i].parent) + 1]
            children[next_place[0]] = <uint64_t> ranks[nodes[nodes[i].word].word] << 32 | i
            next_place[0] += 1
    try:
        for i in range(n_parents):
            if first[i + 1] - first[i] > 1:
                sort_entries(children + first[i], first[i + 1] - first[i], &spare)
    finally:
        release(&spare)
    return 0


cdef inline int list_features(Listing* listing, TreePosition root, size_t shortest, size_t longest) except -1 nogil:
    """List a node and its descendants of `shortest` to `longest` words, in sorted order."""
    cdef TreePosition visit
    reserve(&listing.stack, 1, sizeof(TreePosition))
    (<TreePosition*> listing.stack.data)[0] = root
    listing.n_stack = 1
    while listing.n_stack:
        listing.n_stack -= 1
        visit = (<TreePosition*> listing.stack.data)[listing.n_stack]
        extend_path(listing, visit)
        if visit.depth >= shortest:
            list_feature(listing, visit)
        if visit.depth < longest:
            stack_children(listing, visit)
    return 0


cdef inline int stack_children(Listing* listing, TreePosition parent) except -1 nogil:
    """Push the children, so that the first one is visited next."""
    cdef const uint32_t* first = <const uint32_t*> listing.first_child.data + parent.node
    cdef const uint64_t* children = <const uint64_t*> listing.children.data
    cdef TreePosition* stack
    cdef size_t i
    reserve(&listing.stack, listing.n_stack + first[1] - first[0], sizeof(TreePosition))
    stack = <TreePosition*> listing.stack.data
    for i in range(first[1], first[0], -1):
        stack[listing.n_stack] = TreePosition(<uint32_t> children[i - 1], <uint32_t> (children[i - 1] >> 32), parent.depth + 1)
        listing.n_stack += 1
    return 0


cdef inline int extend_path(Listing* listing, TreePosition visit) except -1 nogil:
    """Append a node's last word to the path of its parent, after a space if it is not the first."""
    cdef const uint64_t* starts = <const uint64_t*> listing.starts.data + visit.rank
    cdef size_t length = starts[1] - starts[0], end = (<uint64_t*> listing.path_ends.data)[visit.depth - 1]
    reserve(&listing.path, end + 1 + length, 1)
    reserve(&listing.path_ends, visit.depth + 1, sizeof(uint64_t))
    if visit.depth > 1:
        (<uint8_t*> listing.path.data)[end] = c' '
        end += 1
    memcpy(<uint8_t*> listing.path.data + end, <const uint8_t*> listing.words.data + starts[0], length)
    (<uint64_t*> listing.path_ends.data)[visit.depth] = end + length
    return 0


cdef inline int list_feature(Listing* listing, TreePosition visit) except -1 nogil:
    """Append a node and its text to the result."""
    cdef size_t length = (<uint64_t*> listing.path_ends.data)[visit.depth]
    cdef int64_t* offsets
    reserve(&listing.order, listing.count + 1, sizeof(uint32_t))
    reserve(&listing.offsets, listing.count + 2, sizeof(int64_t))
    offsets = <int64_t*> listing.offsets.data + listing.count
    reserve(&listing.letters, offsets[0] + length, 1)
    memcpy(<uint8_t*> listing.letters.data + offsets[0], listing.path.data, length)
    (<uint32_t*> listing.order.data)[listing.count] = visit.node
    offsets[1] = offsets[0] + <int64_t> length
    listing.count += 1
    return 0


cdef inline int list_field(Listing* listing, Analysis* a, size_t field) except -1 nogil:
    """List the features of a field."""
    cdef const Prefix* prefix = <const Prefix*> a.prefixes.data + field
    cdef const uint32_t* first = <const uint32_t*> listing.first_child.data
    cdef const uint32_t* roots = <const uint32_t*> listing.roots.data
    cdef const uint64_t* children = <const uint64_t*> listing.children.data
    cdef size_t i, start, stop, shortest = a.shortest if a.joins_words else 1, longest = a.longest if a.joins_words else 1
    reserve(&listing.path, prefix.length, 1)
    reserve(&listing.path_ends, 1, sizeof(uint64_t))
    memcpy(listing.path.data, prefix.letters, prefix.length)
    (<uint64_t*> listing.path_ends.data)[0] = prefix.length  # where the texts of all features of the field begin
    if not a.has_names:
        for i in range(a.words.count):
            list_features(listing, TreePosition(roots[i], <uint32_t> i, 1), shortest, longest)
        return 0
    start, stop = first[a.tree.count + field], first[a.tree.count + field + 1]
    for i in range(start, stop):
        list_features(listing, TreePosition(<uint32_t> children[i], <uint32_t> (children[i] >> 32), 1), shortest, longest)
    return 0
