"""Record what many command lines print, to compare two versions of the program.

    python tests/processes/transcripts.py PROGRAM OUT.json      # run all command lines with this
    nbtext python tests/processes/transcripts.py --compare A.json B.json

The corpus is `letters`, and tables made of it. Lines that hold a time or a size are left out.
"""

import argparse
import difflib
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

LETTERS = Path(__file__).parents[2] / "corpora" / "letters"
MODELS = [
    "auto",
    "multinomial",
    "bernoulli",
    "complement",
    "dirichlet",
    "categorical",
    "gaussian",
    "logistic",
    "nbsvm",
    "svm",
]
FORMATS = ("table", "tsv", "csv", "jsonl", "json", "markdown")
COMMANDS = [
    *(f"train letters/train --model {model} -o {model}.m" for model in MODELS),
    "train letters/train --keep-sample 50 --model multinomial -o kept.m",
    "train letters/train --weighting tfidf -o tfidf.m",
    "train letters/train --ngrams 1,2 --min-df 2 -o pairs.m",
    "train letters/train --analyzer char_wb --ngrams 2,4 -o char.m",
    "train letters/train --hash-bits 12 -o hash.m",
    "train several.jsonl -o several.m",
    "train several.jsonl --model svm -o several-svm.m",
    "train letters/train --optimize macro_f1 -o macro.m",
    "train letters/train --min-recall trash=0.9 -o target.m",
    "train table.csv --text-field body --label-field topic -o table.m",
    "train auto.m --model bernoulli -o refit.m",
    *(
        f"predict letters/test -m {model}.m --to {form}"
        for model in ("auto", "svm")
        for form in FORMATS
    ),
    *(f"predict several.jsonl -m several.m --to {form}" for form in FORMATS),
    "predict letters/test -m auto.m --to fasttext",
    "predict letters/test -m auto.m --to header",
    "predict letters/test -m auto.m --coverage 0.9 --top-k 2 --to jsonl",
    "predict table.csv -m table.m --add-columns",
    "predict letters/test -m auto.m --explain 3 --to jsonl",
    "predict letters/test -m auto.m --min-probability 0.9",
    "predict letters/test -m auto.m --threshold trash=0.3",
    "predict letters/test -m auto.m --cost costs.csv",
    "predict several.jsonl -m several.m --threshold 0.2 --at-least-one --coverage 0.9 --to jsonl",
    *(f"evaluate letters/test -m auto.m --to {form}" for form in FORMATS),
    *(f"evaluate several.jsonl -m several.m --to {form}" for form in FORMATS),
    "evaluate letters/train --folds 5 --to json",
    "evaluate several.jsonl --folds 3 --to json",
    "evaluate table.csv --text-field body --label-field topic --folds 4 --group-field author",
    "evaluate letters/test -m auto.m --coverage 0.9 --cost costs.csv --to json",
    *(f"explain letters/test/trash -m auto.m --features 3 --to {form}" for form in FORMATS),
    "explain several.jsonl -m several.m --features 2 --to jsonl",
    "explain letters/test/trash -m svm.m --features 2",
    *(f"inspect auto.m --features 3 --to {form}" for form in FORMATS),
    "inspect several.m --features 2 --to table",
    "inspect auto.m --word trash --to table",
    "inspect svm.m --features 3",
    "inspect kept.m --by mi --features 3",
    *(f"diff auto.m bernoulli.m --features 2 --to {form}" for form in FORMATS),
    *(
        f"compare letters/train --models multinomial,bernoulli --sizes 50,100 --seeds 2 --to {form}"
        for form in FORMATS
    ),
    *(f"review letters/train --to {form}" for form in FORMATS),
    "review several.jsonl --to jsonl",
    *(f"prevalence letters/test -m auto.m --to {form}" for form in FORMATS),
    "prevalence several.jsonl -m several.m",
    "update kept.m letters/test -o updated.m",
    "forget updated.m letters/test -o forgot.m",
    "merge kept.m updated.m -o merged.m",
    "calibrate auto.m letters/test -o calibrated.m",
    "sample multinomial.m -n 2 --length 5",
    "vectorize letters/train -o letters.npz",
    "inspect letters.npz",
    "train letters.npz -o matrix.m",
    "export auto.m --to csv",
    "export auto.m --to js",
    "export auto.m --to c",
    "export several.m --to js",
]
VARIABLE = re.compile(rb"seconds|elapsed|\d ms\b|\d s\b|bytes|[kM]B\b")


def make_corpus(folder: Path) -> None:
    """Write the inputs of the command lines."""
    (folder / "letters").symlink_to(LETTERS)
    texts = [
        (path.parent.name, path.read_text(encoding="utf-8"))
        for path in sorted(LETTERS.glob("train/*/*.txt"))
    ]
    topics = sorted({label for label, _ in texts})
    with (folder / "several.jsonl").open("w", encoding="utf-8") as several:
        for number, (label, text) in enumerate(texts[::2]):
            other, second = texts[(number * 7) % len(texts)]
            labels = sorted({label, other}) if number % 3 else [label]
            both = f"{text} {second}" if number % 3 else text
            several.write(json.dumps({"id": str(number), "text": both, "label": labels}) + "\n")
    with (folder / "table.csv").open("w", encoding="utf-8") as table:
        table.write("author,topic,body\n")
        for number, (label, text) in enumerate(texts):
            body = text.replace('"', "'").replace("\n", " ")
            table.write(f'{number % 17},{label},"{body}"\n')
    (folder / "costs.csv").write_text(f"{topics[0]},{topics[1]},5\n{topics[1]},,0.2\n")


def record(program: str) -> dict[str, list[str]]:
    """Run all command lines; return status, output and errors of each, without lines that vary."""
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_corpus(folder)
        for command in COMMANDS:
            ran = subprocess.run(
                [program, *shlex.split(command)], cwd=folder, capture_output=True, check=False
            )
            lines = [
                f"status {ran.returncode}".encode(),
                *ran.stdout.splitlines(),
                *ran.stderr.splitlines(),
            ]
            found[command] = [
                line.decode("utf-8", "replace") for line in lines if not VARIABLE.search(line)
            ]
    return found


def compare(first: str, second: str) -> int:
    """Print the differences of two records; return how many command lines differ."""
    before, after = (json.loads(Path(path).read_text(encoding="utf-8")) for path in (first, second))
    n_different = 0
    for command in [*before, *(command for command in after if command not in before)]:
        changes = list(
            difflib.unified_diff(before.get(command, []), after.get(command, []), lineterm="", n=0)
        )
        n_different += bool(changes)
        sys.stdout.write(
            "".join(f"{line}\n" for line in (f"== {command}", *changes[2:14])) if changes else ""
        )
    sys.stdout.write(f"{n_different} of {len(after)} command lines differ\n")
    return n_different


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("paths", nargs=2)
    given = parser.parse_args()
    if given.compare:
        sys.exit(compare(*given.paths) > 0)
    Path(given.paths[1]).write_text(json.dumps(record(given.paths[0]), indent=1), encoding="utf-8")
