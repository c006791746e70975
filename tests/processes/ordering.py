"""Asks the process of forking.py for a command.

`python ordering.py SOCKET ARGUMENT...` is the `nbtext` of shells.
"""

import json
import os
import signal
import socket
import sys
from typing import Any


def order_command(
    connection: socket.socket,
    arguments: list[str],
    streams: tuple[int, int, int],
    *,
    folder: str,
    environment: dict[str, str],
    is_leader: bool = False,
    before: str = "",
) -> None:
    """Have a command forked; the answers are two lines: its number, and its exit status with its
    memory in KiB.

    Parameters
    ----------
    streams
        Its standard input, output and error.
    is_leader
        Whether it leads a session of its own.
    before
        Python code that it runs first.
    """
    order: dict[str, Any] = {"arguments": arguments, "folder": folder, "environment": environment}
    content = json.dumps({**order, "is_leader": is_leader, "before": before}).encode()
    socket.send_fds(connection, [b"%8d" % len(content)], streams)
    connection.sendall(content)


def main(address: str, *arguments: str) -> None:
    """Run a command as a shell does: with its streams, and with its exit status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        order_command(
            connection, list(arguments), (0, 1, 2), folder=os.getcwd(), environment=dict(os.environ)
        )
        for number in range(3):
            os.close(number)  # it alone has them now: the end of a pipe is its end
        with connection.makefile("rb") as answers:
            process = int(answers.readline())
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda sign, _: os.kill(process, sign))
            status: int = json.loads(answers.readline())[0]
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
