"""Parallel execution in threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Any, TypeVar

Item = TypeVar("Item")
END_OF_QUEUE: Any = object()  # in a queue, after its last item
Result = TypeVar("Result")
# of mallopt(3)
M_ARENA_MAX = -8
M_MMAP_THRESHOLD = -3
M_TRIM_THRESHOLD = -1
# Bytes from which memory is mapped by itself, and returned when it is freed. glibc raises this
# bound up to 32 MB while arrays are freed, and later ones leave gaps between others: 100 of 280 MB
# while `combined` is fitted to 20 Newsgroups. NumPy takes huge pages from here on. With 1 MB,
# `best` takes 8 MB less on IMDB, and a tenth more CPU time.
MIN_MAPPED_BYTES = 1 << 22
CALLS_AHEAD = 2  # calls for each thread that are submitted before the first result is taken


def available_cpus() -> int:
    """Return how many CPUs this process may use.

    Some systems (macOS, Windows) do not tell the CPUs of a process; there it is the number of CPUs
    of the machine.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_heap(more: Sequence[tuple[int, int]] = ()) -> None:
    """Let all threads allocate from one heap, and large arrays apart from it, if the C library is
    glibc.

    Call it before they start.

    With a heap for each thread, the memory that one of them has freed is not used by the others.

    more  further parameters of mallopt(3), and their values
    """
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # another C library
        set_option = ctypes.CDLL(None).mallopt
        bounds = (M_MMAP_THRESHOLD, MIN_MAPPED_BYTES), (M_TRIM_THRESHOLD, 2 * MIN_MAPPED_BYTES)
        for parameter, value in ((M_ARENA_MAX, 1), *bounds, *more):
            set_option(parameter, value)


def return_memory() -> None:
    """Return freed memory that lies between other memory to the system, if the C library is
    glibc.
    """
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def import_meanwhile(*modules: str) -> None:
    """Import modules in a thread, so that they are there when this thread needs them.

    If one cannot be imported, the import that needs it reports why.
    """

    def import_all() -> None:
        with suppress(Exception):
            for module in modules:
                __import__(module)

    with suppress(RuntimeError):  # the system allows no further thread
        Thread(target=import_all, daemon=True).start()


def thread_pool(jobs: int) -> Any:
    """Return a ThreadPoolExecutor for a `with` statement, which waits at its end and drops calls
    that have not begun.

    After an interrupt it does not wait: the interrupt may have left a lock of the pool locked,
    which a thread needs.
    """
    from concurrent.futures import ThreadPoolExecutor

    class Pool(ThreadPoolExecutor):
        def __exit__(self, kind: Any, *error: object) -> None:
            self.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)

    return Pool(jobs)


def use_twice(
    items: Iterable[Item],
    first: Callable[[Iterator[Item]], None],
    second: Callable[[Iterator[Item]], None],
) -> None:
    """Give the same items to two functions, the second in a thread of its own, without holding more
    than one.

    If one of them fails, the other gets an error in the place of an item or of the end, and that of
    the first failure is raised. A function may leave items unused.
    """
    from queue import Queue

    queue = Queue[Any](1)
    errors: list[BaseException] = []
    is_over = False  # whether the second has the last item, which may be used once only

    def pull() -> Iterator[Item]:
        nonlocal is_over
        while not is_over:
            item = queue.get()
            is_over = item is END_OF_QUEUE or isinstance(item, BaseException)
            if isinstance(item, BaseException):
                raise item
            if not is_over:
                yield item

    def use() -> None:
        try:
            second(pull())
        except BaseException as error:
            errors.append(error)
        with suppress(BaseException):  # the error of the first
            deque(pull(), maxlen=0)

    def push() -> Iterator[Item]:
        for item in unused:
            if errors:
                break
            queue.put(item)
            yield item
        queue.put(END_OF_QUEUE)
        thread.join()
        if errors:
            raise errors[0]

    unused = iter(items)
    thread = Thread(target=use, daemon=True)
    thread.start()
    try:
        first(push())
        deque(push(), maxlen=0)
    except BaseException as error:
        if thread.is_alive():
            queue.put(error)
            thread.join()
        raise


def parallel_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int,
    is_large: Callable[[Item], bool] = lambda item: False,
) -> Iterator[Result]:
    """Yield `function(item)` of each item, in the order of the items, computed in `jobs` threads.

    Items are taken only a few ahead of the results, so that a long iterator is never held in
    memory; after one that `is_large`, none is taken until its result has been used. An error of a
    call, or of taking an item, is raised when its result is due.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    remaining = iter(items)
    pending = deque[Any]()
    is_last_large = False
    with thread_pool(jobs) as pool:
        while True:
            while len(pending) < CALLS_AHEAD * jobs and not (pending and is_last_large):
                taken, remaining = take(remaining, 1)
                if not taken:
                    break
                pending.append(pool.submit(function, *taken))
                is_last_large = is_large(*taken)
            if not pending:
                yield from map(function, remaining)  # there is none, or the error of taking it
                return
            yield pending.popleft().result()


def take(items: Iterator[Item], n_items: int) -> tuple[list[Item], Iterator[Item]]:
    """Return the next items, at most so many, and the others, which raise the error of an item in
    its place.
    """
    taken: list[Item] = []
    try:
        taken.extend(islice(items, n_items))
    except Exception as error:
        return taken, _fail(error)
    return taken, items


def _fail(error: Exception) -> Iterator[Any]:
    raise error
    yield


def parallel_calls(calls: Sequence[Callable[[], Result]], *, jobs: int) -> list[Result]:
    """Return the results of some calls, in their order, made in `jobs` threads."""
    return list(parallel_map(lambda call: call(), calls, jobs=min(jobs, len(calls)) or 1))
