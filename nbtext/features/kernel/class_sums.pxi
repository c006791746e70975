# Counts by class and feature. Documents arrive class by class, so each node stores the sums of the current class. When
# another class uses the feature, they are added to a small hash table by class, a block of the pool.

cdef enum:
    GROUP_SHIFT = 40  # the upper 24 bits of `documents` are the class + 1, or 0 for a free slot
    LOG_SHIFT = 58  # the upper 6 bits of `occurrences` of a block's first slot are log2 of its size
    MAX_GROUPS = 0xFFFFFF
    MAX_CURRENT = 0xFFFF - TOKEN_BATCH  # occurrences in a node before a batch of tokens; if there are more, they are flushed
    MAX_STEPS = 8  # probes in a block; if they do not suffice, the block grows

cdef struct ClassSum:  # the sums of one class for one feature
    uint64_t documents
    uint64_t occurrences

cdef struct Pool:
    Buffer sums  # ClassSum, in blocks
    size_t count
    uint32_t[32] unused  # by log2 of the size: linked lists of free blocks
    uint32_t document  # number of the current document


cdef inline uint32_t group_of(const ClassSum* class_sum) noexcept nogil:
    return <uint32_t> (class_sum.documents >> GROUP_SHIFT)


cdef inline uint64_t documents_of(const ClassSum* class_sum) noexcept nogil:
    return class_sum.documents & ((<uint64_t> 1 << GROUP_SHIFT) - 1)


cdef inline uint64_t occurrences_of(const ClassSum* class_sum) noexcept nogil:
    return class_sum.occurrences & ((<uint64_t> 1 << LOG_SHIFT) - 1)


cdef inline unsigned log_size(const ClassSum* block) noexcept nogil:
    return <unsigned> (block.occurrences >> LOG_SHIFT)


cdef inline ClassSum* block_at(const Pool* pool, uint32_t place) noexcept nogil:
    """Return the block at a place; a place is the index of a pair of slots."""
    return <ClassSum*> pool.sums.data + 2 * <size_t> place


cdef inline uint64_t add_features(
    Pool* pool, Tree* tree, const uint32_t* features, size_t count, uint32_t group
) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Add all occurrences of features in a document to class `group` - 1; return the hash of the document."""
    cdef Node* nodes = <Node*> tree.nodes.data
    cdef Node* node
    cdef uint64_t total = 0
    cdef uint32_t document
    cdef Node* others[TOKEN_BATCH]  # nodes that have sums of another class, or large ones
    cdef size_t i, end, n_others, first = 0
    pool.document += 1
    if pool.document == 0:  # after 2**32 documents
        for i in range(tree.count):
            nodes[i].document = 0
        pool.document = 1
    document = pool.document
    while first < count:
        end = min(first + TOKEN_BATCH, count)
        n_others = 0
        for i in range(first, end):  # without a branch, because the class of the last use cannot be predicted
            node = &nodes[features[i]]
            others[n_others] = node
            n_others += (node.group != group) | (node.occurrences > MAX_CURRENT)
        for i in range(n_others):
            nb_prefetch(block_at(pool, others[i].block))
        for i in range(n_others):
            switch_class(pool, others[i], group)
        for i in range(first, end):
            node = &nodes[features[i]]
            node.documents += node.document != document
            node.document = document
            node.occurrences += 1
            total += node.hash
        first = end
    return mix64(total)


cdef inline int switch_class(Pool* pool, Node* node, uint32_t group) except -1 nogil:
    """Flush the sums of the current class, and begin those of another one."""
    cdef ClassSum* class_sum
    if node.occurrences:
        class_sum = find_or_add_sum(pool, node, node.group)
        class_sum.documents += node.documents
        class_sum.occurrences += node.occurrences
    node.group = group
    node.documents = 0
    node.occurrences = 0
    return 0


cdef inline ClassSum* find_or_add_sum(Pool* pool, Node* node, uint32_t group) except NULL nogil:
    """Return the slot of a class; it is inserted if it is missing."""
    cdef ClassSum* class_sum
    cdef ClassSum* block
    if node.block == 0:
        node.block = new_block(pool, 1)
    while True:
        block = block_at(pool, node.block)
        class_sum = seek_sum(block, log_size(block), group)
        if class_sum != NULL:
            class_sum.documents = <uint64_t> group << GROUP_SHIFT | documents_of(class_sum)
            return class_sum
        enlarge_block(pool, node)


cdef inline ClassSum* seek_sum(ClassSum* block, unsigned log_size, uint32_t group) noexcept nogil:
    """Return the slot of a class in a block, or a free slot for it, or NULL if MAX_STEPS probes find neither."""
    cdef uint32_t mask = (<uint32_t> 1 << log_size) - 1, i = <uint32_t> (group * SECRETS[0] >> 32)
    cdef int step
    for step in range(MAX_STEPS):
        i &= mask
        if block[i].documents == 0 or group_of(&block[i]) == group:
            return &block[i]
        i += 1
    return NULL


cdef inline int enlarge_block(Pool* pool, Node* node) except -1 nogil:
    """Move the slots to a larger block, in which MAX_STEPS probes find each."""
    cdef unsigned new_log = log_size(block_at(pool, node.block))
    cdef uint32_t place = 0
    while place == 0:
        new_log += 1
        place = new_block(pool, new_log)
        if not copy_sums(block_at(pool, node.block), block_at(pool, place)):
            free_block(pool, place)
            place = 0
    free_block(pool, node.block)
    node.block = place
    return 0


cdef inline bint copy_sums(const ClassSum* old, ClassSum* new) noexcept nogil:
    """Copy a block; return whether MAX_STEPS probes found a free slot for each class."""
    cdef size_t i
    cdef ClassSum* class_sum
    for i in range(<size_t> 1 << log_size(old)):
        if old[i].documents:
            class_sum = seek_sum(new, log_size(new), group_of(&old[i]))
            if class_sum == NULL:
                return False
            class_sum.documents = old[i].documents
            class_sum.occurrences += occurrences_of(&old[i])
    return True


cdef inline uint32_t new_block(Pool* pool, unsigned log_size) except 0 nogil:
    """Return the place, > 0, of a block of free slots."""
    cdef uint32_t place
    cdef size_t size
    if log_size >= 32:
        too_much("more than 2**24 classes")
    size = <size_t> 1 << log_size
    place = pool.unused[log_size]
    if place:
        pool.unused[log_size] = <uint32_t> block_at(pool, place).documents
    else:
        pool.count = max(pool.count, <size_t> 2)
        if pool.count // 2 + size > <uint32_t> -1:
            too_much("more than 2**33 pairs of feature and class")
        reserve(&pool.sums, pool.count + size, sizeof(ClassSum))
        place = <uint32_t> (pool.count // 2)
        pool.count += size
    memset(block_at(pool, place), 0, size * sizeof(ClassSum))
    block_at(pool, place).occurrences = <uint64_t> log_size << LOG_SHIFT
    return place


cdef inline void free_block(Pool* pool, uint32_t place) noexcept nogil:
    """Put a block on the list of free blocks of its size."""
    cdef ClassSum* block = block_at(pool, place)
    cdef unsigned log = log_size(block)
    block.documents = pool.unused[log]
    pool.unused[log] = place


cdef inline size_t flush_sums(Pool* pool, Tree* tree) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Flush the sums of nodes that have a block; return the number of sums of all classes and features."""
    cdef Node* nodes = <Node*> tree.nodes.data
    cdef const ClassSum* block
    cdef size_t i, k, count = 0
    for i in range(tree.count):
        if i + AHEAD < tree.count:
            nb_prefetch(block_at(pool, nodes[i + AHEAD].block))
        if nodes[i].block == 0:
            count += nodes[i].occurrences != 0
            continue
        switch_class(pool, &nodes[i], 0)
        block = block_at(pool, nodes[i].block)
        for k in range(<size_t> 1 << log_size(block)):
            count += documents_of(&block[k]) != 0
    return count


cdef inline size_t write_sums(
    const Pool* pool, const Node* node, int32_t* classes, int64_t* documents, int64_t* occurrences, Buffer* memory, Buffer* spare
) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Write the sums of a feature, sorted by class, after `flush_sums`; return the number of classes."""
    cdef const ClassSum* block = block_at(pool, node.block)
    cdef const ClassSum* class_sum
    cdef uint64_t* order
    cdef size_t i, count = 0
    if node.block == 0:
        classes[0] = <int32_t> node.group - 1
        documents[0] = node.documents
        occurrences[0] = node.occurrences
        return node.occurrences != 0
    reserve(memory, <size_t> 1 << log_size(block), sizeof(uint64_t))
    order = <uint64_t*> memory.data
    for i in range(<size_t> 1 << log_size(block)):
        if documents_of(&block[i]):
            order[count] = <uint64_t> group_of(&block[i]) << 32 | i
            count += 1
    sort_entries(order, count, spare)
    for i in range(count):
        class_sum = &block[<uint32_t> order[i]]
        classes[i] = <int32_t> group_of(class_sum) - 1
        documents[i] = documents_of(class_sum)
        occurrences[i] = occurrences_of(class_sum)
    return count


cdef inline size_t list_sums(
    const Pool* pool, const Tree* tree, const uint32_t* columns, size_t n_columns,
    int64_t* ends, int32_t* classes, int64_t* documents, int64_t* occurrences
) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Write the sums of each column, sorted by class; return their number.

    columns  the node of each column; columns with any other number have no sums
    """
    cdef const Node* nodes = <const Node*> tree.nodes.data
    cdef Buffer memory = Buffer(NULL, 0), spare = Buffer(NULL, 0)
    cdef size_t column, n = 0
    try:
        for column in range(n_columns):
            if column + AHEAD < n_columns and columns[column + AHEAD] < tree.count:
                nb_prefetch(&nodes[columns[column + AHEAD]])
            if columns[column] < tree.count:
                n += write_sums(
                    pool, &nodes[columns[column]], &classes[n], &documents[n], &occurrences[n], &memory, &spare
                )
            ends[column + 1] = n
    finally:
        release_all([&memory, &spare, NULL])
    return n
