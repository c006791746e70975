"""A process that has imported nbtext, and forks for each command, so that the tests wait for the imports only once.

What is run is what `python -m nbtext` runs, in a process of its own with its own streams, folder and environment. The
imports alone are shared: what depends on them is tested with a Python of its own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import sys

MAX_ORDER_BYTES = 1 << 17  # bytes of an order: arguments and environment
WITHIN = ("jinja2", "joblib", "rich.box", "rich.progress", "rich.table", "rich.text", "scipy.sparse", "vl_convert")


def import_all() -> None:
    """Import nbtext but for its cluster, which few commands need, and what is imported only within functions."""
    modules = pkgutil.walk_packages(importlib.import_module("nbtext").__path__, "nbtext.")
    names = [module.name for module in modules if not module.name.startswith(("nbtext.cluster", "nbtext.__main__"))]
    for name in (*names, *WITHIN):
        with contextlib.suppress(ImportError):  # of what is missing the commands tell
            importlib.import_module(name)
    gc.freeze()


def serve(orders: socket.socket) -> bool:
    """Fork for each order, and tell how its process ended; True in a fork, False where there are no more orders."""
    while True:
        message, streams, _, _ = socket.recv_fds(orders, MAX_ORDER_BYTES, 3)
        if not message:
            return False
        process = os.fork()
        if not process:
            take_over(streams, **json.loads(message))
            return True
        for stream in streams:
            os.close(stream)
        orders.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def take_over(streams: list[int], *, arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Become the process that was ordered."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments


if __name__ == "__main__":
    import_all()
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        is_forked = serve(orders)
    if is_forked:
        runpy.run_module("nbtext", run_name="__main__", alter_sys=True)
