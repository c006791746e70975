"""Data classes of nbtext.records behave as those of the standard library."""

import copy
import dataclasses
import pickle
from dataclasses import asdict, field, fields, replace
from functools import partial
from typing import Any

import pytest

from nbtext import records


def define(dataclass: Any, frozen: Any) -> dict[str, type]:
    """Return classes of every kind that nbtext uses, made by a decorator; they are the same
    otherwise.
    """

    @frozen
    class Frozen:
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, compare=False)

    @frozen(kw_only=True)
    class Keywords:
        a: int = 1
        b: str

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("a < 0")

    @frozen(eq=False)
    class Identity:
        a: int
        hidden: Any = field(default=None, init=False, repr=False)

    @dataclass
    class Mutable:
        a: int
        b: dict[str, int] = field(default_factory=dict)

    @frozen
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    return {each.__name__: each for each in (Frozen, Keywords, Identity, Mutable, Own)}


OURS = define(records.dataclass, records.frozen)
THEIRS = define(dataclasses.dataclass, partial(dataclasses.dataclass, frozen=True))
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Frozen", (1,), {}),
    ("Frozen", (1, "x", [2]), {}),
    ("Frozen", (), {"b": "x", "a": 2}),
    ("Frozen", (), {}),
    ("Frozen", (1, 2, 3, 4), {}),
    ("Frozen", (1,), {"a": 2}),
    ("Frozen", (1,), {"z": 2}),
    ("Frozen", (1, "x"), {"a": 2}),
    ("Keywords", (), {"b": "x"}),
    ("Keywords", (1,), {"b": "x"}),
    ("Keywords", (), {"a": 1}),
    ("Keywords", (), {"a": -1, "b": "x"}),
    ("Identity", (1,), {}),
    ("Identity", (1,), {"hidden": 2}),
    ("Mutable", (1,), {}),
    ("Mutable", (), {"a": 1, "b": {}}),
    ("Own", (1,), {}),
]


def describe(make: Any) -> Any:
    """Return what can be seen of an object from outside, or the type of the error."""
    try:
        made = make()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)
    return (
        repr(made).replace("define.<locals>.", ""),
        asdict(made),
        [each.name for each in fields(made)],
    )


@pytest.mark.parametrize(("name", "args", "given"), CALLS)
def test_objects_are_made_and_shown_alike(
    name: str, args: tuple[Any, ...], given: dict[str, Any]
) -> None:
    ours, theirs = (
        describe(lambda kind=kind: kind[name](*args, **given)) for kind in (OURS, THEIRS)
    )
    assert ours == theirs


@pytest.mark.parametrize("kinds", [OURS, THEIRS], ids=["ours", "theirs"])
def test_equality_hashes_and_changes_follow_the_parameters(kinds: dict[str, type]) -> None:
    frozen = kinds["Frozen"]
    identity = kinds["Identity"]
    mutable = kinds["Mutable"]
    assert frozen(1, c=[1]) == frozen(1, c=[2]) != frozen(2)
    assert len({frozen(1), frozen(1), frozen(2)}) == 2
    assert frozen(1) != identity(1)
    assert identity(1) != identity(1)
    assert mutable(1) == mutable(1)
    assert kinds["Own"](1) == kinds["Own"](2)
    assert hash(kinds["Own"](1)) == 7
    with pytest.raises(TypeError, match="unhashable"):
        hash(mutable(1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen(1).a = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del identity(1).a
    changed = mutable(1)
    changed.a = 2
    assert changed == replace(mutable(1), a=2)
    assert replace(frozen(1), b="x") == frozen(1, "x")
    with pytest.raises(ValueError, match="a < 0"):
        replace(kinds["Keywords"](b="x"), a=-1)


@records.frozen
class Sent:
    """An object that crosses processes, as to the workers of a cluster."""

    a: int
    b: list[int] = field(default_factory=list)


def test_objects_are_copied_and_pickled() -> None:
    sent = Sent(1, [2])
    assert pickle.loads(pickle.dumps(sent)) == copy.deepcopy(sent) == copy.copy(sent) == sent
