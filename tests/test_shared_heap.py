"""Memory that one thread has freed is used by the others."""

import ctypes
import subprocess
import sys

import pytest

COUNT_HEAPS = """
import ctypes, sys, threading
from nbtext.parallel import share_heap

if "share" in sys.argv:
    share_heap()
is_allocated, is_done = threading.Barrier(3), threading.Event()

def allocate():
    held = [bytearray(1000) for _ in range(100)]
    is_allocated.wait()
    is_done.wait()

threads = [threading.Thread(target=allocate) for _ in range(2)]
for thread in threads:
    thread.start()
is_allocated.wait()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
output = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, output)
libc.fflush(output)
is_done.set()
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_info"), reason="the C library is not glibc"
)
def test_all_threads_share_a_heap() -> None:
    """The C library reports several heaps without the call, and one with it."""

    def count(*arguments: str) -> int:
        command = [sys.executable, "-c", COUNT_HEAPS, *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout.count(b"<heap nr=")

    assert count() > 1
    assert count("share") == 1
