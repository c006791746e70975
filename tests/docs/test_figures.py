"""Figures in the documentation are those of the benchmarks, and the picture shows what nbtext
prints.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
GUIDES = TOP / "nbtext" / "guides"
RESULTS = TOP / "tests" / "benchmarks" / "results"

WRITTEN = re.compile(r">([^<]*)</text>")
TIME = r"[\d.,]+ (?:ms|s)"
MEASURED = re.compile(
    rf"(?:(?P<program>[^;|]+?) )?(?P<wall>{TIME})(?:, (?P<memory>[\d.,]+ MB))?(?:; |$)"
)
# the section of the results for each row of the table of the guide
JOBS = {
    "train on 20 Newsgroups, 11,314 files, 22 MB": "Train on 20 Newsgroups: 11,314 files, 20 labels, 22 MB",
    "the same, with word pairs": "Train on 20 Newsgroups with word pairs",
    "label its 7,532 test files": "Label the 7,532 test files of 20 Newsgroups",
    "train on 500 MB of JSONL": "Train on 500 MB of JSONL",
    "the same, with word pairs, 500 MB": "Train on 500 MB of JSONL with word pairs",
    "label 500 MB of JSONL": "Label 500 MB of JSONL",
    "label one short text, from a cold start": "Label one short text, with the model of 20 Newsgroups",
    "`nbtext --help`": "Show the help",
}
# the model of the results for each row of the table of accuracy
MODELS = {
    "the default": "the default (auto)",
    "the default, single words": "the default (auto)",
    "`--model best`": "--model best",
    "`--model multinomial`": "multinomial",
    "`--model multinomial`, single words": "multinomial",
    "`--model nbsvm --tf log --idf smooth --norm l2 --ngrams 1,2`": "nbsvm, log TF-IDF, pairs",
}
NBSVM = {  # NB-SVM of single rows, by corpus
    "short reviews (RT-s)": ("nbsvm, binary, pairs",),
    "long reviews (RT-2k)": ("nbsvm, binary, pairs",),
}
CORPORA = {
    "20 Newsgroups by date": "20 Newsgroups by date",
    "IMDB": "IMDB, own split",
    "short reviews (RT-s)": "RT-s, 10 folds",
    "long reviews (RT-2k)": "RT-2k, 10 folds by name",
    "SMS spam, of 30 %": "SMS spam, first 30 %",
}

SEARCHED = {  # the corpus of the results for each row of the table of the model search
    "IMDB, 25,000 files": "imdb-files",
    "20 Newsgroups, 11,314 files": "20news-files",
    "IMDB, one JSONL file": "imdb",
}

SEARCHED_SUBSETS = {  # the same for the table of differences
    "20 Newsgroups": "20news",
    "IMDB": "imdb",
    "Reuters, first labels": "reuters-90",
    "long reviews (RT-2k)": "rt-2k",
    "short reviews (RT-s)": "rt-s",
    "SMS spam": "sms-spam",
    "SpamAssassin": "spamassassin",
    "languages (UDHR)": "udhr2",
    "Thai messages": "wisesight-th",
    "short questions (banking77)": "banking77",
    "Japanese sentences (chABSA)": "ja-chabsa",
}


def rows(text: str) -> list[list[str]]:
    """The cells of each row of the Markdown tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    heads = {at - 1 for at, row in enumerate(cells) if set("".join(row)) <= set("-: ") and row[0]}
    return [row for at, row in enumerate(cells) if at not in heads and at - 1 not in heads]


def section(page: Path, title: str) -> str:
    """What a page says below a heading."""
    return page.read_text(encoding="utf-8").split(f"## {title}\n", 1)[1].split("\n## ")[0]


def speeds(job: str) -> dict[str, tuple[str, str]]:
    """The wall time and the peak memory of each program in a section of the results."""
    found = rows(section(RESULTS / "speed.md", job))
    return {row[0].strip("`"): (row[1], row[3]) for row in found}


def test_speed() -> None:
    """Each time and each size of the table is the one of its program and job in the results, and so
    is each ratio.
    """
    table = rows(section(GUIDES / "benchmarks.md", "Speed"))
    assert [row[0] for row in table] == [name.removesuffix(", 500 MB") for name in JOBS]
    for (_, ours, peers, ratio), job in zip(table, JOBS.values(), strict=True):
        measured = speeds(job)
        said = [*MEASURED.finditer(ours), *MEASURED.finditer(peers)]
        assert [len(list(MEASURED.finditer(ours))), len(said) > 1] == [1, True], job
        for each in said:
            program = (each["program"] or "nbtext").strip("`")
            program = "import joblib" if "import joblib" in program else program
            wall, memory = measured[program]
            assert each["wall"] == wall, (job, program)
            assert each["memory"] in (memory, None), (job, program)
        assert ratio in {
            row[3]
            for row in rows(section(RESULTS / "speed.md", "The thresholds"))
            if is_same_job(row[0], job)
        }


def is_same_job(name: str, job: str) -> bool:
    """Whether a row of the bars is of a job; the titles of jobs may end in the size of the
    corpus.
    """
    return job == name or job.startswith(f"{name}:")


def test_the_date_of_the_measurements() -> None:
    date = re.findall(
        r"^\* date: (\S+)$", (RESULTS / "speed.md").read_text(encoding="utf-8"), re.MULTILINE
    )[0]
    assert f"These figures are of {date}:" in section(GUIDES / "benchmarks.md", "Speed")


def accuracies() -> dict[tuple[str, str], list[str]]:
    """What was measured and what was published, by corpus and model."""
    table = rows((RESULTS / "accuracy.md").read_text(encoding="utf-8"))
    return {(row[0], row[1]): [row[2], row[3].partition(" ")[0]] for row in table}


def test_accuracy() -> None:
    """Each accuracy of the table is the one of its corpus and model in the results."""
    measured = accuracies()
    corpus = ""
    table = rows(section(GUIDES / "benchmarks.md", "Accuracy").split("Beside other programs")[0])
    for name, model, accuracy, published in table:
        corpus = name or corpus
        models = (MODELS[model],) if model in MODELS else NBSVM[corpus]
        found = [measured[CORPORA[corpus], each] for each in models]
        assert accuracy.split(", ") == [ours for ours, _ in found], (corpus, model)
        if published:
            said = [re.sub(r"[^\d.]", "", each) for each in re.findall(r"0\.\d+", published)]
            assert said == [theirs for _, theirs in found], (corpus, model)
    assert len(table) >= 9


def test_the_search_is_never_much_worse_than_the_default() -> None:
    """Each difference is that of its corpus and number of training documents in the results; none
    is below -0.003.
    """
    measured = {
        (row[0], row[1]): row[4]
        for row in rows(section(RESULTS / "search.md", "Training set sizes"))
    }
    for corpus, default, best, *_ in rows(section(RESULTS / "search.md", "All training documents")):
        measured[corpus, "all"] = f"{float(best) - float(default):+.4f}"
    text = section(GUIDES / "benchmarks.md", "Model search")
    sizes = re.findall(r"^\| corpus \| (50 .*) \|$", text, re.MULTILINE)[0].split(" | ")
    table = [row for row in rows(text) if row[0] in SEARCHED_SUBSETS]
    assert len(table) == len(SEARCHED_SUBSETS)
    for name, *cells in table:
        assert cells == [measured.pop((SEARCHED_SUBSETS[name], size), "") for size in sizes], name
        assert min(float(cell) for cell in cells if cell) >= -0.003, name
    assert not measured


def test_the_search_is_at_the_best_pipeline() -> None:
    """The guide names the least and the most by which `best` is ahead of the best of three
    pipelines.
    """
    gains = [
        float(best) - max(map(float, pipelines))
        for _, _, best, *pipelines in rows(section(RESULTS / "search.md", "All training documents"))
        if "–" not in pipelines
    ]
    assert len(gains) == 10
    ahead = [gain for gain in gains if gain > 1e-9]
    assert (len(ahead), min(gains) > -1e-9) == (9, True)
    text = section(GUIDES / "benchmarks.md", "Model search")
    assert f"by {min(ahead):.4f} (Reuters) to {max(ahead):.4f} (long reviews)" in text


def test_model_search() -> None:
    """The times and accuracies are those of the results."""
    measured: dict[str, list[str]] = {}
    for corpus, _, accuracy, cpu, wall, _ in rows(section(RESULTS / "search.md", "Costs")):
        measured.setdefault(corpus, []).append(f"{wall} s, {cpu} s, {accuracy}")
    text = section(GUIDES / "benchmarks.md", "Model search")
    for name, *cells in (row for row in rows(text) if row[0] in SEARCHED):
        assert cells == measured.pop(SEARCHED[name]), name
    assert not measured


def test_models_of_a_limited_size() -> None:
    """Each accuracy is the one of its corpus, model and size in the results, and so is each size in
    full.
    """
    corpus = ""
    n_figures = 0
    for name, model, in_full, smaller in rows(
        section(GUIDES / "benchmarks.md", "Models of a limited size")
    ):
        corpus = name or corpus
        measured = {
            row[1]: row
            for row in rows(section(RESULTS / "size.md", corpus))
            if row[0] == f"nbtext, {model}"
        }
        accuracy, size = in_full.split(", ")
        n_bytes = int(measured["in full"][2].replace(",", ""))
        *_, whole, _ = measured["in full"]
        assert (accuracy, size) == (
            whole,
            f"{n_bytes / 1e6:.3g} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.3g} KB",
        )
        for each in smaller.split(", "):
            accuracy, _, size = each.partition(" in ")
            assert measured[size][4] == accuracy, (corpus, model, size)
            n_figures += 1
    assert n_figures >= 10


def test_the_figures_of_the_text_on_accuracy() -> None:
    """Calibration and coverage: the rows that the text speaks of."""
    measured = accuracies()
    text = " ".join(section(GUIDES / "benchmarks.md", "Accuracy").split("\n\n")[-1].split())
    by_date = "20 Newsgroups by date: calibration error"
    random = "20 Newsgroups, random 70:30: calibration error"
    for corpus in (random, by_date):
        for model in ("multinomial", "multinomial (--no-calibrate)"):
            assert measured[corpus, model][0] in text
    worst = {
        kind: max(
            ours
            for (corpus, _), (ours, _) in measured.items()
            if corpus.endswith(f"random 70:30: {kind}")
        )
        for kind in ("leave-one-out against test accuracy", "coverage against 0.9")
    }
    assert f"within {worst['leave-one-out against test accuracy']} of the test accuracy" in text
    assert f"to within {worst['coverage against 0.9']}" in text


def test_reliability() -> None:
    """Each figure of the table is one of the last run's; those of the texts and of the fuzzers are
    sums of its rows.
    """
    table = section(GUIDES / "benchmarks.md", "Reliability").split(
        "`make torture` wrote these figures"
    )[1]
    measured = (RESULTS / "reliability.md").read_text(encoding="utf-8")
    texts = re.findall(r"^.{28} +1  crashes 0  ", measured, re.MULTILINE)
    fuzzed = re.findall(r"^\w+ +([\d,]+) +\d+ +\d+ +0$", measured, re.MULTILINE)
    sums = {str(len(texts)), f"{sum(int(number.replace(',', '')) for number in fuzzed):,}"}
    figures = re.findall(r"\b[\d,.]*\d\b", table.split("\n\n")[1])
    assert len(figures) == 28
    assert [figure for figure in figures if figure not in measured and figure not in sums] == []


def test_the_picture(tmp_path: Path) -> None:
    """What a terminal shows now is what it shows there; `python tests/docs/picture.py` draws it
    anew.
    """
    script = TOP / "tests" / "docs" / "picture.py"
    subprocess.run([sys.executable, script, tmp_path / "now.svg"], check=True)
    now, there = (
        path.read_text(encoding="utf-8")
        for path in (tmp_path / "now.svg", script.with_name("terminal.svg"))
    )
    assert WRITTEN.findall(now) == WRITTEN.findall(there) != []


def peer_accuracies(job: str) -> dict[str, str]:
    """The test accuracy of each program in a section of the results."""
    return {row[0].strip("`"): row[5] for row in rows(section(RESULTS / "speed.md", job))}


def test_the_accuracy_of_other_programs() -> None:
    """Each accuracy of the table is that of its program and corpus in the results."""
    accuracy = section(GUIDES / "benchmarks.md", "Accuracy")
    table = accuracy.split("Beside other programs")[1]
    programs = re.findall(r"^\| corpus \| nbtext \| (.*) \|$", table, re.MULTILINE)[0].split(" | ")
    jobs = {
        "20 Newsgroups by date": "Train on 20 Newsgroups: 11,314 files, 20 labels, 22 MB",
        "IMDB": "Train on IMDB as files: 25,000 files, 2 labels, 33 MB",
    }
    found = rows(table)
    assert [row[0] for row in found] == list(jobs)
    for corpus, ours, *theirs in found:
        default, best = re.findall(r"0\.\d{4}", ours)
        assert default == accuracies()[CORPORA[corpus], "the default (auto)"][0], corpus
        assert best == accuracies()[CORPORA[corpus], "--model best"][0], corpus
        measured = peer_accuracies(jobs[corpus])
        assert theirs == [measured[program] for program in programs], corpus


def test_the_figures_of_the_readme() -> None:
    """Each time is the one of its program and job in the results; so is each accuracy."""
    readme = " ".join(section(TOP / "README.md", "Speed and accuracy").split())
    programs = ("nbtext", "scikit-learn", "fastText", "Vowpal Wabbit")
    train = JOBS["train on 20 Newsgroups, 11,314 files, 22 MB"]
    label = JOBS["label its 7,532 test files"]
    times = [speeds(job)[program][0] for job in (train, label) for program in programs]
    times += [
        speeds(JOBS["train on 500 MB of JSONL"])[program][0] for program in ("nbtext", "wc -w")
    ]
    assert re.findall(rf"(?<![\d.])(?<!to ){TIME}", readme) == times
    corpus = "20 Newsgroups by date"
    peers = peer_accuracies(train)
    expected = [accuracies()[corpus, model][0] for model in ("the default (auto)", "--model best")]
    expected += [peers[program] for program in programs[1:]]
    assert re.findall(r"0\.\d{4}", readme) == expected
