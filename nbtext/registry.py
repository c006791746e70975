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
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from nbtext.errors import AssumptionWarning, NbtextError

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

    record  place of their settings record; its `RULES_OF_COMMAND` may name settings of the command.
            A field that is not an option has the value of the option of another application, whose
            own step is then not taken
    step    place of the function that the command calls if one of the options is given
    """

    record: str
    step: str


class Application(NamedTuple):
    """What an application adds.

    package    the name of its package, `__package__`
    commands   its commands, by name
    options    its options, by the command that has them
    methods    places of functions that methods of `TextClassifier` and other applications call, by
               name
    exporters  places of the formats that `nbtext export` has, by the values of its `--to`
    """

    package: str
    commands: Mapping[str, CommandLine] = {}
    options: Mapping[str, Added] = {}
    methods: Mapping[str, str] = {}
    exporters: Mapping[str, str] = {}

    def load(self, place: str) -> Any:
        """Import what a place names.

        raises  NbtextError: that is not possible
        """
        try:
            return import_place(f"{self.package}.{place}")
        except NbtextError:
            raise
        except (Exception, SystemExit) as error:  # of code that is not ours
            raise _explain(f"{self.package}.{place}", error) from error


def import_place(place: str) -> Any:
    """Import what a place of nbtext names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _explain(place: str, error: BaseException) -> NbtextError:
    return NbtextError(
        f"cannot be imported ({type(error).__name__}: {error})",
        where=place,
        hint="install it again, for this version of nbtext, or uninstall it",
    )


def check_kind(value: Any, kind: Any, where: str) -> None:
    """Raise NbtextError if a value that code of an application made is not of a type."""
    if not isinstance(value, kind):
        raise NbtextError(f"{value!r:.80} is not of the type {kind.__name__}", where=where)


def find_extension(error: BaseException) -> str | None:
    """Return the package of somebody else's application in whose code an error was raised, or that
    called what raised it; None: there is none.
    """
    from traceback import walk_tb  # takes longer to import than all else here

    found = None
    for frame, _ in walk_tb(error.__traceback__):
        for each in other_applications():
            if f"{frame.f_globals.get('__name__')}.".startswith(f"{each.package}."):
                found = each.package
    return found


@contextmanager
def left_out(place: str) -> Iterator[None]:
    """Name an application in a warning if its code fails, so that all else works without it."""
    try:
        yield
    except (Exception, SystemExit) as error:  # of code that is not ours
        known = error if isinstance(error, NbtextError) else _explain(place, error)
        warnings.warn(f"left out: {known}", AssumptionWarning, stacklevel=3)


def has_application(*names: str) -> bool:
    """Return whether the folder of one of these applications is there."""
    return any(os.path.isfile(os.path.join(FOLDER, name, "__init__.py")) for name in names)


def offer(name: str, sentence: str) -> str:
    """Return a sentence about what an application adds; "" without its folder."""
    return sentence if has_application(name) else ""


@cache
def own_applications() -> tuple[Application, ...]:
    """Return the applications of nbtext, by the names of their folders."""
    # others are __pycache__, and what is left of an application that was deleted
    names = filter(has_application, sorted(os.listdir(FOLDER)))
    return tuple(import_module(f"nbtext.applications.{name}").APPLICATION for name in names)


@cache
def other_applications() -> tuple[Application, ...]:
    """Return the applications of other packages, by the names of their entry points.

    One that cannot be imported, or adds what another one adds, is left out.
    """
    from importlib.metadata import entry_points

    places = {each.value: each for each in entry_points(group=ENTRY_POINTS)}
    known = {name for each in own_applications() for name in _list_added(each)}
    found: list[Application] = []
    for place, each in sorted(places.items(), key=lambda entry: (entry[1].name, entry[0])):
        with left_out(place):
            application = each.load()
            if isinstance(application, ModuleType):
                application = application.APPLICATION
            check_kind(application, Application, place)
            added = _list_added(application)
            if not known.isdisjoint(added):
                taken = min(known.intersection(added))
                raise NbtextError(f"there is another {taken}", where=application.package)
            known.update(added)
            found.append(application)
    return tuple(found)


def _list_added(application: Application) -> list[str]:
    """Return what an application adds, as errors name it."""
    for command in application.commands.values():
        check_kind(command, CommandLine, application.package)
    for added in application.options.values():
        check_kind(added, Added, application.package)
    return [
        *(f"command {name!r}" for name in application.commands),
        *(f"method {name!r}" for name in application.methods),
        *(f"exporter {name!r}" for name in application.exporters),
    ]


def list_applications() -> Iterator[Application]:
    """Yield all applications; those of other packages are looked up when they are reached."""
    yield from own_applications()
    yield from other_applications()


def load_method(name: str) -> Any:
    """Import a function that an application names.

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

    core  that of the commands of the core, which no application replaces
    """
    groups = {title: dict(commands) for title, commands in core.items()}
    known = {name for commands in groups.values() for name in commands}
    for application in list_applications():
        for name, each in application.commands.items():
            with left_out(application.package):
                if name in known:
                    raise NbtextError(
                        f"there is another command {name!r}", where=application.package
                    )
                groups.setdefault(each.group, {})[name] = each.help
    return groups
