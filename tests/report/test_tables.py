"""Every table of every command fits the terminal: long labels are folded, and figures are not."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import DELETED
from made_files import write_rows
from rich.cells import cell_len

from nbtext.cli.main import cli
from nbtext.errors import list_some
from nbtext.report.terminal import Screen, format_screen, new_table

LABELS = (
    "transport and traffic / bicycle parking at the stations of regional railways",
    "housing / rent subsidies for families with several children and low income",
    "日本語の長いラベルは二倍の幅を使うので表の幅をはみ出すことがある交通と交通渋滞",
    "none",
)
WORDS = (
    "bike rack lock station wheel",
    "rent child family money form",
    "bus winter late stop timetable",
    "flat house",
)
FIGURE = re.compile(r"[+-]?\d[\d.,:e%-]*")
ASK = dict(
    row.split(": ")
    for row in """evaluate: evaluate test.jsonl -m m.joblib
targets and folds: evaluate train.jsonl --folds 3 --model multinomial
learning curve: compare train.jsonl --models multinomial,bernoulli --sizes 40,80 --seeds 2
search: evaluate train.jsonl --folds 2 --model best
evaluate several: evaluate several.jsonl -m several.joblib
compare: compare test.jsonl -m m.joblib -m a-model-whose-name-is-as-long-as-those-of-its-labels.joblib
review: review train.jsonl
review several: review several.jsonl
inspect: inspect m.joblib
words: inspect m.joblib --word bike --word rent
inspect several: inspect several.joblib --word bike
matrix: inspect counts.npz
prevalence: prevalence test.jsonl -m m.joblib
explain: explain one.jsonl -m m.joblib
diff: diff m.joblib several-too.joblib""".splitlines()
)


def run(command: str, width: int = 1000) -> str:
    if DELETED.intersection(command.split()):
        pytest.skip("its application was deleted")
    table = " --to table" if command.split(maxsplit=1)[0] not in ("train", "vectorize") else " -q"
    result = CliRunner().invoke(
        cli, (command + table).split(), env={"COLUMNS": str(width)}, catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result.stdout


def figures(shown: str) -> Counter[str]:
    """The figures of tables and summaries, without times."""
    text = re.sub(r"[\d.]+ m?s\b", "", shown)
    return Counter(FIGURE.findall(text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents and models of long labels, some of which are wrong."""
    folder = tmp_path_factory.mktemp("tables")
    chance = random.Random(3)
    rows = []
    for n in range(240):
        words = " ".join(WORDS).split() + 3 * WORDS[n % 4].split()
        label = LABELS[(n + (n % 11 == 0)) % 4]
        rows.append(
            {
                "id": f"d{n}",
                "text": " ".join(chance.choices(words, k=8)) + f" only{n}",
                "label": label,
            }
        )
    several = [
        row | {"label": sorted({str(row["label"]), LABELS[n % 3]})} for n, row in enumerate(rows)
    ]
    for name, kept in (
        ("train", rows[:160]),
        ("test", rows[160:]),
        ("one", rows[160:161]),
        ("several", several[:160]),
    ):
        write_rows(folder / f"{name}.jsonl", kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("train train.jsonl -o m.joblib --model multinomial")
        run(f"train test.jsonl -o {ASK['compare'].split()[-1]} --model complement")
        run("train test.jsonl -o several-too.joblib --model complement")
        run("train several.jsonl -o several.joblib")
        run("vectorize train.jsonl -o counts.npz")
    return folder


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", ASK)
def test_labels_are_folded_and_figures_are_not(
    folder: Path, name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the width of a terminal there are the figures of a very wide one, and no line is
    longer.
    """
    monkeypatch.chdir(folder)
    wide = run(ASK[name])
    shown = run(ASK[name], width)
    assert figures(shown) == figures(wide)
    assert max(map(cell_len, shown.splitlines())) <= width


def test_only_what_does_not_fit_is_folded() -> None:
    """The longest texts are folded, and names of columns are cut; other columns stay."""
    table = new_table("label", "a name that is longer than its figures", "n", "note", texts=(0, 3))
    table.add_row("a long label " * 3, "0.12345", "1,234", "short")
    shown = format_screen([table], Screen(50)).splitlines()
    assert [line.rstrip() for line in shown if "─" not in line] == [
        " label                   a name …       n   note",
        " a long label a long      0.12345   1,234   short",
        " label a long label",
    ]
    assert max(map(len, shown)) <= 50


def test_figures_that_do_not_fit_stay() -> None:
    """On a terminal that is too narrow for them, lines are longer than it."""
    table = new_table("label", *"abcdef")
    table.add_row("a long label", *(f"{n}.000000" for n in range(6)))
    shown = format_screen([table], Screen(30))
    assert all(f"{n}.000000" in shown for n in range(6))
    assert " a long\n" in shown or " a long " in shown


def test_a_list_that_is_cut_says_so() -> None:
    assert list_some("abc", 3) == "a, b, c"
    assert list_some("abcd", 3) == "a, b, c, …"
