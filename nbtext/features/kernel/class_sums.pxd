# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# What each class uses. Every node keeps at hand the sums of the class that used it last, as documents come class by
# class. Where it has to make way for another class, they are added up in a small hash table, a block of the pool.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from nbtext.features.kernel.entries cimport sort_entries
from nbtext.features.kernel.hashes cimport SECRETS, mix64
from nbtext.features.kernel.memory cimport AHEAD, Buffer, nb_prefetch, release, reserve, too_much
from nbtext.features.kernel.ngrams cimport Node, Tree


cdef enum:
    GROUP_SHIFT = 40  # of a share's documents the upper 24 bits are its class + 1, or 0 where the share is free
    LOG_SHIFT = 58  # of the occurrences of a block's first share the upper 6 bits are the logarithm of its size
    MOST_GROUPS = 0xFFFFFF
    MOST_AT_HAND = 0xFFFF  # occurrences; then they are put away
    MOST_STEPS = 8  # that a search in a block takes; a block where that is not enough grows

cdef struct Share:  # what one class uses of a feature
    uint64_t documents
    uint64_t occurrences

cdef struct Pool:
    Buffer shares  # Share, in blocks
    size_t count
    uint32_t[32] unused  # by the logarithm of their size: blocks that were outgrown, each with the next one's place
    uint32_t document  # the number of the document at hand


cdef inline uint32_t group_of(const Share* share) noexcept nogil:
    return <uint32_t> (share.documents >> GROUP_SHIFT)


cdef inline uint64_t documents_of(const Share* share) noexcept nogil:
    return share.documents & ((<uint64_t> 1 << GROUP_SHIFT) - 1)


cdef inline uint64_t occurrences_of(const Share* share) noexcept nogil:
    return share.occurrences & ((<uint64_t> 1 << LOG_SHIFT) - 1)


cdef inline unsigned log_size(const Share* block) noexcept nogil:
    return <unsigned> (block.occurrences >> LOG_SHIFT)


cdef inline Share* block_at(const Pool* pool, uint32_t place) noexcept nogil:
    """The block at a place, which are counted in pairs of shares."""
    return <Share*> pool.shares.data + 2 * <size_t> place


cdef inline uint64_t add_features(
    Pool* pool, Tree* tree, const uint32_t* features, size_t count, uint32_t group
) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Add the features of a document, as often as they occur, to a class (+ 1); return the hash of the document."""
    cdef Node* nodes = <Node*> tree.nodes.data
    cdef Node* node
    cdef uint64_t total = 0
    cdef uint32_t document = next_document(pool, tree)
    cdef size_t i
    for i in range(count):
        if i + 2 * AHEAD < count:
            nb_prefetch(&nodes[features[i + 2 * AHEAD]])
            fetch_block(pool, &nodes[features[i + AHEAD]], group)
        node = &nodes[features[i]]
        if node.group != group or node.occurrences == MOST_AT_HAND:
            change_class(pool, node, group)
        node.documents += node.document != document
        node.document = document
        node.occurrences += 1
        total += node.hash
    return mix64(total)


cdef inline void fetch_block(const Pool* pool, const Node* node, uint32_t group) noexcept nogil:
    """Have the memory fetch where the sums of the class at hand will be put away."""
    if node.group != group and node.block:
        nb_prefetch(block_at(pool, node.block))


cdef inline uint32_t next_document(Pool* pool, Tree* tree) noexcept nogil:
    """A number that no feature was marked with; after 2**32 documents the marks are wiped off."""
    cdef size_t i
    pool.document += 1
    if pool.document == 0:
        for i in range(tree.count):
            (<Node*> tree.nodes.data)[i].document = 0
        pool.document = 1
    return pool.document


cdef inline int change_class(Pool* pool, Node* node, uint32_t group) except -1 nogil:
    """Put the sums of the class at hand away, and begin those of another one."""
    cdef Share* share
    if node.occurrences:
        share = share_of(pool, node, node.group)
        share.documents += node.documents
        share.occurrences += node.occurrences
    node.group, node.documents, node.occurrences = group, 0, 0
    return 0


cdef inline Share* share_of(Pool* pool, Node* node, uint32_t group) except NULL nogil:
    """The share of a class, a new one where it had none."""
    cdef Share* share
    cdef Share* block
    if node.block == 0:
        node.block = new_block(pool, 1)
    while True:
        block = block_at(pool, node.block)
        share = seek_share(block, log_size(block), group)
        if share != NULL:
            share.documents = <uint64_t> group << GROUP_SHIFT | documents_of(share)
            return share
        enlarge_block(pool, node)


cdef inline Share* seek_share(Share* block, unsigned log_size, uint32_t group) noexcept nogil:
    """The share of a class in a block, or a free one where it has none; NULL where none is near enough."""
    cdef uint32_t mask = (<uint32_t> 1 << log_size) - 1, i = <uint32_t> (group * SECRETS[0] >> 32)
    cdef int step
    for step in range(MOST_STEPS):
        i &= mask
        if block[i].documents == 0 or group_of(&block[i]) == group:
            return &block[i]
        i += 1
    return NULL


cdef inline int enlarge_block(Pool* pool, Node* node) except -1 nogil:
    """Move the shares to a block that is large enough for each to be found soon."""
    cdef unsigned new_log = log_size(block_at(pool, node.block))
    cdef uint32_t place = 0
    while place == 0:
        new_log += 1
        place = new_block(pool, new_log)
        if not copy_shares(block_at(pool, node.block), block_at(pool, place)):
            free_block(pool, place)
            place = 0
    free_block(pool, node.block)
    node.block = place
    return 0


cdef inline bint copy_shares(const Share* old, Share* new) noexcept nogil:
    """Whether there was room for each share near its place."""
    cdef size_t i
    cdef Share* share
    for i in range(<size_t> 1 << log_size(old)):
        if old[i].documents:
            share = seek_share(new, log_size(new), group_of(&old[i]))
            if share == NULL:
                return False
            share.documents = old[i].documents
            share.occurrences += occurrences_of(&old[i])
    return True


cdef inline uint32_t new_block(Pool* pool, unsigned log_size) except 0 nogil:
    """The place of a block of free shares; never 0."""
    cdef uint32_t place
    cdef size_t size
    if log_size >= 32:
        too_much("more than 2**24 classes")
    size, place = <size_t> 1 << log_size, pool.unused[log_size]
    if place:
        pool.unused[log_size] = <uint32_t> block_at(pool, place).documents
    else:
        pool.count = max(pool.count, <size_t> 2)
        if pool.count // 2 + size > <uint32_t> -1:
            too_much("more than 2**33 pairs of feature and class")
        reserve(&pool.shares, pool.count + size, sizeof(Share))
        place = <uint32_t> (pool.count // 2)
        pool.count += size
    memset(block_at(pool, place), 0, size * sizeof(Share))
    block_at(pool, place).occurrences = <uint64_t> log_size << LOG_SHIFT
    return place


cdef inline void free_block(Pool* pool, uint32_t place) noexcept nogil:
    """Leave a block to whoever needs one of its size."""
    cdef Share* block = block_at(pool, place)
    cdef unsigned log = log_size(block)
    block.documents = pool.unused[log]
    pool.unused[log] = place


cdef inline size_t put_all_away(Pool* pool, Tree* tree) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Put the sums at hand to those of their class, where a feature has a block; return how many sums there are then."""
    cdef Node* nodes = <Node*> tree.nodes.data
    cdef const Share* block
    cdef size_t i, k, count = 0
    for i in range(tree.count):
        if i + AHEAD < tree.count:
            nb_prefetch(block_at(pool, nodes[i + AHEAD].block))
        if nodes[i].block == 0:
            count += nodes[i].occurrences != 0
            continue
        change_class(pool, &nodes[i], 0)
        block = block_at(pool, nodes[i].block)
        for k in range(<size_t> 1 << log_size(block)):
            count += documents_of(&block[k]) != 0
    return count


cdef inline size_t write_shares(
    const Pool* pool, const Node* node, int32_t* classes, int64_t* documents, int64_t* occurrences
) noexcept nogil:
    """Write what each class uses of a feature, after `put_all_away`, in no order; return how many classes."""
    cdef const Share* block = block_at(pool, node.block)
    cdef size_t i, count = 0
    if node.block == 0:
        classes[0], documents[0], occurrences[0] = <int32_t> node.group - 1, node.documents, node.occurrences
        return node.occurrences != 0
    for i in range(<size_t> 1 << log_size(block)):
        if documents_of(&block[i]):
            classes[count] = <int32_t> group_of(&block[i]) - 1
            documents[count], occurrences[count] = documents_of(&block[i]), occurrences_of(&block[i])
            count += 1
    return count


cdef inline int sort_shares(
    int32_t* classes, int64_t* documents, int64_t* occurrences, size_t count, Buffer* entries, Buffer* spare
) except -1 nogil:
    """Sort what was written of a feature by class."""
    cdef uint64_t* order
    cdef int64_t* copies
    cdef size_t i
    reserve(entries, 3 * count, sizeof(uint64_t))
    order, copies = <uint64_t*> entries.data, <int64_t*> entries.data + count
    for i in range(count):
        order[i] = <uint64_t> classes[i] << 32 | i
    sort_entries(order, count, spare)
    memcpy(copies, documents, count * sizeof(int64_t))
    memcpy(copies + count, occurrences, count * sizeof(int64_t))
    for i in range(count):
        classes[i] = <int32_t> (order[i] >> 32)
        documents[i], occurrences[i] = copies[<uint32_t> order[i]], copies[count + <uint32_t> order[i]]
    return 0


cdef inline size_t list_shares(
    const Pool* pool, const Tree* tree, const uint32_t* columns, size_t n_columns,
    int64_t* ends, int32_t* classes, int64_t* documents, int64_t* occurrences
) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Write the sums of every class for the node of each column; return how many.

    columns  the nodes; no column has a sum whose number is beyond the tree
    """
    cdef const Node* nodes = <const Node*> tree.nodes.data
    cdef Buffer entries = Buffer(NULL, 0)
    cdef Buffer spare = Buffer(NULL, 0)
    cdef size_t column, n_shares, n = 0
    try:
        for column in range(n_columns):
            if column + AHEAD < n_columns and columns[column + AHEAD] < tree.count:
                nb_prefetch(&nodes[columns[column + AHEAD]])
            if columns[column] < tree.count:
                n_shares = write_shares(pool, &nodes[columns[column]], &classes[n], &documents[n], &occurrences[n])
                if n_shares > 1:
                    sort_shares(&classes[n], &documents[n], &occurrences[n], n_shares, &entries, &spare)
                n += n_shares
            ends[column + 1] = n
    finally:
        release(&entries)
        release(&spare)
    return n
