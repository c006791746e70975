# Compiler built-ins beyond plain C, and growable buffers.

cdef extern from *:
    """
    #if !defined(__GNUC__)
    #error "the kernel needs GCC or Clang; without it nbtext counts in plain Python"
    #endif
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #ifdef _WIN32
    #include <malloc.h>
    #else
    #include <sys/mman.h>
    #endif

    /* The xor of both halves of the product: the mixing step of Wang Yi's wyhash. */
    static inline uint64_t nb_fold(uint64_t a, uint64_t b) {
    #ifdef __SIZEOF_INT128__
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    #else
        uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
        uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
        return ((other << 32) | (uint32_t)low) ^ (a1 * b1 + (middle >> 32) + (other >> 32));
    #endif
    }

    /* Eight bytes as a number, little-endian on every machine. */
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

    /* Vectors of 16 bytes, which GCC and Clang compile for the instruction set at hand. */
    typedef uint8_t nb_vector __attribute__((vector_size(16)));

    /* The highest bit of each byte. */
    static inline unsigned nb_bits(nb_vector flags) {
    #ifdef __SSE2__
        return (unsigned)__builtin_ia32_pmovmskb128((__attribute__((vector_size(16))) char)flags);
    #else
        const uint64_t each = 0x8080808080808080u, gather = 0x0002040810204081u;
        uint8_t bytes[16];
        memcpy(bytes, &flags, 16);
        return (unsigned)((nb_load(bytes) & each) * gather >> 56 | ((nb_load(bytes + 8) & each) * gather >> 56) << 8);
    #endif
    }

    static inline uint64_t nb_swap_bytes(uint64_t value) { return __builtin_bswap64(value); }
    static inline unsigned nb_lowest_bit(uint64_t value) { return (unsigned)__builtin_ctzll(value); }
    static inline unsigned nb_highest_bit(uint64_t value) { return 63u - (unsigned)__builtin_clzll(value); }
    static inline void nb_prefetch(const void *address) { __builtin_prefetch(address); }

    /* Growable memory. Small blocks are aligned to cache lines. Large ones are zero. Where the system has mmap, they are
       mapped: they use huge pages, since tables are read at random, grow without a copy where the system supports that,
       and are returned to the system when they are freed. */
    #define NB_LARGE ((size_t)1 << 18)

    #ifdef _WIN32
    static inline void nb_free(void *data, size_t size) { _aligned_free(data); }

    static inline void *nb_grow(void *data, size_t old_size, size_t size) {
        char *grown = _aligned_realloc(data, size, 64);
        if (grown != NULL && size >= NB_LARGE)
            memset(grown + old_size, 0, size - old_size);
        return grown;
    }
    #else
    static inline void nb_free(void *data, size_t size) {
        if (size >= NB_LARGE)
            munmap(data, size);
        else
            free(data);
    }

    static inline void *nb_map(size_t size) {
        void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return data == MAP_FAILED ? NULL : data;
    }

    static inline void *nb_grow(void *data, size_t old_size, size_t size) {
        void *grown = NULL;
    #ifdef MREMAP_MAYMOVE
        if (old_size >= NB_LARGE) {
            grown = mremap(data, old_size, size, MREMAP_MAYMOVE);
            if (grown == MAP_FAILED)
                return NULL;
            madvise(grown, size, MADV_HUGEPAGE);
            return grown;
        }
    #endif
        if (size >= NB_LARGE)
            grown = nb_map(size);
        else if (posix_memalign(&grown, 64, size))
            return NULL;
        if (grown == NULL)
            return NULL;
    #ifdef MADV_HUGEPAGE
        if (size >= NB_LARGE)
            madvise(grown, size, MADV_HUGEPAGE);
    #endif
        if (old_size)
            memcpy(grown, data, old_size);
        nb_free(data, old_size);
        return grown;
    }
    #endif
    """
    uint64_t nb_fold(uint64_t a, uint64_t b) noexcept nogil
    uint64_t nb_load(const uint8_t* bytes) noexcept nogil
    void nb_store(uint8_t* bytes, uint64_t value) noexcept nogil
    uint64_t nb_swap_bytes(uint64_t value) noexcept nogil
    unsigned nb_lowest_bit(uint64_t value) noexcept nogil
    unsigned nb_highest_bit(uint64_t value) noexcept nogil
    void nb_prefetch(const void* address) noexcept nogil
    const size_t NB_LARGE  # bytes
    void* nb_grow(void* data, size_t old_size, size_t size) noexcept nogil
    void nb_free(void* data, size_t size) noexcept nogil


cdef enum:
    AHEAD = 16  # iterations by which loops prefetch memory
    MAX_TOKENS = 0x7FFFFFFF  # of a document: counts are int32


cdef inline int out_of_memory() except -1 with gil:
    raise MemoryError


cdef inline int too_much(const char* what) except -1 with gil:
    raise OverflowError(what.decode("ascii"))


cdef struct Buffer:
    void* data
    size_t size  # bytes


cdef inline bint enlarge(Buffer* buffer, size_t size) noexcept nogil:
    """Grow a buffer to at least `size` bytes; return whether there was memory."""
    cdef size_t wanted = max(max(size, <size_t> 256), 2 * buffer.size)  # pages that are never written use no memory
    cdef void* data = nb_grow(buffer.data, buffer.size, wanted)
    if data == NULL:
        return False
    buffer.data = data
    buffer.size = wanted
    return True


cdef inline bint has_room(Buffer* buffer, size_t size) noexcept nogil:
    """Grow a buffer to `size` bytes if it is smaller; return whether there was memory."""
    return buffer.size >= size or enlarge(buffer, size)


cdef inline int reserve(Buffer* buffer, size_t count, size_t item_size) except -1 nogil:
    """Grow a buffer to `count` items, keeping its contents. Its data is not NULL afterwards, even for 0 items."""
    if count <= buffer.size // item_size and buffer.data != NULL:
        return 0
    if count > <size_t> -1 // item_size or not enlarge(buffer, count * item_size):
        return out_of_memory()
    return 0


cdef inline int reserve_zeros(Buffer* buffer, size_t count, size_t item_size) except -1 nogil:
    """Grow a buffer to `count` items, keeping its contents; new items are 0."""
    cdef size_t size = buffer.size
    reserve(buffer, count, item_size)
    if buffer.size > size and (size or buffer.size < NB_LARGE):  # otherwise the system returns zeros
        memset(<uint8_t*> buffer.data + size, 0, buffer.size - size)
    return 0


cdef inline void release(Buffer* buffer) noexcept nogil:
    nb_free(buffer.data, buffer.size)
    buffer.data = NULL
    buffer.size = 0


cdef inline void release_all(Buffer** buffers) noexcept nogil:
    """Release buffers up to a NULL."""
    while buffers[0] != NULL:
        release(buffers[0])
        buffers += 1


cdef inline bint is_indptr(const int64_t[::1] indptr, int64_t n_entries):
    """Return whether these are the row bounds of a CSR matrix with `n_entries` entries."""
    cdef Py_ssize_t row
    if indptr.shape[0] == 0 or indptr[0] != 0 or indptr[indptr.shape[0] - 1] != n_entries:
        return False
    for row in range(indptr.shape[0] - 1):
        if indptr[row] > indptr[row + 1]:
            return False
    return True
