"""The stack machine that reads an artifact: its state, and what all of its operations need of it."""

from __future__ import annotations

from typing import Any

from nbtext.artifact import refusals
from nbtext.artifact.stream import Stream
from nbtext.errors import ArtifactError


class Machine:
    """A running program: its stack, the stacks that its open marks have put aside, and what it has memoized.

    is_announced  the program has said which protocol it is in, as whatever joblib writes does first
    """

    __slots__ = ("is_announced", "marks", "memo", "stack", "stream")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.is_announced = False

    def begun(self) -> list[Any]:
        """The items of the outermost value as far as they had been read when the program stopped."""
        return self.marks[1] if len(self.marks) > 1 else self.stack

    def damaged(self, what: str) -> ArtifactError:
        """The error of a program that cannot be right."""
        return refusals.damaged(f"byte {self.stream.position:,}: {what}")

    def pop_mark(self) -> list[Any]:
        """What has been put on the stack since the last mark."""
        items, self.stack = self.stack, self.marks.pop()
        return items

    def top(self, kind: type) -> Any:
        """The value on top, which must be of this very type."""
        value = self.stack[-1]
        if type(value) is not kind:
            raise refusals.code(f"filling what is no {kind.__name__}")
        return value

    def result(self) -> object:
        """The one value that a whole program leaves."""
        if len(self.stack) != 1 or self.marks:
            raise self.damaged("it ends before its end")
        if not self.stream.is_at_end():
            raise self.damaged("it goes on after its end")
        return self.stack[0]
