# Read many small files with few system calls and without the GIL: `files.read_files`, compiled.

cdef extern from * nogil:
    """
    #include <fcntl.h>
    #ifdef _WIN32  /* it has no terminals and pipes among its files, and has text files */
    #define NB_READ (_O_RDONLY | _O_BINARY | _O_NOINHERIT)
    #else
    #define NB_READ (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    #endif
    """
    int open(const char* path, int flags)
    const int READ "NB_READ"

cdef extern from "<unistd.h>" nogil:
    ssize_t read(int descriptor, void* data, size_t count)
    int close(int descriptor)

cdef extern from "<sys/stat.h>" nogil:
    struct stat:
        long long st_size
        unsigned st_mode
    int fstat(int descriptor, stat* status)
    bint S_ISREG(unsigned mode)

cdef size_t MORE = 65536  # bytes of a further read, if a file has grown or its size is wrong, as in /proc

cdef struct Content:
    Buffer buffer
    size_t size  # used bytes

cdef struct File:
    const char* name
    int error
    size_t end  # of its content


cdef int read_descriptor(int descriptor, size_t limit, Content* content) noexcept nogil:
    """Append the content of an open file; return the error number, or 0."""
    cdef stat status
    cdef size_t start = content.size, expected, capacity
    cdef ssize_t n_read
    if fstat(descriptor, &status) < 0:
        return errno.errno
    if not S_ISREG(status.st_mode):
        return errno.EINVAL
    if <unsigned long long> status.st_size > limit:
        return errno.EFBIG
    expected = <size_t> status.st_size
    capacity = expected + 1  # a read that returns fewer bytes than requested has reached the end
    while True:
        if not has_room(&content.buffer, content.size + capacity):
            return errno.ENOMEM
        n_read = read(descriptor, <char*> content.buffer.data + content.size, capacity)
        if n_read < 0:
            if errno.errno == errno.EINTR:
                continue
            return errno.errno
        content.size += <size_t> n_read
        if content.size - start > limit:
            return errno.EFBIG
        if n_read == 0 or (content.size - start == expected and <size_t> n_read < capacity):
            return 0
        capacity = MORE


cdef int read_file(const char* path, size_t limit, Content* content) noexcept nogil:
    """Append the content of the file at a path; return 0, or the error number without appending anything."""
    cdef size_t start = content.size
    cdef int error, descriptor = open(path, READ)
    if descriptor < 0:
        return read_file(path, limit, content) if errno.errno == errno.EINTR else errno.errno
    error = read_descriptor(descriptor, limit, content)
    close(descriptor)
    if error:
        content.size = start
    return error


def read_files(list paths not None, size_t limit):
    """Return the content of each file, or its error number; see `files.read_files`."""
    cdef Py_ssize_t i, first, last = 0, n_files = len(paths)
    cdef size_t start
    cdef Content content = Content(Buffer(NULL, 0), 0)
    cdef Buffer files = Buffer(NULL, 0)  # File
    cdef File* file
    cdef bytes path
    cdef list names = list(paths), contents = []  # no other thread changes it
    try:
        reserve(&files, n_files, sizeof(File))
        file = <File*> files.data
        for i in range(n_files):
            path = <bytes?> names[i]
            file[i] = File(PyBytes_AS_STRING(path), errno.EINVAL if b"\0" in path else 0, 0)
        while last < n_files:  # some files at a time, so that their memory is used again
            first = last
            start = 0
            content.size = 0
            with nogil:
                while last < n_files and content.size < MORE:
                    if file[last].error == 0:
                        file[last].error = read_file(file[last].name, limit, &content)
                    file[last].end = content.size
                    last += 1
            for i in range(first, last):
                if file[i].error:
                    contents.append(file[i].error)
                else:
                    contents.append((<const char*> content.buffer.data)[start : file[i].end])
                start = file[i].end
        return contents
    finally:
        release_all([&content.buffer, &files, NULL])
