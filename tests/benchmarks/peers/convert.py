"""Rewrite labeled texts as the lines that fastText or Vowpal Wabbit want; its time is counted as
part of theirs.

    python convert.py SOURCE LINES LABELS --to fasttext|vw [--training]

SOURCE is a directory (SOURCE/LABEL/**/FILE) or a JSONL file. The words are those of nbtext and
scikit-learn: lower case, two letters or digits at least. LABELS is a file with the labels, a line
each; --training writes it, and shuffles the lines, since both programs learn line by line. Standard
library only: nothing to import that is slow.
"""

import argparse
import random
import re
from pathlib import Path

from reading import documents

WORDS = re.compile(r"\b\w\w+\b")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--to", choices=("fasttext", "vw"), required=True)
    parser.add_argument("--training", action="store_true")
    options = parser.parse_args()
    read = list(documents(options.source))
    if options.training:
        options.labels.write_text("\n".join(sorted({label for _, _, label in read})))
    heads = line_heads(options.labels.read_text().split("\n"), options.to)
    lines = [f"{heads[label]} {' '.join(WORDS.findall(text.lower()))}\n" for _, text, label in read]
    if options.training:
        random.Random(1).shuffle(lines)
    options.lines.write_text("".join(lines))


def line_heads(labels: list[str], form: str) -> dict[str, str]:
    """What a line of each label begins with: fastText names labels, Vowpal Wabbit numbers them from
    1.
    """
    if form == "fasttext":
        return {label: f"__label__{label}" for label in labels}
    return {label: f"{number} |" for number, label in enumerate(labels, start=1)}


if __name__ == "__main__":
    main()
