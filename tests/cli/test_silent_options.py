"""Each option of a command is used, or refused, in modes of the command: none is ignored without a
word.
"""

import csv
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import DELETED
from made_files import read_cases, write_rows
from test_conflicts import commands, option_of

from nbtext.cli.command import Command, Option
from nbtext.cli.main import run_command

FRUIT = ["apple", "pear", "plum", "cherry", "ripe", "sweet"]
TOOL = ["hammer", "saw", "drill", "steel", "iron", "bolt"]
COLUMNS = ("id", "text", "label", "title", "kind", "author", "year", "when")
SEVERAL = "several.csv --label-separator ;"

# of each command, the modes: what is typed beside the option that is tried
MODES = f"""
train: d.csv -o x --model multinomial | folder -o x | d.jsonl -o x --model complement | d.csv -o x --model svm
train: {SEVERAL} -o x | {SEVERAL} -o x --model svm | one -o x | d.npz -o x | d.csv -o x --model best
train: d.csv -o x --keywords words.toml | d.csv -o x --unlabeled other.csv --em 2 | d.csv -o x --model combined
evaluate: d.csv -m one | several.csv -m several --threshold 0.999 | d.npz -m one | d.csv --folds 2 --model multinomial
evaluate: {SEVERAL} --folds 2 --threshold 0.999 | d.csv --folds 2 --model best
evaluate: d.csv --group-field author --folds 3 | d.csv --order-field year
evaluate: d.csv --predictions one.jsonl | {SEVERAL} --predictions several.jsonl
evaluate: d.csv --label-field label --predicted-field kind
predict: other.csv -m one -o x.csv | several.csv -m several --threshold 0.999 -o x.jsonl | d.csv -m linear -o x.jsonl
predict: d.csv -m one --add-columns --column-prefix p_ -o x.csv
predict: folder -m folder_model | d.npz -m one
compare: d.csv -m one -m linear | d.csv --models multinomial --sizes 20,35 --seeds 3
review: d.csv -o x.csv | {SEVERAL} -o x.jsonl
review: d.jsonl --apply decisions.jsonl -o x.jsonl | {SEVERAL} --apply decisions.jsonl -o x.csv
vectorize: d.csv -o x.npz | d.csv -o x.svmlight | d.csv -o x.mtx | d.csv -o x.npz --like one
explain: d.csv -m one | several.csv -m several | d.csv -m linear | d.npz -m one
prevalence: other.csv -m one | d.npz -m one
inspect: one | linear | several | d.npz
diff: one two
sample: one
update: one d.csv -o x | one d.npz -o x
forget: one other.csv -o x
calibrate: one d.csv -o x
merge: one two -o x
export: joined --to csv -o x | one --to js -o x
"""
# values of options that have an effect on these documents; of several, one must have it
VALUES = {
    name: values.split(" | ")
    for name, values in (
        line.split(": ")
        for line in """
text_field: title | none
label_field: kind | none
label_fields: label,kind
label: fruit
missing_labels: fruit
where: author=a1
encoding: utf-16
label_separator: r
group_field: author
order_field: year
input_format: lines
token_pattern: [a-z]{4,}
max_features: 5
min_df: 9
max_df: 0.3
select: mi:3
stop_words: stop.txt
ngrams: 1,2
vocabulary: stop.txt
analyzer: char
id_field: author
query: SELECT 1
top_k: 1
explain: 1
columns: known
features: 1
keep_sample: 10
hash_bits: 8
id: d3
seed: 7 | 8 | 9
documents: d.csv
sizes: 20
seeds: 2
coverage: 0.6
threshold: fruit=0.999 | fruit=0.001
min_probability: 0.999
test: other.csv
unlabeled: other.csv
against: other.csv
exclude: *
include: *.csv
only: outlier
view: char:2
max_model_bytes: 2KB
em: 3
models: bernoulli
predictions: one.jsonl
class_weight: balanced
prior: fruit=0.9,tool=0.1
min_recall: fruit=0.5 | fruit=0.99
min_precision: fruit=0.5 | fruit=0.99
fail_under: accuracy=1 | micro_f1=1
table: t
delimiter: |
stem: english
word: apple
exit_status: fruit
held_out: held.csv
like: two
""".strip().splitlines()
    )
}
# whose effect these documents cannot show in each mode, with the reason
UNSEEN = {
    "cluster": "results are the same on a cluster; whether there is one needs a connection",
    "id_field": "an id is shown only where a message names a document",
    "min_known": "the models know all words of the documents",
}


def write_documents(folder: Path) -> None:
    """Write documents in several formats, and the files that options name."""
    rows = []
    for number in range(40):
        words = (TOOL if number % 10 == 0 else (FRUIT, TOOL)[number % 2])[number % 4 :]
        text = " ".join(("The old", *words, *words[: number % 3], f"n{number % 5}", "x"))
        rows.append(
            (
                f"d{number}",
                text,
                ("fruit", "tool")[number % 2],
                text[9:],
                ("fruit", "tool")[number % 3 == 0],
                f"a{number % 4}",
                str(2000 + number),
                "=1",
            )
        )
    special = (
        "Caf\u00e9 pears ripening",
        "cafe ripen\\napple",
        "caf\u00e9 ripened",
        " ",
        "\udcff saw",
        "=bolts saw",
        "=bolts saw",
    )
    rows += [
        (f"=s\\t{number}", text, "fruit", text, r"too\l", "a1", str(2000 + 5 * number), "")
        for number, text in enumerate(special)
    ]
    several = [
        (*row[:2], f"=odd;{row[2]}" if place % 3 else row[2], *row[3:])
        for place, row in enumerate(rows)
    ]
    for name, written in (
        ("d.csv", rows),
        ("other.csv", rows[:12:3] + rows[40:]),
        ("several.csv", several),
    ):
        for place, more in (("", []), ("gaps", [("u", "no label", "", "", "", "a1", "2060", "")])):
            (folder / place).mkdir(exist_ok=True)
            with (folder / place / name).open("w", newline="", errors="surrogateescape") as file:
                csv.writer(file).writerows([COLUMNS, *written, *more])
    for place, more in (("", []), ("gaps", [{"text": "no label", "id": "u"}])):
        lines = [
            json.dumps(each, ensure_ascii=False)
            for each in (*(dict(zip(COLUMNS, row, strict=True)) for row in rows), *more)
        ]
        (folder / place / "d.jsonl").write_text(
            "".join(line + "\n" for line in lines), errors="surrogateescape"
        )
    for number, row in enumerate(rows):
        for place in ("folder", "gaps/folder"):
            (folder / place / row[2]).mkdir(parents=True, exist_ok=True)
            (folder / place / row[2] / f"{number}.txt").write_text(row[1], errors="surrogateescape")
    (folder / "gaps" / "folder" / "unlabeled.txt").write_text("no label")
    (folder / "stop.txt").write_text("apple\nold\nsaw\n")
    (folder / "costs.csv").write_text("fruit,tool,100\ntool,fruit,0.001\n")
    (folder / "words.toml").write_text('fruit = ["apple"]\ntool = ["saw"]\n')
    decisions = [
        {"id": "d3", "decision": "remove"},
        {"id": "d1", "decision": "relabel", "label": ["fruit", "tool"]},
        {"id": r"=s\t1", "decision": "relabel", "label": "tool"},
    ]
    write_rows(folder / "decisions.jsonl", decisions)


@pytest.fixture(scope="module")
def folder(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("silent")
    write_documents(path)
    made = (
        "train d.csv --model multinomial --keep-sample 100 -q -o one",
        "train other.csv --model multinomial --keep-sample 100 -q -o two",
        "train several.csv --label-separator ; -q -o several",
        "train several.csv --model multinomial -q -o joined",
        "train d.csv --model svm -q -o linear",
        "train folder --model multinomial -q -o folder_model",
        "vectorize d.csv -q -o d.npz",
        "vectorize gaps/d.csv -q -o gaps/d.npz",
        "predict d.csv -m one -q -o one.jsonl",
        "predict several.csv -m several -q -o several.jsonl",
    )
    for command in made:
        nbtext(command, cwd=path).ok()
    return path


def modes() -> Iterator[Any]:
    known = {command.name: command for command in commands()}
    for line in MODES.strip().splitlines():
        name, _, typed = line.partition(": ")
        for mode in typed.split(" | ") if name in known else ():
            if not DELETED.intersection(mode.split()):
                yield pytest.param(known[name], mode.split(), id=f"{name} {mode}")


def tried_options(command: Command, typed: list[str]) -> Iterator[tuple[Option, list[list[str]]]]:
    """Yield each option that is not typed, and the values to try."""
    for each in command.params:
        if (
            not isinstance(each, Option)
            or each.title == "Running"
            or each.name in UNSEEN
            or {*each.opts, *each.secondary_opts} & {*typed, "--help"}
        ):
            continue
        if each.is_flag:
            yield each, [[each.secondary_opts[0] if each.secondary_opts else each.flag]]
        elif each.name in VALUES:
            yield each, [[each.flag, value] for value in VALUES[each.name]]
        elif isinstance(each.type, click.Choice):
            default = each.default_help.partition(" ")[0]
            others = [
                choice for choice in reversed(each.type.choices) if choice not in (default, "best")
            ]
            yield each, [[each.flag, choice] for choice in others[:2]]
        else:
            yield each, [option_of(command, each.name or "")]


@pytest.mark.exhaustive(every=14)
@pytest.mark.parametrize(("command", "typed"), list(modes()))
def test_no_option_is_ignored(
    folder: Path,
    command: Command,
    typed: list[str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each option changes the outputs, the messages or the files, or is refused.

    The commands run in this process: there are thousands of them.
    """
    monkeypatch.chdir(folder)

    def run(words: list[str]) -> tuple[Any, dict[str, bytes]]:
        before = set(folder.iterdir())
        with warnings.catch_warnings():
            status = run_command([str(command.name), *words])
        written = {}
        for path in set(folder.iterdir()) - before:
            written[path.name] = path.read_bytes() if path.is_file() else b""
            path.unlink() if path.is_file() else path.rmdir()
        return (status, *capfd.readouterr()), written

    plain = run(typed)
    assert plain[0][0] == 0, plain
    silent = []
    for option, values in tried_options(command, typed):
        words = typed
        expected = plain
        if option.name == "skip_unlabeled":  # of documents of which one has no label
            if any(word.startswith("several") for word in typed):
                continue  # there, a document without labels has none of them, and is used
            words = [
                f"gaps/{word}" if (folder / "gaps" / word).exists() else word for word in typed
            ]
            expected = run(words)
        if (
            option.name == "separate_fields"
            and run([*typed, "--text-field", "text,title"])[0][0] == 0
        ):
            words = [*typed, "--text-field", "text,title"]
            expected = run(words)
        if all(run([*words, *value]) == expected for value in values):
            silent.append(" ".join(values[0]))
    assert not silent, "\n".join(silent)


@pytest.mark.parametrize(
    ("command", "message"),
    read_cases("""
        evaluate d.csv --folds 2 --model best --at-least-one => --at-least-one: cannot be used with
        evaluate d.csv --folds 2 --model best --threshold 0.5 => --threshold: cannot be used with
        review d.csv --min-df 9 => --min-df
        review d.csv --weighting tfidf => --weighting
        review d.csv --apply decisions.jsonl --stop-words stop.txt => does not apply: --apply searches no findings
        review d.csv --apply decisions.jsonl --label fruit => --label: cannot be combined with --apply
        train d.csv --keywords words.toml --label fruit -o x => --label: does not apply: with --keywords
        vectorize d.csv --label fruit -o x.mtx => --label: does not apply: the format mtx has no labels
        train d.csv --exclude *.bak -o x => --exclude: does not apply: SOURCE is not a directory
        train d.npz --skip-empty -o x => --skip-empty: does not apply: SOURCE is a matrix
        evaluate d.npz -m one --label-separator ; => --label-separator: d.npz has no label field
        evaluate d.csv --predictions one.jsonl --separate-fields => --separate-fields: does not apply
        evaluate d.csv --order-field year --seed 7 => --seed: cannot be combined with --order-field
        evaluate d.csv --label-field label --predicted-field kind --min-probability 0.9 => --min-probability: does not apply: not every prediction has a probability
        vectorize d.csv --like one --separate-fields -o x => --separate-fields
        review d.csv --apply decisions.jsonl --separate-fields => --separate-fields: cannot be combined with --apply
        review d.csv --apply decisions.jsonl --spreadsheet-safe -o x.csv => --spreadsheet-safe: cannot be combined with --apply
        train folder --text-field title -o x => --text-field: does not apply: SOURCE has texts without fields
        evaluate d.csv --predictions one.jsonl --at-least-one => cannot be combined with --predictions
        evaluate several.csv --label-separator ; --predictions several.jsonl --cost costs.csv => --cost: cannot be
        evaluate several.csv --label-separator ; --predictions several.jsonl --min-probability 0.9 => --min-probability: cannot be used with
    """),
)
def test_an_option_without_meaning_for_the_labels(
    nbtext: Any, folder: Path, command: str, message: str
) -> None:
    nbtext(*command.split(), "-q", cwd=folder).refused(2, message)


def test_a_setting_of_another_source_than_the_first(nbtext: Any, folder: Path) -> None:
    """A setting of fields, or of directories, may be for the unlabeled documents alone, or for the
    labeled ones.
    """
    unlabeled = ["--unlabeled", "d.csv", "--em", "2", "-q", "-o", "x"]
    nbtext(
        "train", "folder", "--text-field", "title", "--exclude", "1*", *unlabeled, cwd=folder
    ).ok()
    nbtext(
        "review d.csv --against folder --text-field title --exclude 1*",
        cwd=folder,
    ).ok()
    (folder / "x").unlink()


def test_a_typed_separator_holds_for_a_model_of_texts_without_fields(
    nbtext: Any, folder: Path
) -> None:
    evaluated = ["evaluate", "several.csv", "-m", "folder_model", "-q"]
    nbtext(*evaluated, "--label-separator", ";", cwd=folder).refused(1, "the document has 2 labels")


def test_costs_of_labels_that_no_document_has(nbtext: Any, folder: Path) -> None:
    (folder / "wrong.csv").write_text("froot,tool,100\n")
    costs = ["--cost", "wrong.csv", "-q"]
    nbtext("evaluate", "d.csv", "--predictions", "one.jsonl", *costs, cwd=folder).refused(
        1, "no label 'froot'"
    )
