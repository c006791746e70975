"""Options that exclude or need each other: every rule of every command, on the command line and in
the library.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click
import pytest
from made_files import read_cases

from nbtext.cli.command import Command, Option
from nbtext.cli.main import cli
from nbtext.errors import SettingsError
from nbtext.settings import (
    Excludes,
    Needs,
    Rule,
    Setting,
    check_rules,
    list_settings,
    list_settings_parts,
)

# of options, by what stands for a value in the help
VALUES = dict(
    read_cases("""
    P => 0.5
    SHARE => 0.5
    N => 2
    K => 2
    TIME => 3d
    NAME => name
    TEXT => text
    SQL => SELECT 1
    GLOB => *.bak
    LABEL => a
    LABEL=P => a=0.9
    [LABEL=]P => a=0.5
    LABEL[=NAME] => a
    'LABEL>=P' => a>=0.5
    NAME,… => label
    N,N… => 50,100
    N,N => 1,2
    NAME,NAME… => a,b
    LABEL,LABEL… => a,b
    NAME=VALUE => label=a
    ADDRESS => local
    SIZE => 2MB
    MODEL => m.joblib
    SOURCE => texts.tsv
    FILE => texts.tsv
    PACKAGE => texts.tsv
    DIR => folder
    """)
)
# of options, by their names
OWN_VALUES = dict(
    read_cases("""
    cost => costs.csv
    keywords => words.toml
    html => page.html
    report => page.html
    apply => decisions.jsonl
    held_out => held.csv
    output => result.csv
    rejected => rest.csv
    threshold => a=0.5
    smoothing => 2
    select => mi:5
    view => word:1
    """)
)
ARGUMENTS = {"sources": "texts.tsv", "model": "m.joblib", "models": "m.joblib"}


def commands() -> Iterator[Command]:
    context = click.Context(cli, info_name="nbtext")
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert isinstance(command, Command)
        while command.add_options():
            pass
        yield command


def rules_of(command: Command) -> Iterator[Rule]:
    """Yield the rules of a command, and those of its parts whose options it has."""
    names = {each.name for each in command.params}
    parts = (getattr(part.record, "RULES", ()) for _, part in list_settings_parts(command.record))
    for rule in chain(command.rules, *parts):
        if rule.name in names and any(
            other.partition("=")[0] in names for other in rule.other.split("|")
        ):
            yield rule


def option_of(command: Command, condition: str) -> list[str]:
    """Return an option with a value that fulfills a condition, such as `cluster` or
    `model=best`.
    """
    name, _, value = condition.partition("=")
    (option,) = (each for each in command.params if each.name == name and isinstance(each, Option))
    if option.is_flag:
        return [option.flag]
    if not value and isinstance(option.type, click.Choice):
        value = option.type.choices[-1]
    metavar = option.make_metavar(click.Context(command)).split("|")[-1]
    return [option.flag, value or OWN_VALUES.get(name) or VALUES[metavar]]


def cases() -> Iterator[Any]:
    for command in commands():
        for rule in rules_of(command):
            yield pytest.param(command, rule, id=f"{command.name}: {rule.name} {rule.other}")


@pytest.mark.parametrize(("command", "rule"), list(cases()))
def test_each_rule_is_one_line(nbtext: Any, tmp_path: Path, command: Command, rule: Rule) -> None:
    """The line names both options, says that they exclude or need each other, and nothing is read
    or written.
    """
    (tmp_path / "texts.tsv").write_text("text\tlabel\nred\ta\n")
    (tmp_path / "costs.csv").write_text("a,b,1\n")
    (tmp_path / "words.toml").write_text('a = ["red"]\nb = ["blue"]\n')
    arguments = [
        ARGUMENTS[each.name or ""] for each in command.params if isinstance(each, click.Argument)
    ]
    options = option_of(command, rule.name)
    if isinstance(rule, Excludes):
        options += option_of(command, rule.other)
    for other in rules_of(command):  # whatever else the options need
        is_given = any(f"--{other.name.replace('_', '-')}" == each for each in options)
        alternatives = [option_of(command, each) for each in other.other.split("|")]
        if (
            isinstance(other, Needs)
            and is_given
            and other != rule
            and not any(each[0] in options for each in alternatives)
        ):
            options += alternatives[0]
    for each in command.params:  # -m and -o, if they are needed
        if isinstance(each, Option) and each.required and each.flag not in options:
            options += [each.flag, "m.joblib"]
    before = sorted(tmp_path.iterdir())
    result = nbtext(command.name, *arguments, *options).refused(2)
    relation = "cannot be combined with" if isinstance(rule, Excludes) else "needs"
    others = [option_of(command, each)[0] for each in rule.other.split("|")]
    assert result.err.startswith(f"nbtext: {options[0]}: {relation} "), result.err
    assert all(flag in result.err for flag in others)
    assert sorted(tmp_path.iterdir()) == before


def test_rules_name_settings() -> None:
    """A rule with a name that no setting has would never be broken."""
    for command in commands():
        names = {each.name for each in command.params}
        names |= {field.name for field, _ in list_settings(command.record)}
        for _, part in list_settings_parts(command.record):
            names |= {field.name for field, _ in list_settings(part.record)}
        for rule in (
            *command.rules,
            *chain(
                *(
                    getattr(part.record, "RULES", ())
                    for _, part in list_settings_parts(command.record)
                )
            ),
        ):
            for condition in (rule.name, *rule.other.split("|")):
                assert condition.partition("=")[0] in names, rule


def test_the_first_broken_rule_is_named() -> None:
    rules = (
        Needs("period", "since|until"),
        Excludes("cost", "threshold", because="both decide on the label"),
    )
    check_rules(rules, {"threshold": ("a", 0.5)})
    check_rules(rules, {"period": 1.0, "since": 2.0})
    with pytest.raises(SettingsError, match=r"^period: needs since or until; add since or"):
        check_rules(rules, {"period": 1.0, "cost": 1, "threshold": 1})
    with pytest.raises(
        SettingsError, match=r"^cost: cannot be combined with threshold, because both decide"
    ):
        check_rules(rules, {"cost": 1, "threshold": 1})
    with pytest.raises(SettingsError, match=r"^period: needs until; add until"):
        check_rules(rules, {"period": 1.0}, {"until"})


def test_a_value_outside_its_bounds() -> None:
    """The message says what to give instead; NaN is outside of all bounds."""
    assert Setting(low=1, high=9).find_error(float("nan")) == "a number from 1 to 9"
    assert Setting(low=2).find_error(1) == "a number of 2 or more"
    assert Setting(choices=("a", "b")).find_error("c") == "one of a, b"
    assert Setting(low=1, high=9).find_error(9) == Setting(choices=("a",)).find_error("a") == ""
