# Read many small files with few system calls and without the GIL: `files.read_files`, compiled.

cdef extern from "<fcntl.h>" nogil:
    int open(const char* path, int flags)
    int openat(int folder, const char* path, int flags)
    int O_RDONLY, O_CLOEXEC, O_DIRECTORY, O_NONBLOCK, O_NOCTTY

cdef extern from "<unistd.h>" nogil:
    ssize_t read(int descriptor, void* data, size_t count)
    int close(int descriptor)

cdef extern from "<sys/stat.h>" nogil:
    struct stat:
        long long st_size
        unsigned st_mode
    int fstat(int descriptor, stat* status)
    bint S_ISREG(unsigned mode)

cdef enum:
    AHEAD_BYTES = 1048576  # of memory outside the heap, where it would leave holes; only pages with data use any
    BLOCK_FILES = 256  # of one piece of memory, as in files.py
    MAX_FOLDER_BYTES = 4096  # files in a folder with a longer path are opened by their whole path

cdef size_t MORE = 65536  # bytes of a further read, if a file has grown or its size is wrong, as in /proc

cdef struct Content:
    Buffer buffer
    size_t size  # used bytes


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


cdef struct Folder:  # the folder of the last file: a name within it takes less time to look up than a whole path
    int descriptor  # -1: there is none, or it cannot be opened
    const char* path  # of the last file
    size_t length  # of the part that names the folder


cdef void enter_folder(Folder* folder, const char* path) noexcept nogil:
    """Open the folder of a file, unless it is open."""
    cdef const char* end = strrchr(path, c"/")
    cdef size_t length = end - path if end != NULL else 0
    cdef char[MAX_FOLDER_BYTES] name
    if folder.path != NULL and length == folder.length and memcmp(path, folder.path, length) == 0:
        return
    leave_folder(folder)
    folder.path, folder.length = path, length
    if 0 < length < MAX_FOLDER_BYTES:
        memcpy(name, path, length)
        name[length] = 0
        folder.descriptor = open(name, O_RDONLY | O_CLOEXEC | O_DIRECTORY)


cdef void leave_folder(Folder* folder) noexcept nogil:
    """Close the folder, if one is open."""
    if folder.descriptor >= 0:
        close(folder.descriptor)
    folder.descriptor = -1


cdef int open_file(const char* path, const Folder* folder) noexcept nogil:
    """Open a file for reading; return -1 if it cannot be opened."""
    if folder.descriptor >= 0 and path[folder.length + 1] != 0:
        return openat(folder.descriptor, path + folder.length + 1, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)


cdef int read_file(const char* path, const Folder* folder, size_t limit, Content* content) noexcept nogil:
    """Append the content of the file at a path; return 0, or the error number without appending anything."""
    cdef size_t start = content.size
    cdef int error, descriptor = open_file(path, folder)
    while descriptor < 0 and errno.errno == errno.EINTR:
        descriptor = open_file(path, folder)
    if descriptor < 0:
        return errno.errno
    error = read_descriptor(descriptor, limit, content)
    close(descriptor)
    if error:
        content.size = start
    return error


cdef struct File:
    const char* name
    int error
    size_t end  # within its piece


cdef class Contents:
    """The contents of some files. One thread reads them, once; when it has ended, others may take them."""

    cdef list paths
    cdef size_t limit
    cdef Buffer pieces  # Content, one for BLOCK_FILES files
    cdef Buffer files  # File
    cdef Py_ssize_t n_files, n_pieces, n_read, n_freed
    cdef bint is_ahead, is_stopped, is_reading

    def __cinit__(self, list paths not None, size_t limit, bint is_ahead=True):
        cdef Py_ssize_t i, n_files = len(paths), n_pieces = n_files // BLOCK_FILES + 1
        cdef bytes path
        self.paths, self.limit, self.is_ahead = list(paths), limit, is_ahead
        reserve(&self.files, n_files, sizeof(File))
        reserve_zeros(&self.pieces, n_pieces, sizeof(Content))
        self.n_files, self.n_pieces = n_files, n_pieces
        for i in range(n_files):
            path = <bytes?> self.paths[i]
            self.file(i)[0] = File(PyBytes_AS_STRING(path), errno.EINVAL if b"\0" in path else 0, 0)

    def __dealloc__(self):
        self.free_pieces(self.n_pieces)  # `paths` may be gone already
        release_all([&self.files, &self.pieces, NULL])

    cdef File* file(self, Py_ssize_t number) noexcept nogil:
        return <File*> self.files.data + number

    cdef Content* piece(self, Py_ssize_t number) noexcept nogil:
        return <Content*> self.pieces.data + number

    cdef void free_pieces(self, Py_ssize_t stop) noexcept:
        """Free the memory of the pieces before a number."""
        while self.n_freed < stop:
            release(&self.piece(self.n_freed).buffer)
            self.n_freed += 1

    def read(self, size_t n_bytes):
        cdef Folder folder = Folder(-1, NULL, 0)
        cdef Py_ssize_t i
        cdef size_t n_before = 0  # bytes of the pieces before the current one
        cdef Content* piece
        cdef File* file
        if self.is_reading or self.n_read:
            raise RuntimeError("these files are read once")
        self.is_reading = True
        with nogil:
            for i in range(self.n_files):
                piece, file = self.piece(i // BLOCK_FILES), self.file(i)
                if i and i % BLOCK_FILES == 0:
                    n_before += self.file(i - 1).end
                if self.is_stopped or n_before + piece.size >= n_bytes:
                    break
                if file.error == 0:
                    if self.n_files > 1:
                        enter_folder(&folder, file.name)
                    if self.is_ahead and piece.buffer.data == NULL:
                        enlarge(&piece.buffer, AHEAD_BYTES)
                    file.error = read_file(file.name, &folder, self.limit, piece)
                    if file.error == errno.ENOMEM and self.is_ahead:
                        file.error = 0  # it is read again when there may be memory
                        break
                file.end = piece.size
                self.n_read = i + 1
            leave_folder(&folder)
        self.is_reading = False

    def stop(self):
        self.is_stopped = True

    def __len__(self):
        return self.n_read

    def take(self, Py_ssize_t start, Py_ssize_t stop):
        cdef Py_ssize_t i
        cdef size_t begin
        cdef const char* data
        cdef list contents = []
        if self.is_reading:
            raise RuntimeError("the files are still being read")
        if start < self.n_freed * BLOCK_FILES:
            raise IndexError("files before these have been taken, or the first one is negative")
        start = min(start, self.n_read)
        self.free_pieces(start // BLOCK_FILES)
        for i in range(start, min(stop, self.n_read)):
            begin, data = self.file(i - 1).end if i % BLOCK_FILES else 0, <const char*> self.piece(i // BLOCK_FILES).buffer.data
            contents.append(self.file(i).error if self.file(i).error else data[begin : self.file(i).end])
        return contents


def read_files(list paths, size_t limit):
    """Return the content of each file, or its error number; see `files.read_files_plainly`."""
    contents = Contents(paths, limit, False)
    contents.read(SIZE_MAX)
    return contents.take(0, len(paths))
