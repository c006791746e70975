"""What an error advises can be typed, and improves the input that caused it."""

import ast
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import nbtext as package
from nbtext import TextClassifier, save_model
from nbtext.errors import ModelError

SKIP = "--skip-"  # options that leave out what was not found
OBJECTS = '[{"text": "good fine", "label": "a"},\n {"text": "bad poor", "label": "b"}]'


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.jsonl", '{"body": "good", "label": "a"}\n{"body": "bad", "label": "b"}\n', ""),
        ("t.jsonl", '{"text": "good", "tag": "a"}\n{"text": "bad", "tag": "b"}\n', ""),
        ("t.json", '[{"text": "good", "tag": "a"}]', "--label-field lable"),
        ("t.csv", "text,tag\ngood,a\nbad,b\n", ""),
        ("t.txt", "good\nbad\n", ""),
        ("t.mbox", "From a Mon Jan  1 00:00:00 2024\nX-A: b\n\ngood\n", "--label-field X-Label"),
        ("d/1", "good", ""),
        ("t.csv", "text,tag\ngood,a\nbad,b\n", "--label-field tag --missing-labels a,b"),
    ],
)
@pytest.mark.parametrize("command", ["train", "evaluate --folds 2", "review"])
def test_nothing_is_skipped_that_was_not_found(
    nbtext: Any, tmp_path: Path, command: str, name: str, content: str, options: str
) -> None:
    """If no document has the text or the label, leaving out those without it leaves none."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    if command == "review" and "tag" in content:
        return  # it needs no labels
    output = "-o m" if command == "train" else ""
    done = nbtext(f"{command} {name.removesuffix('/1')} {options} {output}")
    if command != "review":
        assert done.status == 1 and SKIP not in done.err, done.err
    assert SKIP not in done.err


@pytest.mark.parametrize("option", ["--skip-unlabeled", "--skip-empty"])
@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.txt", "d"])
def test_what_others_have_can_be_skipped(
    nbtext: Any, tmp_path: Path, name: str, option: str
) -> None:
    """Where other documents have it, the hint names the option, which works."""
    lines = {
        "t.jsonl": ['{"text": "good fine", "label": "a"}', '{"text": "bad", "label": "b"}'],
        "t.csv": ["text,label", "good fine,a", "bad,b"],
        "t.txt": ["__label__a good fine", "__label__b bad"],
    }
    if name == "d":
        for place in ("a/1.txt", "b/2.txt", "3.txt"):
            (tmp_path / "d" / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "d" / place).write_text("good fine")
    elif option == "--skip-empty":
        if name != "t.jsonl":
            return  # a blank text is a document
        (tmp_path / name).write_text("\n".join([*lines[name], '{"label": "a"}']))
    else:
        last = {"t.jsonl": '{"text": "x y"}', "t.csv": "x y,", "t.txt": "x y"}[name]
        (tmp_path / name).write_text("\n".join([*lines[name], last]))
    if option == "--skip-unlabeled" or name == "t.jsonl":
        nbtext(f"train {name} -o m").refused(1, f"such documents with {option}")
        assert "skipped 1: without a" in nbtext(f"train {name} -o m {option}").ok().err


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.json", f'{{"data": {OBJECTS.replace(chr(10), "")}}}', ""),
        ("t.json", f'{{"data": {OBJECTS}}}\n', ""),
        ("t.json", f'{{"meta": {{"n": 2}},\n "results": {{"the items": {OBJECTS}}}}}\n', ""),
        ("t.json", '{"x": {"text": "good", "label": "a"}, "y": {"text": "bad", "label": "b"}}', ""),
        ("t.jsonl", OBJECTS.replace("\n", "") + "\n", ""),
        ("t.json", '[["good fine", "a"],\n ["bad, poor", "b"]]', "--text-field 1 --label-field 2"),
        ("t.jsonl", '["good fine", "a"]\n["bad poor", "b"]\n', "--text-field 1 --label-field 2"),
        (
            "t.json",
            '{\n "text": "good",\n "label": "a"\n}\n{\n "text": "x",\n "label": "b"\n}\n',
            "",
        ),
        ("t.txt", "class__a good fine\nclass__b bad poor\n", ""),
        ("t.txt", "__lab__a good fine\n__lab__b bad poor\n", ""),
    ],
)
def test_programs_that_are_advised(
    nbtext: Any, tmp_path: Path, name: str, content: str, options: str
) -> None:
    """What jq or sed makes of the file, in one or two steps, is trained on."""
    path = tmp_path / name
    path.write_text(content)
    for _ in range(2):
        done = nbtext(f"train {path} -o m")
        assert done.status == 1 and SKIP not in done.err
        advised = re.search(r"(jq -[cr] (?:'[^']+'|\.)|sed '[^']+')", done.err)
        assert advised is not None, done.err
        if shutil.which(advised[1][:3].strip()) is None:
            pytest.skip("the program is not installed")
        new = subprocess.run(
            f"{advised[1]} {path}", shell=True, capture_output=True, text=True, check=True
        ).stdout
        path = tmp_path / (
            "new.csv" if "@csv" in advised[1] else "new.txt" if "sed" in advised[1] else "new.jsonl"
        )
        path.write_text(new)
        done = nbtext(f"train {path} -o m --force {options}")
        if done.status == 0:
            break
    assert ": 2 documents, 2 labels" in done.ok().err


@pytest.mark.parametrize("mark", ["|", "^", "\x01", "\t", ";", "::"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.psv", "t", "t.txt"])
def test_separators_of_tables(nbtext: Any, tmp_path: Path, name: str, mark: str) -> None:
    """What divides the header into the wanted columns is named, as it is typed, and reads them."""
    rows = [("text", "label"), ("good", "a"), ("bad", "b")]
    (tmp_path / name).write_text("".join(f"{text}{mark}{label}\n" for text, label in rows))
    done = nbtext(f"train {name} -o m")
    if done.status:
        typed = f"'{mark[0]}'" if mark.isprintable() else f"${mark!r}"
        done.refused(1, f"give --delimiter {typed}")
        done = nbtext("train", name, "-o", "m", "--delimiter", mark[:1])
    assert ": 2 documents, 2 labels" in done.ok().err


def test_labels_at_the_end_of_a_line(nbtext: Any, tmp_path: Path) -> None:
    """It says that labels come first, and the option that it names reads them."""
    for mark in (" ", "\t"):
        lines = [f"{text}{mark}__label__{label}\n" for text, label in (("good", "a"), ("bad", "b"))]
        (tmp_path / "t.txt").write_text("".join(lines))
        done = nbtext("train t.txt -o m --force")
        done.refused(1, "labels come first in a line; --input-format fasttext reads")
        done = nbtext("train t.txt -o m --force --input-format fasttext").ok()
        assert "2 documents, 2 labels" in done.err
        (tmp_path / "new.txt").write_text("__label__a good\n__label__b bad\n")


PACKAGE = Path(package.__file__).parent
EXAMPLE = '{"id": "42", "place": "x.csv:43", "decision": "relabel", "label": "ham"}'


def make_topics(n_documents: int, seed: int) -> str:
    """Rows of two labels, whose documents have few of the words of their label, and others."""
    chance = random.Random(seed)
    rows = ["text,label"]
    for number in range(n_documents):
        words = chance.choices([f"{'ab'[number % 2]}{n}" for n in range(40)], k=5)
        words += chance.choices([f"x{n}" for n in range(20)], k=5)
        rows.append(f"{' '.join(words)},{'ab'[number % 2]}")
    return "\n".join(rows)


FILES = {
    "topics.csv": make_topics(16, 1),
    "others.csv": make_topics(400, 2),
    "t.csv": "id,text,label\n1,red round apple,a\n2,long banana,b\n3,red small,a\n4,big banana,b\n",
    "two.csv": "text,label\nred big round,a\nyellow tart,b\n",
    "few.csv": "text,label\nred apple,a\nlong banana,b\n",
    "more.csv": "text,label\nblue round plum,c\nred apple tart,a\n",
    "twice.csv": "id,text,label\n1,red,a\n1,blue,b\n2,green,a\n",
    "numbers.csv": "text,label\nred,9\n",
    "s.jsonl": '{"text": "red", "label": ["a"]}\n{"text": "long", "label": ["b", "a"]}\n' * 2,
    "k.csv": "a,red\nb,banana\n",
    "cost": "a,b,1\n",
    "unknown": "a,z,1\n",
    "double": "a,b,1\na,b,2\n",
    "short": "a,b\n",
    "one": '{"id": "1", "decision": "relabel", "label": "b"}\n',
    "same": '{"id": "1", "decision": "keep"}\n{"id": "1", "decision": "remove"}\n',
    "placed": '{"id": "1", "place": "twice.csv:2", "decision": "relabel", "label": "b"}\n',
    "vague": '{"id": "1", "decision": "relabel"}\n',
    "example": EXAMPLE,
    "x.csv": "id,text,label\n" + "".join(f"{n},red,spam\n" for n in range(1, 50)),
    "latin": b'{"id": "1", "decision": "keep", "note": "\xe4"}\n',
    "utf8": '{"id": "1", "decision": "keep", "note": "ä"}\n',
    "empty.csv": "text,label\n",
}
# the rooms whose hints are typed; those of documents are in the tests above
ROOMS = """
model/growth.py
model/settings.py
artifact/reduction.py
settings.py
cluster/*.py
applications/review/*.py
applications/label/*.py
applications/prevalence/*.py
""".strip().splitlines()
# Commands that make what is needed (-: none); one that is refused; a part of the hint; and commands
# that do what it says (-: none that needs no terminal or cluster)
TYPED = r"""
train t.csv -o m => forget m t.csv => delete the model instead
    => rm m
train s.jsonl -o m => calibrate m s.jsonl => train it with --keep-sample N, and update or merge calibrate it again; or train it on all documents
    => train s.jsonl --keep-sample 9 -o n; update n s.jsonl; merge n n -o o; train s.jsonl s.jsonl -o o
train t.csv -o m => calibrate m more.csv => add documents of it with nbtext update
    => update m more.csv; calibrate m more.csv
train t.csv --model gaussian --keep-sample 9 -o m => calibrate m two.csv => train it again
    => train t.csv two.csv --model gaussian -o m
train t.csv --model gaussian -o m => update m two.csv => with --keep-sample N, where N is at least the number of documents
    => train t.csv --model gaussian --keep-sample 4 -o m; update m two.csv
vectorize t.csv --weighting tfidf -o w.npz; train w.npz -o m => update m w.npz => with --keep-sample N, where N is at least the number of documents
    => train w.npz --keep-sample 4 -o m; update m w.npz
train t.csv -o m => train m --model svm -o n => train it on the texts
    => train t.csv --model svm -o n
train t.csv -o m => train m --model auto -o n => train with --keep-sample, or on the texts
    => train t.csv --model auto -o n; train t.csv --keep-sample 9 -o m; train m --model auto -o n
train t.csv -o m => train m --optimize accuracy -o n => train with --keep-sample, or on the texts
    => train t.csv --optimize accuracy -o n; train t.csv --keep-sample 9 -o m; train m --optimize accuracy -o n
train t.csv -o m => train m --min-recall a=0.1 -o n => train with --keep-sample, or on the texts
    => train t.csv --min-recall a=0.1 -o n; train t.csv --keep-sample 9 -o m; train m --min-recall a=0.1 -o n
train t.csv --keywords k.csv -o m => forget m two.csv => train it again without the documents
    => train t.csv --keywords k.csv -o m
train topics.csv --unlabeled others.csv --em 5 -o m => update m two.csv => or first fit the labeled documents alone: nbtext train MODEL -o ANOTHER
    => train m -o n; update n two.csv
train t.csv --model svm -o m => update m two.csv => train it again on all documents
    => train t.csv two.csv --model svm -o m
numbers => update m t.csv => correct it, or train a new model with texts as labels
    => update m numbers.csv; train t.csv -o m
pipeline => update m two.csv => train on the texts, or convert a pipeline of binary counts
    => train t.csv -o m; update m two.csv; binary; update m two.csv
train t.csv -o m => train m --max-model-bytes 1KB -o n =>  or more
    => train m --max-model-bytes {number} -o n
- => train t.csv --hash-bits 18 --max-model-bytes 3KB -o n => train without --hash-bits
    => train t.csv --max-model-bytes 3KB -o n
- => train t.csv --model gaussian --max-model-bytes 2950 -o n => use another model, such as multinomial
    => train t.csv --model multinomial --max-model-bytes 2950 -o n
train t.csv --max-model-bytes 2950 -o m => export m --max-model-bytes 1KB -o n.joblib => use the model in full
    => train t.csv -o m; export m --max-model-bytes 2950 -o n.joblib
train few.csv --model svm -o m => prevalence two.csv -m m => train it again with --keep-sample N, on 5 documents or more, two of each label
    => train t.csv two.csv --model svm --keep-sample 9 -o m; prevalence two.csv -m m
train t.csv --keywords k.csv -o m => prevalence two.csv -m m => train it again, on two documents of a label or more, or refit it with nbtext calibrate
    => train t.csv -o n; prevalence two.csv -m n; calibrate m t.csv; prevalence two.csv -m m
pipeline => prevalence two.csv -m m => train it again, on two documents of a label or more\n
    => train t.csv -o m; prevalence two.csv -m m
- => train t.csv -o z --cluster here => give tcp://HOST:8786, or local
    => -
- => train t.csv -o z --cluster tcp://127.0.0.1:1 => give the absolute path
    => -
- => train - --cluster local -o z => name a file that all can read
    => -
- => train t.csv -o z --cluster local --token-pattern [a-z]+ => leave out --token-pattern or --cluster
    => train t.csv -o z --token-pattern [a-z]+
- => train t.csv --C 9 -o m => leave out this option
    => train t.csv -o m
train t.csv -o m => predict t.csv -m m --rejected x.csv => add --keep, or leave out this option
    => predict t.csv -m m
train t.csv -o m => predict t.csv -m m --threshold a=0.5 --coverage 0.9 => leave out one of them
    => predict t.csv -m m --threshold a=0.5; predict t.csv -m m --coverage 0.9
train t.csv -o m => predict t.csv -m m --threshold a=0.5 --threshold a=0.6 => keep one of them
    => predict t.csv -m m --threshold a=0.6
train t.csv -o m => predict t.csv -m m --threshold a=1.5 => give a number from 0 to 1
    => predict t.csv -m m --threshold a=0; predict t.csv -m m --threshold a=1
train t.csv -o m => predict t.csv -m m --coverage 1.5 => 0.95 means that 19 of 20 prediction sets contain the true label
    => predict t.csv -m m --coverage 0.95
train t.csv -o m => predict t.csv -m m --at-least-one => use --threshold LABEL=P or --min-probability
    => predict t.csv -m m --threshold a=0.5; predict t.csv -m m --min-probability 0.5
train s.jsonl -o m => predict t.csv -m m --min-probability 0.5 => use --threshold or --at-least-one
    => predict t.csv -m m --threshold 0.5; predict t.csv -m m --at-least-one
train t.csv -o m => predict t.csv -m m --cost unknown => its labels are a, b
    => predict t.csv -m m --cost cost
train t.csv -o m => predict t.csv -m m --cost double => keep one of the lines
    => predict t.csv -m m --cost cost
train t.csv -o m => predict t.csv -m m --cost short => each line has a true label, a predicted label and a cost, separated by commas, semicolons or tabs
    => predict t.csv -m m --cost cost
- => review twice.csv --apply one -o n.csv => add the place of the document
    => review twice.csv --apply placed -o n.csv
- => review two.csv --apply one -o n.csv => name the documents with which the review was made
    => review t.csv --apply one -o n.csv
- => review t.csv --apply same -o n.csv => keep one of them
    => review t.csv --apply one -o n.csv
- => review t.csv --apply vague -o n.csv => a line is, for example, {"id": "42", "place": "x.csv:43", "decision": "relabel", "label": "ham"}
    => review x.csv --apply example -o n.csv
- => review t.csv --apply latin -o n.csv => save it as UTF-8
    => review t.csv --apply utf8 -o n.csv
- => review twice.csv s.jsonl --apply placed -o n.csv => write JSON lines: -o FILE.jsonl
    => review twice.csv s.jsonl --apply placed -o n.jsonl
- => review - --report n.html => name a file instead of -
    => review t.csv --report n.html
- => label t.csv -o - => name a file
    => -
- => label t.csv -o n.jsonl => run it in a terminal, alone
    => -
"""
CASES = [line.split(" => ") for line in TYPED.strip().replace("\n    =>", " =>").splitlines()]
OF_LISTS = "train it again on all documents, or give documents with one label each"
# their errors are those of workers, of a terminal and of large inputs
ELSEWHERE = f"""
give them more memory, or fewer threads
check that the scheduler is running and has workers
install it there
name a new folder
give a folder in which you can write
put it on a file system that all workers share
install the same versions
choose one of
start without this model, or with one of several labels
name another file with -o
name a source with documents
name a field with fewer groups
train a model on groups of labels
{OF_LISTS}
""".strip().splitlines()


def option_of(hint: str) -> str:
    """The hint as the command line shows it, with options in place of the names of settings."""
    return re.sub("‹(.*?)›", lambda name: "--" + name[1].replace("_", "-").replace("=", " "), hint)


def hints_of(path: Path) -> list[str]:
    """The constant parts of the hints in a file of the program, of two words at least."""
    nodes = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            nodes.append(node.value)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = target.id if isinstance(target, ast.Name) else ""
            if node.value is not None and (name == "hint" or name.endswith("HINT")):
                nodes.append(node.value)
    constants = [
        each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Constant)
    ]
    parts = [
        option_of(each.value).strip(" ,;") for each in constants if isinstance(each.value, str)
    ]
    return [part for part in parts if " " in part]


def test_each_hint_is_typed() -> None:
    """Of the rooms above, each hint in the code is one of the table."""
    there = " | ".join([*(hint for _, _, hint, _ in CASES), *ELSEWHERE])
    found = [hint for room in ROOMS for path in PACKAGE.glob(room) for hint in hints_of(path)]
    assert len(found) > 50
    assert [hint for hint in found if hint not in there] == []
    assert [hint for hint in ELSEWHERE if hint not in found] == []


def convert_pipeline(*, is_binary: bool) -> TextClassifier:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(CountVectorizer(binary=is_binary), MultinomialNB())
    return TextClassifier.from_sklearn(pipeline.fit(["red", "long banana"] * 2, ["a", "b"] * 2))


MADE = {
    "numbers": lambda: TextClassifier().fit(["red", "long banana"] * 2, [9, 10] * 2),
    "pipeline": lambda: convert_pipeline(is_binary=False),
    "binary": lambda: convert_pipeline(is_binary=True),
}


@pytest.mark.parametrize(("before", "wrong", "hint", "advised"), CASES)
def test_what_a_hint_says_is_typed(
    nbtext: Any, tmp_path: Path, before: str, wrong: str, hint: str, advised: str
) -> None:
    """What causes the error loses nothing, and after what the hint says, there is none."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def type_commands(commands: str) -> None:
        for command in commands.split("; "):
            if command == "rm m":
                (tmp_path / "m").unlink()
            elif command in MADE:
                save_model(MADE[command](), tmp_path / "m")
            elif command != "-":
                done = nbtext(f"{command} --force" if " -o " in command else command).ok()
                assert "skipped" not in done.err

    type_commands(before)
    held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = nbtext(wrong)
    assert done.status in (1, 2)
    assert (done.out, done.err.count("\n")) == ("", 1)
    assert hint.replace("\\n", "\n") in done.err.partition("; ")[2], done.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == held
    number = re.search(r"give (\d+) or more", done.err)
    type_commands(advised.replace("{number}", number[1] if number else ""))


def test_what_a_hint_says_in_python() -> None:
    """As above, of labels that no source has."""
    classifier = TextClassifier().fit(["red round", "long banana"] * 2, ["a", "b"] * 2)
    with pytest.raises(ModelError, match=OF_LISTS):
        classifier.partial_fit(["red"], [["a", "b"]])
    assert classifier.partial_fit(["red"], ["a"]).counts_.statistics.n_documents == 5
    lists = [["a"], ["b"], ["a"], ["b"], ["a", "b"]]
    TextClassifier().fit(["red round", "long banana", "red", "long", "red"], lists)
