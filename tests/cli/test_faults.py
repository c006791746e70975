"""Full disks, permissions, files that change, closed pipes, two writers, interrupts, too little
memory.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import DELETED

TOP = Path(__file__).parents[2]
NBTEXT = [sys.executable, "-m", "nbtext"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(TOP)}
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2


def run(
    *arguments: str, cwd: Path, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; `before` is called in its process."""
    return subprocess.run(
        [*NBTEXT, *arguments],
        cwd=cwd,
        preexec_fn=before,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def limited(what: int, n_bytes: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (n_bytes, n_bytes))


def without_privileges() -> None:
    """Return a prefix that makes permissions apply to root, too."""
    if os.geteuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.fixture
def permissions(tmp_path: Path) -> Callable[[], None]:
    """Return the prefix that makes a program obey permissions; skip the test where there is
    none.
    """
    secret = tmp_path / "secret"
    secret.touch(mode=0)
    done = subprocess.run(
        ["cat", secret], preexec_fn=without_privileges, capture_output=True, check=False
    )
    secret.unlink()
    if done.returncode == 0:
        pytest.skip("nobody obeys permissions here")
    return without_privileges


def writers(letters: Path, model: str) -> list[list[str]]:
    return [
        ["train", str(letters / "train"), "-q", "--force", "-o", "out"],
        ["vectorize", str(letters / "train"), "-q", "-o", "out"],
        ["predict", str(letters / "test"), "-m", model, "-q", "--to", "jsonl", "-o", "out"],
    ]


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed said: one line, and no traceback."""
    assert result.returncode == 1, result
    assert result.stdout == ""
    assert result.stderr.startswith("nbtext: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_a_read_only_folder(
    letters: Path, model: str, tmp_path: Path, permissions: Callable[[], None]
) -> None:
    """Where nothing may be written, one line says so."""
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    for command in writers(letters, model):
        said = one_line(run(*command[:-1], "folder/out", cwd=tmp_path, before=permissions))
        assert "folder/out: cannot be written: permission denied" in said
    assert os.listdir(folder) == []
    folder.chmod(0o755)


def test_permission_denied_within_a_tree(
    model: str, tmp_path: Path, permissions: Callable[[], None]
) -> None:
    """A file that may not be read is an error where all count, and a record with a reason for
    predict.
    """
    for name in ("a/1", "a/2", "b/1", "c/1"):
        (tmp_path / "t" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "t" / name).write_text("my trash was not collected")
    (tmp_path / "t" / "a" / "2").chmod(0)
    (tmp_path / "t" / "c").chmod(0)
    said = one_line(run("train", "t", "-o", "m", cwd=tmp_path, before=permissions))
    assert "t/a/2: cannot be read: permission denied" in said
    result = run("predict", "t", "-m", model, "--to", "tsv", cwd=tmp_path, before=permissions)
    assert result.returncode == 0
    assert [line.split("\t")[:2] for line in result.stdout.splitlines()] == [
        ["t/a/1", "trash"],
        ["t/a/2", ""],
        ["t/b/1", "trash"],
    ]
    assert "skipped 1: unreadable folder\n" in result.stderr
    said = one_line(
        run(
            "predict",
            "t",
            "-m",
            model,
            "--exclude",
            "a",
            "--exclude",
            "b",
            cwd=tmp_path,
            before=permissions,
        )
    )
    assert "no file that nbtext reads (excluded by --exclude: 2, unreadable folder: 1)" in said
    (tmp_path / "t" / "c").chmod(0o755)


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("n_bytes", [0, 1, 100, 4096, 65_536, 200_000])
def test_a_pipe_closed_at_any_point(
    forker: Any, letters: Path, model: str, tmp_path: Path, n_bytes: int
) -> None:
    """If the reader of the output closes the pipe at any time, the status is 0, and nothing is
    printed.
    """
    train = [str(letters / "train")] * 3
    for command in (
        ["predict", *train, "-m", model, "--to", "jsonl", "-j", "2"],
        ["vectorize", str(letters / "train"), "-q"],
        ["train", str(letters / "train"), "-q", "--smoothing", "1"],
        ["evaluate", str(letters / "test"), "-m", model, "--to", "json"],
        ["--help"],
    ):
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        with forker().popen(command, cwd=tmp_path, **streams) as process:
            process.stdout.read(n_bytes)
            process.stdout.close()
            assert (process.stderr.read(), process.wait(60)) == (b"", 0), command


def test_closed_standard_streams(letters: Path, model: str, tmp_path: Path) -> None:
    """A command that was started without standard input, output or error answers, and does not
    crash.
    """
    program = " ".join(NBTEXT)
    filter_it = f"predict - -m {model}"
    read_it = f"predict {letters}/test -m {model}"
    train = f"train {letters}/train -o m"
    label = f"label {letters}/test -o answers.jsonl"
    for redirection, command in (
        ("<&-", filter_it),
        ("<&-", label),
        (">&-", read_it),
        ("2>&-", train),
        ("<&- >&- 2>&-", filter_it),
        ("<&- >&- 2>&-", train),
    ):
        shell = f"{program} {command} {redirection}"
        done = subprocess.run(
            ["bash", "-c", shell], env=ENVIRONMENT, cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode in (0, 1, 2), (shell, done)
        assert b"Traceback" not in done.stderr, (shell, done)
        assert b"internal error" not in done.stderr, (shell, done)


# Python code: interrupts the process when it has come to a step, or writes the number of its steps.
# A step is the start or end of a function in the main thread. The first is within the `try` of
# nbtext/__main__.py.
INTERRUPT = """if True:
    import os, signal, sys
    number, end = -1, os._exit

    def count(frame, event, argument):
        global number
        number += number >= 0 or (frame.f_code.co_name == "main" and frame.f_code.co_filename.endswith("__main__.py"))
        if number == {step}:
            os.kill(os.getpid(), signal.SIGINT)

    def leave(status):
        sys.setprofile(None)
        with open("steps", "w") as file:
            file.write(str(number))
        end(status)

    if {step} == sys.maxsize:
        os._exit = leave
    sys.setprofile(count)
"""


def interrupt_at_steps(
    start: Callable[[str], subprocess.CompletedProcess[str]], folder: Path, n_steps: int
) -> None:
    """Interrupt a command at steps that are spread over its life; `start` runs it after some Python
    code.
    """
    assert start(INTERRUPT.format(step=sys.maxsize)).returncode == 0
    n_all = int((folder / "steps").read_text())
    (folder / "steps").unlink()
    new = (folder / "out").read_bytes()
    for number in range(n_steps):
        (folder / "out").write_bytes(b"old")
        done = start(INTERRUPT.format(step=1 + (n_all - 1) * number // n_steps))
        assert (done.stderr, done.returncode) == ("nbtext: interrupted\n", 130), number
        assert os.listdir(folder) == ["out"]
        assert (folder / "out").read_bytes() in (b"old", new)


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("number", range(3))
def test_an_interrupt_in_every_phase(
    forker: Any, letters: Path, model: str, tmp_path: Path, number: int
) -> None:
    """Ctrl-C at any step gives status 130 and one line; the old output stays, and no temporary file
    is left.
    """
    command = writers(letters, model)[number]

    def start(before: str) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = forker().run(
            command, before=before, cwd=tmp_path, text=True
        )
        return done

    interrupt_at_steps(start, tmp_path, 16)


def test_an_interrupt_during_imports(model: str, tmp_path: Path) -> None:
    """The same in a Python of its own, which imports everything."""
    arguments = ["nbtext", "predict", "-", "-m", model, "-q", "--force", "-o", "out"]

    def start(before: str) -> subprocess.CompletedProcess[str]:
        code = f"import runpy, sys\nsys.argv = {arguments}\n{before}\nrunpy.run_module('nbtext', run_name='__main__')"
        return subprocess.run(
            [sys.executable, "-c", code],
            input="parking\n",
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )

    interrupt_at_steps(start, tmp_path, 16)


# Python code: sends a signal to the process at a step from a finalizer, where Python drops an
# exception.
FROM_A_FINALIZER = INTERRUPT.replace("os.kill(os.getpid(), signal.SIGINT)", "Late()").replace(
    "    def count(",
    """    class Late:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)

    def count(""",
)


def test_an_interrupt_in_a_finalizer(
    forker: Any, letters: Path, model: str, tmp_path: Path
) -> None:
    """It is not lost, and nothing else is printed."""
    done = forker().run(
        writers(letters, model)[0],
        before=FROM_A_FINALIZER.format(step=2000),
        cwd=tmp_path,
        text=True,
    )
    assert (done.returncode, done.stderr) == (130, "nbtext: interrupted\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif("demo" in DELETED, reason="its application was deleted")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_during_demo(forker: Any, tmp_path: Path, number: signal.Signals) -> None:
    """The corpus is there completely or not at all, and nothing beside it."""
    for share in range(1, 8):
        at_a_file = f"""if True:
            import os, shutil, signal
            # what started the tests may ignore the signal
            signal.signal({int(number)}, signal.{"default_int_handler" if number == signal.SIGINT else "SIG_DFL"})
            copy, n_copied = shutil.copyfile, 0

            def count(*arguments):
                global n_copied
                n_copied += 1
                if n_copied == {share * 50}:
                    os.kill(os.getpid(), {int(number)})
                return copy(*arguments)

            shutil.copyfile = count
        """
        done = forker().run(["demo"], before=at_a_file, cwd=tmp_path, text=True)
        assert done.returncode == (130 if number == signal.SIGINT else -number)
        assert os.listdir(tmp_path) == []


def test_a_defect_is_not_called_a_lack_of_memory() -> None:
    """SystemError means a lack of memory only where memory is limited."""
    code = """if True:
        import sys
        from nbtext.cli.main import cli, main

        def fail(*arguments, **options):
            raise SystemError("returned NULL without setting an exception")

        cli.main = fail
        sys.exit(main())
    """
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr[:32]) == (1, "nbtext: internal error (SystemEr")


def test_an_interrupt_while_a_class_is_made() -> None:
    """Python 3.11 makes a RuntimeError of it; it is an interrupt nevertheless."""
    code = """if True:
        import sys
        from nbtext.cli.main import cli, main

        class Attribute:
            def __set_name__(self, owner, name):
                raise KeyboardInterrupt

        cli.main = lambda *arguments, **options: type("Record", (), {"attribute": Attribute()})
        sys.argv[1:] = ["--version"]
        sys.exit(main())
    """
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "nbtext: interrupted\n")
