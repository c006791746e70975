# What each class uses. Every feature keeps at hand the sums of the class that used it last, as documents often come
# class by class; those of other classes, which most features do not have, wait in a small hash table of its own.

cdef enum:
    GROUP_SHIFT = 40  # of `documents` the upper 24 bits are the class + 1, or 0 for none
    LOG_SHIFT = 58  # of `occurrences` in a Usage the upper 6 bits are the logarithm of the size of its block, 0 for none
    MOST_GROUPS = 0xFFFFFF
    MOST_STEPS = 8  # that a search in a block takes; a block where that is not enough grows

cdef struct Share:  # what one class uses of a feature
    uint64_t documents
    uint64_t occurrences

cdef struct Usage:  # of a feature
    uint64_t hash  # of its text
    uint64_t documents  # of the class at hand
    uint64_t occurrences
    uint32_t document  # the last one that held it
    uint32_t block  # of shares of other classes: its place in the pool, in pairs

cdef struct Usages:
    Buffer usages  # Usage, by feature
    size_t count
    Buffer pool  # Share
    size_t n_pool
    uint32_t[32] unused  # by the logarithm of their size: blocks that were outgrown, each with the next one's place
    uint32_t document  # the number of the document at hand


cdef inline uint32_t group_of(uint64_t documents) noexcept nogil:
    return <uint32_t> (documents >> GROUP_SHIFT)


cdef inline uint64_t number_of(uint64_t documents) noexcept nogil:
    return documents & ((<uint64_t> 1 << GROUP_SHIFT) - 1)


cdef inline uint64_t occurrences_of(const Usage* usage) noexcept nogil:
    return usage.occurrences & ((<uint64_t> 1 << LOG_SHIFT) - 1)


cdef inline unsigned log_size(const Usage* usage) noexcept nogil:
    return <unsigned> (usage.occurrences >> LOG_SHIFT)


cdef inline Share* block_of(const Usages* usages, const Usage* usage) noexcept nogil:
    return <Share*> usages.pool.data + 2 * <size_t> usage.block


cdef uint64_t add_features(Usages* usages, const uint32_t* features, size_t count, uint32_t group) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Add the features of a document, as often as they occur, to a class (+ 1); return the hash of the document."""
    cdef Usage* all_usages = <Usage*> usages.usages.data
    cdef Usage* usage
    cdef uint64_t total = 0
    cdef uint32_t document = next_document(usages)
    cdef size_t i
    for i in range(count):
        if i + 2 * AHEAD < count:
            nb_prefetch(&all_usages[features[i + 2 * AHEAD]])
            fetch_block(usages, &all_usages[features[i + AHEAD]], group)
        usage = &all_usages[features[i]]
        if group_of(usage.documents) != group:
            change_class(usages, usage, group)
        usage.documents += usage.document != document
        usage.document = document
        usage.occurrences += 1
        total += usage.hash
    return mix64(total)


cdef inline void fetch_block(const Usages* usages, const Usage* usage, uint32_t group) noexcept nogil:
    """Have the memory fetch where the sums of the class at hand will be put away."""
    if group_of(usage.documents) != group and log_size(usage):
        nb_prefetch(block_of(usages, usage) + first_place(log_size(usage), group_of(usage.documents)))


cdef uint32_t next_document(Usages* usages) noexcept nogil:
    """A number that no feature was marked with; after 2**32 documents the marks are wiped off."""
    cdef size_t i
    usages.document += 1
    if usages.document == 0:
        for i in range(usages.count):
            (<Usage*> usages.usages.data)[i].document = 0
        usages.document = 1
    return usages.document


cdef int change_class(Usages* usages, Usage* usage, uint32_t group) except -1 nogil:
    """Put the sums of the class at hand away, and take those of another one."""
    cdef Share* share
    if number_of(usage.documents):
        share = share_of(usages, usage, group_of(usage.documents))
        share.documents, share.occurrences = usage.documents, occurrences_of(usage)
    usage.documents = <uint64_t> group << GROUP_SHIFT
    usage.occurrences -= occurrences_of(usage)
    if log_size(usage):
        share = seek_share(block_of(usages, usage), log_size(usage), group)
        if share != NULL and share.documents:
            usage.documents = share.documents
            usage.occurrences += share.occurrences
            share.documents, share.occurrences = <uint64_t> group << GROUP_SHIFT, 0
    return 0


cdef Share* share_of(Usages* usages, Usage* usage, uint32_t group) except NULL nogil:
    """The share of a class, a free one where it has none."""
    cdef Share* share
    if log_size(usage) == 0:
        enlarge_block(usages, usage)
    while True:
        share = seek_share(block_of(usages, usage), log_size(usage), group)
        if share != NULL:
            return share
        enlarge_block(usages, usage)


cdef inline uint32_t first_place(unsigned log_size, uint32_t group) noexcept nogil:
    return <uint32_t> (group * SECRET_A >> 32) & ((<uint32_t> 1 << log_size) - 1)


cdef inline Share* seek_share(Share* block, unsigned log_size, uint32_t group) noexcept nogil:
    """The share of a class in a block, or a free one where it has none; NULL where none is near enough."""
    cdef uint32_t mask = (<uint32_t> 1 << log_size) - 1, i = first_place(log_size, group)
    cdef int step
    for step in range(MOST_STEPS):
        if block[i].documents == 0 or group_of(block[i].documents) == group:
            return &block[i]
        i = i + 1 & mask
    return NULL


cdef int enlarge_block(Usages* usages, Usage* usage) except -1 nogil:
    """Move the shares to a block that is large enough for each to be found soon."""
    cdef unsigned old_log = log_size(usage), new_log = old_log
    cdef uint32_t place = 0
    cdef bint is_enough = False
    while not is_enough:
        if place:
            free_block(usages, place, new_log)
        new_log += 1
        place = new_block(usages, new_log)
        is_enough = copy_shares(block_of(usages, usage), old_log, <Share*> usages.pool.data + 2 * <size_t> place, new_log)
    if old_log:
        free_block(usages, usage.block, old_log)
    usage.block = place
    usage.occurrences = <uint64_t> new_log << LOG_SHIFT | occurrences_of(usage)
    return 0


cdef bint copy_shares(const Share* old, unsigned old_log, Share* new, unsigned new_log) noexcept nogil:
    """Whether there was room for each share near its place."""
    cdef size_t i
    cdef Share* share
    for i in range((<size_t> 1 << old_log) if old_log else 0):
        if old[i].documents:
            share = seek_share(new, new_log, group_of(old[i].documents))
            if share == NULL:
                return False
            share[0] = old[i]
    return True


cdef uint32_t new_block(Usages* usages, unsigned log_size) except 0 nogil:
    """The place of a block of free shares; never 0."""
    cdef uint32_t place
    cdef Share* block
    if log_size >= 32:
        too_much("more than 2**24 classes")
    place = usages.unused[log_size]
    if place:
        block = <Share*> usages.pool.data + 2 * <size_t> place
        usages.unused[log_size] = <uint32_t> block.occurrences
        block.occurrences = 0
        return place
    usages.n_pool = max(usages.n_pool, <size_t> 2)
    if usages.n_pool // 2 + (<size_t> 1 << log_size) > <uint32_t> -1:
        too_much("more than 2**33 pairs of feature and class")
    reserve(&usages.pool, usages.n_pool + (<size_t> 1 << log_size), sizeof(Share))
    place = <uint32_t> (usages.n_pool >> 1)
    memset(<Share*> usages.pool.data + usages.n_pool, 0, sizeof(Share) << log_size)
    usages.n_pool += <size_t> 1 << log_size
    return place


cdef void free_block(Usages* usages, uint32_t place, unsigned log_size) noexcept nogil:
    """Leave a block to whoever needs one of its size."""
    cdef Share* block = <Share*> usages.pool.data + 2 * <size_t> place
    memset(block, 0, sizeof(Share) << log_size)
    block.occurrences = usages.unused[log_size]
    usages.unused[log_size] = place


cdef size_t count_shares(const Usages* usages) noexcept nogil:
    """How many pairs of feature and class there are."""
    cdef const Usage* all_usages = <const Usage*> usages.usages.data
    cdef const Share* pool = <const Share*> usages.pool.data
    cdef size_t i, count = 0
    for i in range(usages.count):
        count += number_of(all_usages[i].documents) != 0
    for i in range(2, usages.n_pool):
        count += number_of(pool[i].documents) != 0
    return count


cdef size_t write_shares(
    const Usages* usages, const Usage* usage, int32_t* classes, int64_t* documents, int64_t* occurrences
) noexcept nogil:
    """Write what each class uses of a feature, in no order; return how many classes."""
    cdef const Share* block = block_of(usages, usage)
    cdef size_t i, count = 0
    if number_of(usage.documents):
        classes[0] = <int32_t> group_of(usage.documents) - 1
        documents[0], occurrences[0] = number_of(usage.documents), occurrences_of(usage)
        count = 1
    for i in range((<size_t> 1 << log_size(usage)) if log_size(usage) else 0):
        if number_of(block[i].documents):
            classes[count] = <int32_t> group_of(block[i].documents) - 1
            documents[count], occurrences[count] = number_of(block[i].documents), block[i].occurrences
            count += 1
    return count


cdef int sort_shares(
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


cdef void drop_usages(Usages* usages) noexcept nogil:
    release(&usages.usages)
    release(&usages.pool)
