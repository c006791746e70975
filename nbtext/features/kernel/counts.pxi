# Counting within a document, and sorting what was counted.
# An entry is one number: the feature in the upper 32 bits, how often it occurs in the lower ones.

cdef inline uint32_t feature_of(uint64_t entry) noexcept nogil:
    return <uint32_t> (entry >> 32)


cdef inline uint32_t count_of(uint64_t entry) noexcept nogil:
    return <uint32_t> entry


@cython.final
cdef class Scratch:
    """The working memory of one thread: the text at hand, and the counts of the document at hand."""

    cdef:
        # the text
        Buffer letters  # its UTF-8 in lower case
        Buffer marks  # a bit for each byte that is of a word, or where each character begins
        Buffer ends  # of padded words, among the characters
        Token[STRIP + 32] strip  # the tokens at hand
        size_t n_strip
        uint32_t[2 * STRIP + 64] edges  # where words begin and end, in turns
        size_t n_edges
        size_t next_bits  # the next 64 bits of `marks` to look at
        uint64_t was_in_word  # whether the byte before them is of a word
        uint32_t[STRIP + 32] found  # the nodes of the tokens at hand
        # the document
        Buffer sequence  # uint32_t: its words; where features are hashed, where they begin in `joined`
        size_t n_sequence
        Buffer nodes  # uint32_t: the n-grams that begin at each word
        Buffer joined  # where features are hashed: its words, each with a space after it
        size_t n_joined
        Buffer named  # where features are hashed: a feature after the name of its field
        Buffer features  # uint32_t: as often as they occur
        size_t n_features
        Buffer places  # uint32_t, by feature: its position among the entries + 1, 0 where it did not occur
        size_t n_places
        Buffer entries  # uint64_t, of the document's features in the order of their first sight
        Buffer spare  # uint64_t, for sorting
        Buffer values  # double, the weights of the entries
        size_t n_entries
        uint64_t n_tokens  # features that are UNKNOWN included
        # what became of words that were seen before, where a function of Python decides that
        Words raw
        Words decided  # where features are hashed: the words that it gave back
        # rows that are done
        Buffer indices
        Buffer counts
        size_t n_done
        size_t n_too_long  # tokens that were left out

    def __dealloc__(self):
        release(&self.letters)
        release(&self.marks)
        release(&self.ends)
        release(&self.sequence)
        release(&self.nodes)
        release(&self.joined)
        release(&self.named)
        release(&self.features)
        release(&self.places)
        release(&self.entries)
        release(&self.spare)
        release(&self.values)
        release(&self.indices)
        release(&self.counts)
        empty_words(&self.raw)
        empty_words(&self.decided)


cdef int append_features(Scratch s, const uint32_t* features, size_t count) except -1 nogil:
    """Note occurrences of features in the document."""
    reserve(&s.features, s.n_features + count, sizeof(uint32_t))
    memcpy(<uint32_t*> s.features.data + s.n_features, features, count * sizeof(uint32_t))
    s.n_features += count
    if s.n_features > MOST_TOKENS:
        return too_much("a document of more than 2**31 tokens")
    return 0


cdef int count_features(Scratch s, size_t n_numbers) except -1 nogil:
    """Make the document's entries: its features, numbers below n_numbers, in the order of their first sight."""
    cdef const uint32_t* features = <const uint32_t*> s.features.data
    cdef uint32_t* places
    cdef uint64_t* entries
    cdef size_t i, n_entries = 0
    cdef uint32_t place
    cdef uint64_t is_new  # 1 or 0
    make_places(s, n_numbers)
    reserve(&s.entries, s.n_features + 1, sizeof(uint64_t))
    places, entries = <uint32_t*> s.places.data, <uint64_t*> s.entries.data
    for i in range(s.n_features):
        if i + AHEAD < s.n_features:
            nb_prefetch(&places[features[i + AHEAD]])
        # without a branch, as nobody can foretell which words are new
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


cdef int make_places(Scratch s, size_t n_numbers) except -1 nogil:
    if n_numbers > s.n_places:
        reserve(&s.places, n_numbers, sizeof(uint32_t))
        memset(<uint32_t*> s.places.data + s.n_places, 0, (n_numbers - s.n_places) * sizeof(uint32_t))
        s.n_places = n_numbers
    return 0


cdef int count_buckets(Scratch s) except -1 nogil:
    """Make the document's entries, sorted, where there may be too many features for `places`."""
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


cdef void insertion_sort(uint64_t* entries, size_t count) noexcept nogil:
    cdef size_t i, k
    cdef uint64_t entry
    for i in range(1, count):
        entry = entries[i]
        k = i
        while k > 0 and entries[k - 1] > entry:
            entries[k] = entries[k - 1]
            k -= 1
        entries[k] = entry


cdef int sort_entries(uint64_t* entries, size_t count, Buffer* spare) except -1 nogil:
    """Sort entries by feature; of one feature there may be several."""
    cdef uint64_t all_bits = 0
    cdef uint64_t* here
    cdef uint64_t* there
    cdef size_t i
    cdef unsigned end, width, shift = 32
    if count <= 24:
        insertion_sort(entries, count)
        return 0
    reserve(spare, count, sizeof(uint64_t))
    here, there = entries, <uint64_t*> spare.data
    for i in range(count):
        all_bits |= entries[i]
    end = nb_highest_bit(all_bits | 1) + 1
    width = 6 if count < 256 else 8 if count < 4096 else 11
    while shift < end:
        sort_by_digit(here, there, count, shift, (<uint64_t> 1 << width) - 1)
        here, there = there, here
        shift += width
    if here != entries:
        memcpy(entries, here, count * sizeof(uint64_t))
    return 0


cdef void sort_by_digit(
    const uint64_t* entries, uint64_t* sorted_entries, size_t count, unsigned shift, uint64_t digits
) noexcept nogil:
    """A stable counting sort by some bits of the entries."""
    cdef uint32_t[2048] starts
    cdef uint32_t n, position = 0
    cdef size_t i, digit
    memset(starts, 0, (digits + 1) * sizeof(uint32_t))
    for i in range(count):
        starts[entries[i] >> shift & digits] += 1
    for digit in range(digits + 1):
        n = starts[digit]
        starts[digit] = position
        position += n
    for i in range(count):
        digit = entries[i] >> shift & digits
        sorted_entries[starts[digit]] = entries[i]
        starts[digit] += 1


cdef size_t merge_equal(uint64_t* entries, size_t count) noexcept nogil:
    """Add up the entries of one feature, which are sorted; return how many are left."""
    cdef size_t i, n_left = 0
    for i in range(count):
        if n_left and feature_of(entries[n_left - 1]) == feature_of(entries[i]):
            entries[n_left - 1] += count_of(entries[i])
        else:
            entries[n_left] = entries[i]
            n_left += 1
    return n_left


cdef int append_row(Scratch s) except -1 nogil:
    """Put the document's entries after those of the rows that are done."""
    cdef uint64_t* entries = <uint64_t*> s.entries.data
    cdef int32_t *indices
    cdef int32_t *counts
    cdef size_t i
    reserve(&s.indices, s.n_done + s.n_entries, sizeof(int32_t))
    reserve(&s.counts, s.n_done + s.n_entries, sizeof(int32_t))
    indices, counts = <int32_t*> s.indices.data + s.n_done, <int32_t*> s.counts.data + s.n_done
    for i in range(s.n_entries):
        indices[i] = <int32_t> feature_of(entries[i])
        counts[i] = <int32_t> count_of(entries[i])
    s.n_done += s.n_entries
    return 0
