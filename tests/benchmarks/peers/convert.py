"""Rewrite labeled texts as the lines that fastText or Vowpal Wabbit want; its time is counted as
part of theirs.

    python convert.py SOURCE LINES fasttext|vw

SOURCE is a directory of labels (SOURCE/LABEL/FILE). The words are those of nbtext and scikit-learn:
lower case, two letters or digits at least. The lines are shuffled, since both programs learn line
by line. Standard library only: nothing to import that is slow.
"""

import os
import random
import re
import sys

WORDS = re.compile(r"\b\w\w+\b")


def main() -> None:
    source, output, form = sys.argv[1:]
    lines = []
    for number, label in enumerate(sorted(os.listdir(source)), start=1):
        head = f"__label__{label}" if form == "fasttext" else f"{number} |"
        folder = os.path.join(source, label)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read().decode("utf-8", "replace").lower()
            lines.append(f"{head} {' '.join(WORDS.findall(text))}\n")
    random.Random(1).shuffle(lines)
    with open(output, "w", encoding="utf-8") as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
