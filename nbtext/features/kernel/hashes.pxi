# Hashes: keyed ones of words, for the tables; standard ones of features, for documents and buckets.

cdef uint64_t[3] SECRETS  # random keys, so that nobody can construct colliding words
cdef uint64_t FNV_START = 0xCBF29CE484222325


cdef inline uint64_t hash_pair(uint64_t a, uint64_t b) noexcept nogil:
    return nb_fold(a ^ SECRETS[0], b ^ SECRETS[1])


cdef inline uint64_t long_hash(const uint8_t* word, size_t length) noexcept nogil:
    """Return the hash of a word of at least 8 bytes: 16 bytes at a time, the last two blocks may overlap."""
    cdef uint64_t value = SECRETS[2] ^ length
    cdef size_t position = 0
    while position + 16 < length:
        value = nb_fold(nb_load(word + position) ^ value, nb_load(word + position + 8) ^ SECRETS[0])
        position += 16
    position = length - 16 if length > 16 else 0
    return nb_fold(nb_load(word + position) ^ value, nb_load(word + length - 8) ^ SECRETS[1])


cdef inline uint64_t fnv1a(uint64_t state, const uint8_t* data, size_t length) noexcept nogil:
    """Continue the 64-bit FNV-1a hash `state` with more bytes."""
    cdef size_t i
    for i in range(length):
        state = (state ^ data[i]) * <uint64_t> 0x100000001B3
    return state


cdef inline uint64_t mix64(uint64_t value) noexcept nogil:
    """Return fmix64 of MurmurHash3 (Appleby 2011): each input bit affects all output bits."""
    value = (value ^ (value >> 33)) * <uint64_t> 0xFF51AFD7ED558CCD
    value = (value ^ (value >> 33)) * <uint64_t> 0xC4CEB9FE1A85EC53
    return value ^ (value >> 33)


cdef inline uint64_t unmix64(uint64_t value) noexcept nogil:
    """Return the inverse of `mix64`: its steps in reverse order, with the inverse factors."""
    value = (value ^ (value >> 33)) * <uint64_t> 0x9CB4B2F8129337DB
    value = (value ^ (value >> 33)) * <uint64_t> 0x4F74430C22A54005
    return value ^ (value >> 33)


cdef inline uint32_t scramble(uint32_t block) noexcept nogil:
    block *= <uint32_t> 0xCC9E2D51
    return (block << 15 | block >> 17) * <uint32_t> 0x1B873593


cdef inline uint32_t murmur3(const uint8_t* data, size_t length) noexcept nogil:
    """MurmurHash3_x86_32 with seed 0 (Appleby 2011)."""
    cdef uint32_t value = 0, block
    cdef size_t i, last = length & ~<size_t> 3
    for i in range(0, last, 4):
        block = data[i] | <uint32_t> data[i + 1] << 8 | <uint32_t> data[i + 2] << 16 | <uint32_t> data[i + 3] << 24
        value ^= scramble(block)
        value = (value << 13 | value >> 19) * 5 + <uint32_t> 0xE6546B64
    block = 0
    for i in range(last, length):
        block |= <uint32_t> data[i] << (8 * (i - last))
    value ^= scramble(block) ^ <uint32_t> length
    value = (value ^ value >> 16) * <uint32_t> 0x85EBCA6B
    value = (value ^ value >> 13) * <uint32_t> 0xC2B2AE35
    return value ^ value >> 16


cdef inline uint32_t bucket_of(const uint8_t* feature, size_t length, uint32_t n_buckets) noexcept nogil:
    """Return the column of a hashed feature, as scikit-learn's FeatureHasher with alternate_sign=False."""
    cdef int32_t signed_hash = <int32_t> murmur3(feature, length)
    # abs(-2**31) is not an int32, but every number of buckets divides it
    return (<uint32_t> signed_hash if signed_hash >= 0 else 0 - <uint32_t> signed_hash) & (n_buckets - 1)
