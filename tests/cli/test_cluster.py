"""Counting and predicting on a Dask cluster, with real worker processes on loopback and between
network namespaces.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

TOP = Path(__file__).parents[2]
FILE_LINES = 170


@contextmanager
def dask(
    program: str, *options: str, within: tuple[str, ...] = (), **environment: str
) -> Iterator[Any]:
    """Start a scheduler or a worker, and end it when the test ends."""
    quiet = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
    command = (*within, sys.executable, "-m", f"distributed.cli.dask_{program}", *options, *quiet)
    environment = {**os.environ, "PYTHONPATH": str(TOP), **environment}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def worker(address: str, folder: Path, *options: str, **environment: Any) -> Any:
    """A worker of one thread."""
    where = ("--local-directory", str(folder), "--nthreads", "1", "--no-nanny")
    return dask("worker", address, *where, *options, **environment)


def scheduler_address(file: Path) -> str:
    """What a scheduler says of itself once it listens."""
    while not file.is_file() or not file.read_bytes().endswith(b"}"):
        time.sleep(0.05)
    found: str = json.loads(file.read_bytes())["address"]
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with two workers on loopback."""
    folder = tmp_path_factory.mktemp("dask")
    options = (
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--scheduler-file",
        str(folder / "scheduler.json"),
    )
    with dask("scheduler", *options), ExitStack() as workers:
        address = scheduler_address(folder / "scheduler.json")
        for _ in range(2):
            workers.enter_context(worker(address, folder))
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2)
        yield address


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Return 3,000 JSON lines without ids, of 200 bytes each; each part of them has some words of
    its own.
    """
    draw = random.Random(7)
    records = (
        {
            "text": " ".join(f"w{int(draw.paretovariate(0.4)) % 20000}" for _ in range(30)),
            "label": "äbc"[n % 3],
        }
        for n in range(3000)
    )
    return [
        json.dumps(record, ensure_ascii=False) + "\n" * (1 + (n % 7 == 0))
        for n, record in enumerate(records)
    ]


@pytest.fixture(scope="module")
def texts(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return files that are a shard each."""
    folder = tmp_path_factory.mktemp("texts")
    for start in range(0, len(lines), FILE_LINES):
        (folder / f"{start:04}.jsonl").write_text("".join(lines[start : start + FILE_LINES]))
    return tuple(map(str, sorted(folder.iterdir())))


def repeat_texts(lines: list[str], path: Path) -> Path:
    """Write a file of 34 MB, whose ranges are shards: the lines with their texts repeated."""
    path.write_text(
        "".join(line.replace('", "label', f' {"w7 " * 3700}", "label') for line in lines)
    )
    return path


@pytest.fixture(scope="module")
def large(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file whose ranges are shards."""
    return repeat_texts(lines, tmp_path_factory.mktemp("large") / "texts.jsonl")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "options",
    [
        ("--analyzer", "word"),  # on a cluster, no features are selected
        ("--keep-sample", "50", "--ngrams", "1,2", "--min-df", "2"),
        ("--model", "bernoulli", "--hash-bits", "12"),
        ("--model", "multinomial", "--weighting", "tfidf"),
    ],
    ids=" ".join,
)
def test_train_gives_the_same_bytes(
    nbtext: Any, large: Path, letters: Path, cluster: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    """A model that workers counted has the bytes of one that was counted locally, for any options,
    by URL or path.
    """
    sources = (f"file://{large}", str(letters / "train"))
    here = nbtext("train", *sources, "-o", "here", *options)
    there = nbtext("train", *sources, "-o", "there", *options, "--cluster", cluster)
    assert (there.status, there.err) == (0, here.err)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_processes_of_this_machine(nbtext: Any, texts: tuple[str, ...], tmp_path: Path) -> None:
    """`--cluster local` starts workers for one command, and is quiet about it."""
    words = ("--analyzer", "word")  # on a cluster, no features are selected
    nbtext("train", *texts, "-o", "here", *words)
    options = ("--cluster", "local", "-j", "2", "-q")
    there = nbtext("train", *texts, "-o", "there", *words, *options)
    assert (there.status, there.out, there.err) == (0, "", "")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


@pytest.mark.exhaustive
def test_interrupted_with_its_processes(texts: tuple[str, ...], tmp_path: Path) -> None:
    """Ctrl-C reaches the processes that were started, too; it is answered by one line, and none of
    them is left.
    """
    import psutil

    command = (
        sys.executable,
        "-m",
        "nbtext",
        "train",
        *texts,
        "-o",
        str(tmp_path / "m"),
        "--cluster",
        "local",
    )
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        while len(children := psutil.Process(process.pid).children(recursive=True)) < 2:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (130, b"nbtext: interrupted")
    psutil.wait_procs(children, timeout=10)
    assert not any(child.is_running() for child in children)
    assert not (tmp_path / "m").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["jsonl", "tsv"])
def test_predict_in_parts(
    nbtext: Any, texts: tuple[str, ...], model: str, cluster: str, form: str, tmp_path: Path
) -> None:
    """An output file has the bytes of a local run; the parts in a folder add up to it."""
    ask = ("predict", *texts, "-m", model, "--to", form)
    here = nbtext(*ask).out
    there = nbtext(*ask, "--cluster", cluster)
    assert (there.status, there.out, there.err) == (0, here, "")
    parts = nbtext(*ask, "--cluster", cluster, "-o", str(tmp_path / "parts") + "/")
    assert (parts.status, parts.out, parts.err) == (0, "", "")
    names = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert names == [f"part-{number:05}.{form}" for number in range(len(texts))]
    assert "".join((tmp_path / "parts" / name).read_text() for name in names) == here
    again = nbtext(*ask, "--cluster", cluster, "-o", str(tmp_path / "parts")).refused(1)
    assert (
        again.err
        == f"nbtext: {tmp_path}/parts: contains the records of another run; name a new folder\n"
    )


@pytest.mark.exhaustive
def test_predict_ranges_of_a_file(
    nbtext: Any, large: Path, model: str, cluster: str, tmp_path: Path
) -> None:
    """Line numbers in the ids are those of the whole file."""
    ask = f"predict {large} -m {model} --to jsonl"
    nbtext(f"{ask} --cluster {cluster} -o {tmp_path}/parts/").ok()
    assert len(list((tmp_path / "parts").iterdir())) == 3
    assert nbtext(f"{ask} --cluster {cluster}").ok().out == nbtext(ask).ok().out


def test_a_folder_that_cannot_be_made(
    nbtext: Any, texts: tuple[str, ...], model: str, cluster: str, tmp_path: Path
) -> None:
    """The error names the folder, and not the scheduler."""
    (tmp_path / "file").write_text("no folder")
    result = nbtext(
        "predict", *texts, "-m", model, "--cluster", cluster, "-o", f"{tmp_path}/file/parts/"
    ).refused(1)
    assert (
        f"{tmp_path}/file/parts" in result.err
        and "scheduler" not in result.err
        and cluster not in result.err
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("broken", [{2500: "{broken"}, {70: '{"text": "a"}', 2900: "[]"}], ids=str)
def test_the_first_problem_is_said(
    nbtext: Any, large: Path, cluster: str, broken: dict[int, str], tmp_path: Path
) -> None:
    """A cluster reports the same first problem as one thread, with the number of its line."""
    lines = large.read_text().splitlines()
    for number, line in broken.items():
        lines[number] = line
    (tmp_path / "broken.jsonl").write_text("\n".join(lines))
    train = f"train {tmp_path}/broken.jsonl -o {tmp_path}/model"
    here = nbtext(f"{train} -j 1")
    assert (
        here.status,
        here.err.startswith(f"nbtext: {tmp_path}/broken.jsonl:{min(broken) + 1}: "),
    ) == (1, True)
    assert nbtext(f"{train} --cluster {cluster}") == here
    assert not (tmp_path / "model").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["train", "predict"])
def test_a_killed_worker(
    nbtext: Any, texts: tuple[str, ...], model: str, cluster: str, command: str, tmp_path: Path
) -> None:
    """If a worker is killed while it works, the result has the same bytes."""
    words = ("--analyzer", "word")  # on a cluster, no features are selected
    ask = {"train": ("train", *texts, *words), "predict": ("predict", *texts, "-m", model)}[command]
    nbtext(*ask, "-o", str(tmp_path / "here"))
    there = [
        sys.executable,
        "-m",
        "nbtext",
        *ask,
        "-o",
        str(tmp_path / "there"),
        "--cluster",
        cluster,
    ]
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    with (
        Client(cluster, set_as_default=False) as client,
        # and so it is slow
        worker(cluster, tmp_path, "--name", "victim", NBTEXT_KERNEL="off") as victim,
    ):
        client.wait_for_workers(3)
        (address,) = (
            each
            for each, known in client.scheduler_info()["workers"].items()
            if known["name"] == "victim"
        )
        with subprocess.Popen([*there, "-q"], env=environment) as process:
            # of what it has counted, reports stay with it; what it has answered may be taken at
            # once
            while not (
                client.processing()[address]
                and (command == "predict" or client.has_what()[address])
            ):
                assert process.poll() is None, "it was done before it could be disturbed"
                time.sleep(0.005)
            victim.send_signal(signal.SIGKILL)
            assert process.wait(60) == 0
        assert address not in client.scheduler_info()["workers"]
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


@pytest.mark.exhaustive
def test_what_a_cluster_cannot_do(
    nbtext: Any, texts: tuple[str, ...], model: str, cluster: str, tmp_path: Path
) -> None:
    """Each refusal is a line that says what would help, and leaves nothing behind."""
    train = ("train", texts[0], "-o", str(tmp_path / "m"))
    ask = ("predict", texts[0], "-m", model)
    there = ("--cluster", cluster)
    (tmp_path / "without" / "distributed").mkdir(parents=True)
    (tmp_path / "without" / "distributed" / "__init__.py").write_text("raise ImportError")
    lacking = {"PYTHONPATH": f"{tmp_path}/without:{TOP}"}
    for arguments, status, part, environment in (
        (
            (*train, *there),
            1,
            "--cluster needs distributed; install it with: pip install 'nbtext[dask]'",
            lacking,
        ),
        (
            (*train, "--cluster", "tcp://127.0.0.1:9"),
            1,
            "tcp://127.0.0.1:9: does not answer",
            {"DASK_NBTEXT__TIMEOUT": "1s"},
        ),
        *(
            (
                (*train, *there, "--model", name),
                2,
                f"--cluster: cannot be combined with --model {name}, because workers count for one Naive Bayes model",
                {},
            )
            for name in ("best", "combined", "logistic", "nbsvm", "stacked", "svm")
        ),
        ((*ask, *there, "--to", "csv"), 2, "--to: --cluster writes only jsonl and tsv", {}),
        (("predict", texts[0], "-m", "/no/model", *there), 1, "/no/model: cannot be read", {}),
    ):
        nbtext(*arguments, cwd=Path(texts[0]).parent, **environment).refused(status, part)
        assert not (tmp_path / "m").exists()
