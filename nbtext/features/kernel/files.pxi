# Reading many small files with few system calls and, meanwhile, without the GIL.

cdef extern from "<fcntl.h>" nogil:
    int open(const char* path, int flags)
    int O_RDONLY, O_CLOEXEC, O_NONBLOCK, O_NOCTTY

cdef extern from "<unistd.h>" nogil:
    ssize_t read(int descriptor, void* data, size_t count)
    int close(int descriptor)

cdef extern from "<sys/stat.h>" nogil:
    struct stat:
        long long st_size
        unsigned st_mode
    int fstat(int descriptor, stat* status)
    bint S_ISREG(unsigned mode)
    bint S_ISDIR(unsigned mode)

cdef struct File:
    const char* path
    size_t start  # of its content in the buffer
    size_t size
    int error  # of the system, 0 where there was none


cdef int check_file(int descriptor, size_t limit, size_t* size) noexcept nogil:
    cdef stat status
    if fstat(descriptor, &status) < 0:
        return errno.errno
    if not S_ISREG(status.st_mode):
        return errno.EISDIR if S_ISDIR(status.st_mode) else errno.EINVAL
    size[0] = <size_t> status.st_size
    return errno.EFBIG if <unsigned long long> status.st_size > limit else 0


cdef int read_descriptor(int descriptor, size_t limit, File* file, Buffer* content) noexcept nogil:
    """Append what a file holds; return the system's error."""
    cdef size_t expected = 0, room
    cdef ssize_t n_read
    cdef int error = check_file(descriptor, limit, &expected)
    if error:
        return error
    room = expected + 1  # when one byte more than expected is asked for, and not given, that was the end
    while True:
        if file.start + file.size + room > content.size and not enlarged(content, file.start + file.size + room):
            return errno.ENOMEM
        n_read = read(descriptor, <uint8_t*> content.data + file.start + file.size, room)
        if n_read < 0 and errno.errno == errno.EINTR:
            continue
        if n_read < 0:
            return errno.errno
        file.size += <size_t> n_read
        if file.size > limit:
            return errno.EFBIG
        if n_read == 0 or (file.size == expected and <size_t> n_read < room):
            return 0
        room = 65536  # it has grown, or lies about its size as /proc does


cdef int read_file(File* file, size_t limit, Buffer* content) noexcept nogil:
    """Append what the file at a path holds; return the system's error."""
    cdef int error, descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    while descriptor < 0 and errno.errno == errno.EINTR:
        descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    if descriptor < 0:
        return errno.errno
    error = read_descriptor(descriptor, limit, file, content)
    close(descriptor)
    return error


def read_files(paths, limit):
    """The content of each file, or the number of the system's error: EINVAL where it is no regular file, EFBIG above limit."""
    cdef Buffer content = Buffer(NULL, 0)
    cdef list held = list(paths)
    cdef bytes path
    cdef size_t i, n_files = len(held), n_read = 0, most = limit
    cdef Buffer memory = Buffer(NULL, 0)
    cdef File* files
    try:
        reserve_zeros(&memory, n_files, sizeof(File))
        files = <File*> memory.data
        for i in range(n_files):
            path = <bytes?> held[i]
            files[i].path, files[i].error = PyBytes_AS_STRING(path), errno.EINVAL if b"\0" in path else 0
        with nogil:
            for i in range(n_files):
                if files[i].error == 0:
                    files[i].start = n_read
                    files[i].error = read_file(&files[i], most, &content)
                    n_read += files[i].size if files[i].error == 0 else 0
        return [
            files[i].error if files[i].error else (<char*> content.data)[files[i].start:files[i].start + files[i].size]
            for i in range(n_files)
        ]
    finally:
        release(&memory)
        release(&content)
