"""Read many small files, with the compiled kernel if it is installed, otherwise in pure Python."""

from __future__ import annotations

import errno
import os
import stat

from nbtext.kernel import HAS_KERNEL

__all__ = ["Contents", "read_files", "read_files_plainly"]

READ_BYTES = 1 << 20
READ = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOCTTY")
)  # if the system has this flag
READ_NOW = READ | getattr(os, "O_NONBLOCK", 0)  # does not wait for the writer of a FIFO


def read_files_plainly(paths: list[bytes], limit: int) -> list[bytes | int]:
    """Return the content of each file, or its error number: EINVAL for special files, EFBIG above `limit` bytes."""
    return [_read_file(path, limit) for path in paths]


def _read_file(path: bytes, limit: int) -> bytes | int:
    try:
        handle = os.open(path, READ_NOW)
    except OSError as error:
        return error.errno or errno.EIO
    except ValueError:  # a NUL byte
        return errno.EINVAL
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return errno.EINVAL
        if status.st_size > limit:
            return errno.EFBIG
        content = os.read(handle, status.st_size + 1)
        return content if len(content) == status.st_size else _read_changing(handle, content, limit)
    except OSError as error:
        return error.errno or errno.EIO
    finally:
        os.close(handle)


def _read_changing(handle: int, content: bytes, limit: int) -> bytes | int:
    """Return the content of a file whose size is not the size that the system states, as in /proc."""
    blocks, size = [content], len(content)
    while blocks[-1]:
        blocks.append(os.read(handle, READ_BYTES))
        size += len(blocks[-1])
        if size > limit:
            return errno.EFBIG
    return b"".join(blocks)


if HAS_KERNEL:
    from nbtext._kernel import Contents, read_files
else:
    Contents = None  # type: ignore[assignment,misc]  # files are not read ahead
    read_files = read_files_plainly
