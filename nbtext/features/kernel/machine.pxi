# What the machine offers beyond plain C, and memory that is asked for politely.

cdef extern from *:
    """
    #if !defined(__GNUC__)
    #error "the kernel is written for GCC and Clang; without it nbtext uses its plain Python twin"
    #endif
    #include <stdint.h>
    #include <string.h>
    #include <sys/mman.h>

    /* Both halves of the product, folded together: the mixing step of Wang Yi's wyhash. */
    static inline uint64_t nb_folded(uint64_t a, uint64_t b) {
    #ifdef __SIZEOF_INT128__
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    #else
        uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
        uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
        return ((other << 32) | (uint32_t)low) ^ (a1 * b1 + (middle >> 32) + (other >> 32));
    #endif
    }

    /* Eight bytes as a number, the first one lowest, on every machine. */
    static inline uint64_t nb_load(const uint8_t *bytes) {
        uint64_t value;
        memcpy(&value, bytes, 8);
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        value = __builtin_bswap64(value);
    #endif
        return value;
    }

    static inline void nb_store(uint8_t *bytes, uint64_t value) {
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        value = __builtin_bswap64(value);
    #endif
        memcpy(bytes, &value, 8);
    }

    static inline uint64_t nb_swapped(uint64_t value) { return __builtin_bswap64(value); }
    static inline unsigned nb_lowest_bit(uint64_t value) { return (unsigned)__builtin_ctzll(value); }
    static inline unsigned nb_highest_bit(uint64_t value) { return 63u - (unsigned)__builtin_clzll(value); }
    static inline void nb_prefetch(const void *address) { __builtin_prefetch(address); }

    /* Ask for large pages, as tables are read here and there: it halves the time of word pairs. */
    static inline void nb_ask_for_large_pages(void *data, size_t size) {
    #ifdef MADV_HUGEPAGE
        const size_t large = (size_t)1 << 21;
        size_t start = ((size_t)data + large - 1) & ~(large - 1), end = ((size_t)data + size) & ~(large - 1);
        if (end > start)
            madvise((void *)start, end - start, MADV_HUGEPAGE);
    #else
        (void)data, (void)size;
    #endif
    }
    """
    uint64_t nb_folded(uint64_t a, uint64_t b) noexcept nogil
    uint64_t nb_load(const uint8_t* bytes) noexcept nogil
    void nb_store(uint8_t* bytes, uint64_t value) noexcept nogil
    uint64_t nb_swapped(uint64_t value) noexcept nogil
    unsigned nb_lowest_bit(uint64_t value) noexcept nogil
    unsigned nb_highest_bit(uint64_t value) noexcept nogil
    void nb_prefetch(const void* address) noexcept nogil
    void nb_ask_for_large_pages(void* data, size_t size) noexcept nogil


cdef enum:
    AHEAD = 16  # steps that a loop is ahead of itself in asking for memory
    MOST_TOKENS = 0x7FFFFFFF  # of a document, so that its counts have 32 bits with a sign


cdef int out_of_memory() except -1 with gil:
    raise MemoryError


cdef int too_much(const char* what) except -1 with gil:
    raise OverflowError(what.decode("ascii"))


cdef struct Buffer:
    void* data
    size_t size  # bytes


cdef bint enlarged(Buffer* buffer, size_t size) noexcept nogil:
    """Whether the buffer now holds at least so many bytes."""
    cdef size_t wanted = max(max(size, <size_t> 256), buffer.size + buffer.size // 2)
    cdef void* data = realloc(buffer.data, wanted)
    if data == NULL:
        return False
    nb_ask_for_large_pages(data, wanted)
    buffer.data = data
    buffer.size = wanted
    return True


cdef inline int reserve(Buffer* buffer, size_t count, size_t item_size) except -1 nogil:
    """Make room for so many items; what is there stays. Even for none there is an address then."""
    if count <= buffer.size // item_size and buffer.data != NULL:
        return 0
    if count > <size_t> -1 // item_size or not enlarged(buffer, count * item_size):
        return out_of_memory()
    return 0


cdef int reserve_zeros(Buffer* buffer, size_t count, size_t item_size) except -1 nogil:
    """Make room for so many items, new ones zero."""
    cdef size_t size = buffer.size
    reserve(buffer, count, item_size)
    if buffer.size > size:
        memset(<uint8_t*> buffer.data + size, 0, buffer.size - size)
    return 0


cdef void release(Buffer* buffer) noexcept nogil:
    free(buffer.data)
    buffer.data = NULL
    buffer.size = 0


cdef void* zeros(size_t count, size_t item_size) except NULL nogil:
    cdef void* data = calloc(count, item_size)
    if data == NULL:
        out_of_memory()
    nb_ask_for_large_pages(data, count * item_size)
    return data
