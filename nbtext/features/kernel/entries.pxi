# Entries of a document. An entry is one number: the feature in the upper 32 bits, its count in the lower ones.

cdef enum:
    MAX_INSERTED = 24  # entries that are sorted by insertion


cdef inline uint32_t feature_of(uint64_t entry) noexcept nogil:
    return <uint32_t> (entry >> 32)


cdef inline uint32_t count_of(uint64_t entry) noexcept nogil:
    return <uint32_t> entry


cdef inline void insertion_sort(uint64_t* entries, size_t count) noexcept nogil:
    cdef size_t i, k
    cdef uint64_t entry
    for i in range(1, count):
        entry = entries[i]
        k = i
        while k > 0 and entries[k - 1] > entry:
            entries[k] = entries[k - 1]
            k -= 1
        entries[k] = entry


cdef inline int sort_entries(uint64_t* entries, size_t count, Buffer* spare) except -1 nogil:
    """Sort entries by feature, which may repeat; more than MAX_INSERTED in a stable way."""
    cdef uint64_t all_bits = 0
    cdef uint64_t* here
    cdef uint64_t* there
    cdef uint32_t[2048] starts
    cdef uint32_t n, position
    cdef size_t i, digit, digits
    cdef unsigned end, width, shift = 32
    if count <= MAX_INSERTED:
        insertion_sort(entries, count)
        return 0
    reserve(spare, count, sizeof(uint64_t))
    here = entries
    there = <uint64_t*> spare.data
    for i in range(count):
        all_bits |= entries[i]
    end = nb_highest_bit(all_bits | 1) + 1
    width = 6 if count < 256 else 8 if count < 4096 else 11
    digits = (<uint64_t> 1 << width) - 1
    while shift < end:  # a stable counting sort by some bits of the entries
        memset(starts, 0, (digits + 1) * sizeof(uint32_t))
        position = 0
        for i in range(count):
            starts[here[i] >> shift & digits] += 1
        for digit in range(digits + 1):
            n = starts[digit]
            starts[digit] = position
            position += n
        for i in range(count):
            digit = here[i] >> shift & digits
            there[starts[digit]] = here[i]
            starts[digit] += 1
        here, there = there, here
        shift += width
    if here != entries:
        memcpy(entries, here, count * sizeof(uint64_t))
    return 0


cdef inline size_t merge_equal(uint64_t* entries, size_t count) noexcept nogil:
    """Add up sorted entries of the same feature; return the number of entries left."""
    cdef size_t i, n_left = 0
    for i in range(count):
        if n_left and feature_of(entries[n_left - 1]) == feature_of(entries[i]):
            entries[n_left - 1] += count_of(entries[i])
        else:
            entries[n_left] = entries[i]
            n_left += 1
    return n_left
