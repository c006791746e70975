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
    word_a = word_letters(words, a, &length_a)
    word_b = word_letters(words, b, &length_b)
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
    keys = <uint64_t*> key_memory.data
    entries = <uint64_t*> memory.data
    for i in range(count):
        letters = word_letters(words, i, &length)
        keys[i] = sort_key(letters, length)
        in_order[i] = <uint32_t> i
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


cdef struct Listing:
    size_t shortest  # words of a feature
    size_t longest
    Buffer ranks  # uint32_t, rank of each word, by number
    Buffer words  # uint8_t, bytes of the words, sorted
    Buffer starts  # uint64_t, bounds of the words in `words`, by rank
    Buffer children  # uint64_t, (rank of the last word, node), sorted by parent, then by rank
    Buffer first_child  # uint32_t, index of the first child, by parent; see parent_index
    Buffer path  # uint8_t, text of the current node
    # the result
    size_t count
    Buffer order  # uint32_t, nodes of the features, sorted
    Buffer offsets  # int64_t, bounds of their texts
    Buffer letters  # uint8_t, their texts


cdef inline void free_listing(Listing* listing) noexcept nogil:
    release_all([
        &listing.ranks, &listing.words, &listing.starts, &listing.children, &listing.first_child, &listing.path,
        &listing.order, &listing.offsets, &listing.letters, NULL,
    ])


cdef inline int list_words(Listing* listing, const Words* words) except -1 nogil:
    """Rank the words, and concatenate them in sorted order."""
    cdef const uint8_t* letters
    cdef uint32_t* ranks
    cdef uint32_t* in_order
    cdef uint64_t* starts
    cdef size_t i, length
    cdef Buffer memory = Buffer(NULL, 0)
    reserve(&memory, words.count, sizeof(uint32_t))
    reserve(&listing.ranks, words.count, sizeof(uint32_t))
    reserve(&listing.words, words.n_letters, 1)
    reserve(&listing.starts, words.count + 1, sizeof(uint64_t))
    in_order = <uint32_t*> memory.data
    ranks = <uint32_t*> listing.ranks.data
    starts = <uint64_t*> listing.starts.data
    rank_words(words, in_order)
    starts[0] = 0
    for i in range(words.count):
        ranks[in_order[i]] = <uint32_t> i
        letters = word_letters(words, in_order[i], &length)
        memcpy(<uint8_t*> listing.words.data + starts[i], letters, length)
        starts[i + 1] = starts[i] + length
    release(&memory)
    return 0


cdef inline size_t parent_index(const Analysis* a, uint32_t parent) noexcept nogil:
    """Return the place of a parent. After the nodes follow the fields. Without fields, words are the children of the first."""
    if parent < MAX_NODES:
        return parent
    if parent == WORD:
        return a.tree.count + (a.n_fields if a.has_names else 0)
    return a.tree.count + (FIELD - parent)


cdef inline int list_children(Listing* listing, const Analysis* a) except -1 nogil:
    """Group the nodes by parent, and sort each group by the rank of the last word."""
    cdef const Node* nodes = <const Node*> a.tree.nodes.data
    cdef const uint32_t* ranks = <const uint32_t*> listing.ranks.data
    cdef uint64_t* children
    cdef uint32_t* first
    cdef uint32_t* next_place
    cdef uint32_t word
    cdef size_t i, count = a.tree.count, n_parents = count + a.n_fields + 1
    cdef Buffer spare = Buffer(NULL, 0)
    reserve(&listing.children, count, sizeof(uint64_t))
    reserve_zeros(&listing.first_child, n_parents + 2, sizeof(uint32_t))
    children = <uint64_t*> listing.children.data
    first = <uint32_t*> listing.first_child.data
    for i in range(count):
        first[parent_index(a, nodes[i].parent) + 2] += 1
    for i in range(2, n_parents + 2):
        first[i] += first[i - 1]
    for i in range(count):
        if i + AHEAD < count and nodes[i + AHEAD].parent != WORD:
            nb_prefetch(&nodes[nodes[i + AHEAD].word])
            nb_prefetch(&first[parent_index(a, nodes[i + AHEAD].parent)])
        word = nodes[i].word if nodes[i].parent == WORD else nodes[nodes[i].word].word
        next_place = &first[parent_index(a, nodes[i].parent) + 1]
        children[next_place[0]] = <uint64_t> ranks[word] << 32 | i
        next_place[0] += 1
    try:
        for i in range(n_parents):
            if first[i + 1] - first[i] > 1:
                sort_entries(children + first[i], first[i + 1] - first[i], &spare)
    finally:
        release(&spare)
    return 0


cdef int list_features(Listing* listing, size_t parent, size_t depth, size_t start) except -1 nogil:
    """List the descendants of a parent, which have the first `start` bytes of the path in common, in sorted order.

    depth  number of words of its children
    """
    cdef const uint32_t* first = <const uint32_t*> listing.first_child.data + parent
    cdef const uint64_t* starts
    cdef uint64_t child
    cdef size_t i, end
    for i in range(first[0], first[1]):
        child = (<const uint64_t*> listing.children.data)[i]
        starts = <const uint64_t*> listing.starts.data + (child >> 32)
        end = start + starts[1] - starts[0]
        reserve(&listing.path, end + 1, 1)
        memcpy(<uint8_t*> listing.path.data + start, <const uint8_t*> listing.words.data + starts[0], end - start)
        if depth >= listing.shortest:
            list_feature(listing, <uint32_t> child, end)
        if depth < listing.longest:
            (<uint8_t*> listing.path.data)[end] = c' '
            list_features(listing, <uint32_t> child, depth + 1, end + 1)
    return 0


cdef inline int list_feature(Listing* listing, uint32_t node, size_t length) except -1 nogil:
    """Append a node and its text, the path up to `length`, to the result."""
    cdef int64_t* offsets
    reserve(&listing.order, listing.count + 1, sizeof(uint32_t))
    reserve(&listing.offsets, listing.count + 2, sizeof(int64_t))
    offsets = <int64_t*> listing.offsets.data + listing.count
    reserve(&listing.letters, offsets[0] + length, 1)
    memcpy(<uint8_t*> listing.letters.data + offsets[0], listing.path.data, length)
    (<uint32_t*> listing.order.data)[listing.count] = node
    offsets[1] = offsets[0] + <int64_t> length
    listing.count += 1
    return 0


cdef inline int list_field(Listing* listing, Analysis* a, size_t field) except -1 nogil:
    """List the features of a field."""
    cdef const Prefix* prefix = <const Prefix*> a.prefixes.data + field
    reserve(&listing.path, prefix.length, 1)
    memcpy(listing.path.data, prefix.letters, prefix.length)
    return list_features(listing, a.tree.count + field, 1, prefix.length)
