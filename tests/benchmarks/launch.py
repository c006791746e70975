"""Run one command and write what it took to a file descriptor: exit status, wall seconds, CPU
seconds, peak memory.

    python -I -S launch.py DESCRIPTOR COMMAND...

The kernel counts the process that spawns another into the other's peak memory. So this one is as
small as a Python program can be, and imports next to nothing. Input, output and errors are the
command's.
"""

import os
import sys
import time

descriptor = int(sys.argv[1])
command = sys.argv[2:]
os.set_inheritable(descriptor, False)
start = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - start
peak = usage.ru_maxrss * 1024  # Linux counts kibibytes
os.write(
    descriptor,
    f"{os.waitstatus_to_exitcode(status)} {wall} {usage.ru_utime + usage.ru_stime} {peak}".encode(),
)
