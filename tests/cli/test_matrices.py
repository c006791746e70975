"""Matrices go through every command: what a command says of texts, it says of their matrix, in each
format.
"""

import io
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DELETED
from made_files import write_rows

# what each command with a SOURCE does with a matrix in its place; an output is compared, or the
# model that is written
JOBS = {
    "predict": "predict SOURCE -m m.joblib --to jsonl",
    "evaluate": "evaluate SOURCE -m m.joblib --to json",
    "explain": "explain SOURCE -m m.joblib --to jsonl",
    "prevalence": "prevalence SOURCE -m m.joblib --to json",
    "compare": "compare SOURCE -m m.joblib -m o.joblib --to json",
    "review": "review SOURCE --to json",
    "train": "train SOURCE -o out",
    "update": "update m.joblib SOURCE -o out",
    "forget": "forget m.joblib SOURCE -o out",
    "calibrate": "calibrate m.joblib SOURCE -o out",
    "vectorize": "vectorize SOURCE --like m.joblib -o out",
}
REFUSED = {"label", "sample", "demo"}  # labeling shows texts; these write some
WITH_NUMBERS = sorted(JOBS.keys() - {"train", "review"})  # the models of these are of columns


def numbers_apart(text: str) -> tuple[str, list[float]]:
    """The text of a result without its numbers, and these; times are left out."""
    plain = re.sub(r'"seconds": [^,}]*', "", text)
    pattern = r"-?\b\d+\.\d+(?:e-?\d+)?\b"
    return re.sub(pattern, "#", plain), [float(number) for number in re.findall(pattern, plain)]


def assert_alike(one: str, other: str) -> None:
    """Equal but for the last digits, because sums of floats have another order."""
    words, numbers = numbers_apart(one)
    other_words, other_numbers = numbers_apart(other)
    assert words == other_words
    assert numbers == pytest.approx(other_numbers, rel=1e-9, abs=1e-12)


@pytest.fixture
def project(nbtext: Any, letters: Path, tmp_path: Path) -> Path:
    """A model of the training letters and some test letters, another one, and matrices of the test
    letters.
    """
    nbtext(
        f"train {letters}/train {letters}/test --keep-sample 500 -o m.joblib",
    ).ok()
    nbtext(
        f"train {letters}/train {letters}/test --model bernoulli -o o.joblib",
    ).ok()
    for suffix in ("npz", "svmlight", "mtx"):
        nbtext(f"vectorize {letters}/test --like m.joblib -o x.{suffix}").ok()
    return tmp_path


def test_no_command_is_left_out(nbtext: Any) -> None:
    """Each command with a SOURCE is in the walk."""
    commands = set(re.findall(r"^  ([a-z]+) ", nbtext("--help").ok().out, re.MULTILINE))
    with_source = {name for name in commands if "SOURCE..." in nbtext(f"{name} -h").out[:200]}
    assert with_source - REFUSED == set(JOBS) - DELETED


@pytest.mark.parametrize("job", JOBS)
def test_a_matrix_says_what_its_texts_say(
    nbtext: Any, letters: Path, project: Path, job: str
) -> None:
    """From a file and from a pipe; models and matrices have the same bytes."""
    found = []
    for source, given in (
        (str(letters / "test"), b""),
        ("x.npz", b""),
        ("-", (project / "x.npz").read_bytes()),
    ):
        done = nbtext(*JOBS[job].replace("SOURCE", source).split(), "-q", input=given).ok()
        written = (project / "out").read_bytes() if (project / "out").exists() else b""
        found.append((done.out, written))
    for out, written in found[1:]:
        if job != "train":  # on columns that were chosen before; see below
            assert written == found[0][1]
        assert_alike(out, found[0][0])


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--weighting tfidf",
        "--weighting tfidf --model nbsvm",
        "--min-df 3 --max-features 200 --ngrams 1,2",
        "--select chi2:50 --weighting tfidf",
        "--view word:1 --view char_wb:2,3:tfidf --model svm",
        "--weighting binary",
        "--hash-bits 12",
        "--vocabulary words.txt --max-features 2",
    ],
)
def test_a_model_of_a_matrix_is_that_of_its_texts(
    nbtext: Any, letters: Path, tmp_path: Path, options: str
) -> None:
    """To the byte, through a pipe, however the features are selected and weighted."""
    (tmp_path / "words.txt").write_text("noise\npermit\nstreet\ntrash\nzzz\n")
    features, _, model = options.partition(" --model ")
    chosen = ("--model", model) if model else ()
    train = str(letters / "train")
    nbtext("train", train, *features.split(), *chosen, "-o", "texts.joblib").ok()
    nbtext("vectorize", train, *features.split(), "-o", "x.npz").ok()
    nbtext(
        "train", "-", *chosen, "-o", "matrix.joblib", input=(tmp_path / "x.npz").read_bytes()
    ).ok()
    assert (tmp_path / "matrix.joblib").read_bytes() == (tmp_path / "texts.joblib").read_bytes()
    test = str(letters / "test")
    nbtext(f"vectorize {test} --like texts.joblib -o a.npz").ok()
    nbtext(f"vectorize {test} --like x.npz -o b.npz").ok()
    if not model:  # linear models round what they store
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    expected = nbtext(f"predict {test} -m texts.joblib --to jsonl").ok().out
    assert_alike(nbtext("predict a.npz -m texts.joblib --to jsonl").ok().out, expected)


@pytest.mark.parametrize("job", WITH_NUMBERS)
def test_columns_with_numbers(nbtext: Any, letters: Path, project: Path, job: str) -> None:
    """Columns are matched by number: the answers and models are the same; a warning says what is
    not known.
    """
    of_texts = nbtext(*JOBS[job].replace("SOURCE", str(letters / "test")).split()).ok().out
    model = (project / "out").read_bytes() if (project / "out").exists() else b""
    columns = JOBS[job].replace("SOURCE", "x.svmlight")
    done = nbtext(columns, PYTHONWARNINGS="default").ok()
    assert "columns are matched by their numbers" in done.err
    if job == "vectorize":
        with np.load(project / "out") as written, np.load(io.BytesIO(model)) as expected:
            for name in ("data", "indices", "indptr", "feature_names", "labels"):
                assert np.array_equal(written[name], expected[name])
        return
    assert_alike(re.sub(r'"id": "[^"]*"', "", done.out), re.sub(r'"id": "[^"]*"', "", of_texts))
    assert (project / "out").read_bytes() == model if model else True


@pytest.mark.parametrize("job", WITH_NUMBERS)
def test_columns_without_labels(nbtext: Any, project: Path, job: str) -> None:
    """Matrix Market holds none, which a command that needs them says."""
    done = nbtext(JOBS[job].replace("SOURCE", "x.mtx"), PYTHONWARNINGS="ignore")
    needs = job not in ("predict", "explain", "prevalence", "vectorize")
    assert (done.status, "the document has no label" in done.err) == (int(needs), needs)


@pytest.mark.parametrize("suffix", ["npz", "svmlight", "mtx"])
def test_a_matrix_at_a_url(nbtext: Any, project: Path, suffix: str) -> None:
    """It is read as the file is; what cannot be read is the URL, and not the output."""
    quiet = {"PYTHONWARNINGS": "ignore"}
    url = project.as_uri()
    expected = nbtext(f"predict x.{suffix} -m m.joblib", **quiet).ok().out
    found = nbtext(f"predict {url}/x.{suffix} -m m.joblib", **quiet).ok().out
    assert found.replace(f"{url}/", "") == expected
    said = nbtext(f"predict {url}/y.{suffix} -m m.joblib -o out.jsonl").refused(1).err
    assert f"{url}/y.{suffix}: cannot be read" in said and "out.jsonl" not in said


@pytest.mark.parametrize("command", ["predict x.mtx -m m.joblib", "predict x.mtx -m c.joblib"])
def test_a_declared_width_is_that_of_the_model(nbtext: Any, project: Path, command: str) -> None:
    """A file that says how many columns it has is refused if the model has more; svmlight does not
    say it.
    """
    entries = "1 1 1\n2 3 2\n"
    (project / "x.mtx").write_text(
        f"%%MatrixMarket matrix coordinate integer general\n2 3 2\n{entries}"
    )
    (project / "x.svmlight").write_text("0 1:1\n1 3:2\n")
    (project / "c.svmlight").write_text("0 1:1 5:1\n1 2:1 3:1\n" * 4)
    nbtext("train c.svmlight -o c.joblib", PYTHONWARNINGS="ignore").ok()
    done = nbtext(*command.split())
    assert (done.status, "3 columns without names, and the model has" in done.err) == (1, True)
    nbtext(*command.replace(".mtx", ".svmlight").split(), PYTHONWARNINGS="ignore").ok()


@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
def test_columns_from_0(nbtext: Any, project: Path) -> None:
    """A file of scikit-learn counts columns from 0; what is advised makes it count from 1."""
    datasets = pytest.importorskip("sklearn.datasets")
    rows = np.array([[1, 0, 2], [0, 3, 0], [0, 1, 4]])
    write = partial(datasets.dump_svmlight_file, rows, [-1, 1, 1], query_id=[1, 1, 2], comment="n")
    write(f=str(project / "zero.svmlight"), zero_based=True)
    write(f=str(project / "one.svmlight"), zero_based=False)
    said = (
        nbtext("train zero.svmlight -o m0").refused(1, "has the column 0", "zero_based=False").err
    )
    (command,) = re.findall(r"perl -pe '[^']+' ", said)
    with open(project / "new.svmlight", "wb") as file:
        subprocess.run(f"{command} zero.svmlight", shell=True, cwd=project, stdout=file, check=True)
    for name in ("new", "one"):
        nbtext(f"train {name}.svmlight -o {name}.joblib", PYTHONWARNINGS="ignore").ok()
    assert (project / "new.joblib").read_bytes() == (project / "one.joblib").read_bytes()
    assert "1" in nbtext("predict new.svmlight -m one.joblib", PYTHONWARNINGS="ignore").ok().out


@pytest.mark.parametrize(
    ("command", "says"),
    [
        case.split(" | ")
        for case in """
train x.npz --model best -o n.joblib | best needs texts, but SOURCE is a matrix
evaluate x.npz --folds 2 --model best | best needs texts, but SOURCE is a matrix
train x.npz --ngrams 1,2 -o n.joblib | --ngrams: does not apply: SOURCE is a matrix
predict x.npz -m m.joblib --text-field body | --text-field: does not apply: SOURCE is a matrix
review x.npz --report r.html | --report: does not apply: it shows the texts
predict x.npz -m m.joblib --add-columns | columns can be added only to
prevalence x.npz -m m.joblib --group-field month | has no field `month`
vectorize x.npz --like m.joblib --min-df 2 -o y.npz | --min-df: does not apply
predict two.npz -m m.joblib | different settings: ngrams is 1,2 and 1,1
update m.joblib weights.svmlight -o n.joblib | needs counts, and the matrix holds weights
predict wide.svmlight -m m.joblib | columns without names, and the model has
update m.joblib wide.svmlight -o n.joblib | columns without names, and the model has
vectorize wide.svmlight --like m.joblib -o n.npz | columns without names, and the model has
vectorize x.svmlight -o n.npz | the matrix has no names of features
compare x.svmlight -m m.joblib -m two.joblib | the models have different features or labels
""".strip().splitlines()
    ],
)
def test_what_a_matrix_cannot_do(
    nbtext: Any, letters: Path, project: Path, command: str, says: str
) -> None:
    """It is refused in one line with the reason."""
    nbtext(f"vectorize {letters}/test --ngrams 1,2 -o two.npz").ok()
    nbtext("train two.npz -o two.joblib").ok()
    (project / "weights.svmlight").write_text("0 1:0.5 3:0.25\n1 2:0.5\n")
    (project / "wide.svmlight").write_text("0 1:1 99999:1\n")
    done = nbtext(*command.split())
    lines = [line for line in done.err.splitlines() if "warning" not in line]
    assert (done.status in (1, 2), len(lines), done.out) == (True, 1, "")
    assert says in lines[0]


def test_a_matrix_of_several_labels_and_of_a_smaller_model(nbtext: Any, tmp_path: Path) -> None:
    """Several labels of a document go through .npz and svmlight; a model that was made smaller has
    columns, too.
    """
    rows = [
        {
            "text": f"{'red ' * (n % 3)}{'blue ' * (n % 2)}word{n % 7} word{n % 5}",
            "label": ["red"] * (n % 3 > 0) + ["blue"] * (n % 2),
        }
        for n in range(60)
    ]
    write_rows(tmp_path / "t.jsonl", rows)
    nbtext("train t.jsonl -o m.joblib").ok()
    nbtext("train t.jsonl --max-model-bytes 20KB -o s.joblib").ok()
    for model in ("m.joblib", "s.joblib"):
        for suffix in ("npz", "svmlight"):
            nbtext(f"vectorize t.jsonl --like {model} -o x.{suffix}").ok()
            found = [
                nbtext(f"evaluate {source} -m {model} --to json", PYTHONWARNINGS="ignore").ok().out
                for source in ("t.jsonl", f"x.{suffix}")
            ]
            assert_alike(*found)


def test_sources_of_both_kinds(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """Several matrices, and texts beside them, make the model of all documents."""
    folders = [str(letters / "train"), str(letters / "test")]
    nbtext("train", *folders, "-o", "texts.joblib").ok()
    for name, folder in zip("ab", folders, strict=True):
        nbtext(f"vectorize {folder} -o {name}.npz").ok()
    nbtext("train a.npz b.npz -o matrices.joblib").ok()
    nbtext("train", folders[0], "b.npz", "-j", "2", "-o", "mixed.joblib").ok()
    assert (tmp_path / "matrices.joblib").read_bytes() == (tmp_path / "texts.joblib").read_bytes()
    figures = [
        nbtext("evaluate", folders[1], "-m", f"{name}.joblib").ok().out
        for name in ("texts", "mixed")
    ]
    assert figures[0] == figures[1]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("# written by\n+1 qid:7 1:1 # a\n\n-1 2:1\n", ["1", "-1"]),
        ("+1 1:1\n-1 2:1\n0 3:1\n", ["1", "-1", None]),
        ("1 1:1\n-1 2:1\n0 3:1\n", ["1", None, "0"]),
        ("2 1:1\n-1 2:1\n3 3:1\n", ["2", None, "3"]),
    ],
)
def test_labels_of_svmlight(
    nbtext: Any, tmp_path: Path, text: str, labels: list[str | None]
) -> None:
    """-1 and 1 alone are labels, and then 0 is missing; in other files, -1 is. Comments, blank
    lines and the numbers of queries are skipped.
    """
    (tmp_path / "x.svmlight").write_text(text)
    said = nbtext("train x.svmlight -o m --skip-unlabeled").ok().err
    assert said.count("skipped 1: without a label") == labels.count(None)
    if "0 3:1" in text:
        missing = "-1" if labels[1] is None else "0"
        assert f": {missing} is read as no label" in said
    ran = nbtext("predict x.svmlight -m m --to csv", PYTHONWARNINGS="ignore").ok()
    found = ran.rows[1:]
    pairs = zip(found, labels, strict=True)
    assert all(label in (None, row[1]) for row, label in pairs)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line and line[0] != "#"]
    assert [row[0] for row in found] == [f"x.svmlight:{line}" for line in lines]


def test_one_label_and_unlabeled_documents_of_svmlight(nbtext: Any, tmp_path: Path) -> None:
    """What vectorize writes is read as it was, also if a document has nothing."""
    write_rows(
        tmp_path / "t.jsonl", [{"text": "red", "label": "a"}, {"text": "blue", "label": "b"}]
    )
    rows = [{"text": "blue", "label": "b"}, {"text": "red blue"}, {"text": "zzz"}]
    write_rows(tmp_path / "u.jsonl", rows)
    nbtext("train t.jsonl -o m").ok()
    nbtext("vectorize u.jsonl --like m -o u.svmlight").ok()
    ran = nbtext("predict u.svmlight -m m", PYTHONWARNINGS="ignore").ok()
    assert ran.out.count("\n") == 3
    ran = nbtext("evaluate u.svmlight -m m --skip-unlabeled --to json", PYTHONWARNINGS="ignore")
    assert (ran.json["accuracy"], ran.json["documents"]) == (1, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"0 1:x\n",
        b"0 0:1\n",
        b"a 1:1\n",
        b"0 1:nan\n",
        b"0 99999999999:1\n",
        b"\xff\xfe 1:1\n",
        b"0 1\n",
    ],
)
def test_broken_svmlight(nbtext: Any, tmp_path: Path, content: bytes) -> None:
    """One line names the file."""
    (tmp_path / "x.svmlight").write_bytes(content)
    nbtext("train x.svmlight -o m.joblib", PYTHONWARNINGS="ignore").refused(1, "x.svmlight")


@pytest.mark.parametrize(
    "content",
    [
        b"%%MatrixMarket matrix array real general\n1 1\n1\n",
        b"%%MatrixMarket matrix coordinate real general\n1 1 2\n",
        b"%%MatrixMarket matrix coordinate real general\n99999999999 1 0\n",
        b"%%MatrixMarket matrix coordinate real general\n1000000 2 0\n",
        b"%%MatrixMarket matrix coordinate real general\n1 1 1\n2 1 1\n",
        b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 1\n",
    ],
)
def test_broken_matrix_market(nbtext: Any, tmp_path: Path, content: bytes) -> None:
    """One line names the file; a header that claims much allocates nothing."""
    (tmp_path / "x.mtx").write_bytes(content)
    nbtext("train x.mtx --label a -o m.joblib", PYTHONWARNINGS="ignore").refused(1, "x.mtx")
