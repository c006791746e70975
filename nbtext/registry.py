"""The registry of applications: capabilities that the core does not need.

An application is a folder in `nbtext/applications/`, or a package of somebody else that names its
record by an entry point of the group `nbtext.applications`. Its `__init__` has one light record,
`APPLICATION`. What the record names is imported when it is used: a place is `module:name`, and the
module is relative to the package of the application.

The core asks the registry and imports no application. The folders are looked up first; packages
only where a name is still unknown, and for `nbtext --help`, because to list what is installed takes
longer than a short command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from nbtext.errors import NbtextError

FOLDER = os.path.join(os.path.dirname(__file__), "applications")
ENTRY_POINTS = "nbtext.applications"


class CommandLine(NamedTuple):
    """A command.

    group  the heading under which `nbtext --help` lists it
    help   the first line of its help
    place  of the command
    """

    group: str
    help: str
    place: str


class Added(NamedTuple):
    """Options of a command of the core.

    record  place of their settings record; its `RULES_OF_COMMAND` may name settings of the command
    step    place of the function that the command calls if one of the options is given
    """

    record: str
    step: str


class Application(NamedTuple):
    """What an application adds.

    package    the name of its package, `__package__`
    commands   its commands, by name
    options    its options, by the command that has them
    methods    places of functions that methods of `TextClassifier` call, by the names of these
    exporters  places of the formats that `nbtext export` has, by the values of its `--to`
    """

    package: str
    commands: Mapping[str, CommandLine] = {}
    options: Mapping[str, Added] = {}
    methods: Mapping[str, str] = {}
    exporters: Mapping[str, str] = {}

    def load(self, place: str) -> Any:
        """Import what a place names."""
        module, _, name = place.partition(":")
        return getattr(import_module(f"{self.package}.{module}"), name)


def _read(module: str, name: str = "APPLICATION") -> Application:
    found = getattr(import_module(module), name)
    if not isinstance(found, Application):
        raise NbtextError(f"{module}:{name} is not an Application of nbtext")
    return found


@cache
def own_applications() -> tuple[Application, ...]:
    """Return the applications of nbtext, by the names of their folders."""
    with os.scandir(FOLDER) as entries:
        # others are __pycache__, and what is left of an application that was deleted
        names = sorted(each.name for each in entries if os.path.isfile(f"{each.path}/__init__.py"))
    return tuple(_read(f"nbtext.applications.{name}") for name in names)


@cache
def other_applications() -> tuple[Application, ...]:
    """Return the applications of other packages, by the names of their entry points."""
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.name)
    return tuple(_read(each.module, each.attr or "APPLICATION") for each in found)


def list_applications() -> Iterator[Application]:
    """Yield all applications; those of other packages are looked up when they are reached."""
    yield from own_applications()
    yield from other_applications()


def list_options(command: str) -> Iterator[tuple[Application, Added]]:
    """Yield the applications that add options to a command, as `list_applications` does."""
    for application in list_applications():
        if command in application.options:
            yield application, application.options[command]


def load_method(name: str) -> Any:
    """Import the function that a method of `TextClassifier` calls.

    raises  NbtextError: no application has it
    """
    for application in list_applications():
        if name in application.methods:
            return application.load(application.methods[name])
    raise NbtextError(f"no application has the method {name!r}", hint="install nbtext in full")


def find_command(name: str) -> Any:
    """Import the command of an application; None if no application has it."""
    for application in list_applications():
        if name in application.commands:
            return application.load(application.commands[name].place)
    return None


def group_commands(core: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the first line of the help of each command, by group and name.

    core    that of the commands of the core
    raises  NbtextError: two commands have the same name
    """
    groups = {title: dict(commands) for title, commands in core.items()}
    known = {name for commands in groups.values() for name in commands}
    for application in list_applications():
        for name, each in application.commands.items():
            if name in known:
                raise NbtextError(f"{application.package}: there is another command {name!r}")
            known.add(name)
            groups.setdefault(each.group, {})[name] = each.help
    return groups
