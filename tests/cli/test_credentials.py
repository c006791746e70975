"""Credentials of a SOURCE are in nothing that a person or a program gets to see."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from made_files import read_cases, write_rows

from nbtext.errors import InputError, hide_credentials

SECRET = "hush"
QUERY = f"?token={SECRET}&X-Amz-Signature={SECRET}#{SECRET}"
ROWS = [
    {"text": f"{'sun sea' if n % 2 else 'cup tea'} w{n}", "label": "ab"[n % 2]} for n in range(40)
]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, whoever asks."""

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a folder, with a user and a password."""
    folder = tmp_path_factory.mktemp("served")
    write_rows(folder / "x.jsonl", ROWS)
    write_rows(folder / "bad.jsonl", [*ROWS, {"text": ["sun"] * 2, "label": {"a": 1}}])
    write_rows(folder / "unlabeled.jsonl", [{"text": "sun"}])
    (folder / "x.txt").write_text("sun sea\ncup tea\n")
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{SECRET}:{SECRET}@127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(
    "line",
    [
        "train X -o new.joblib -v",
        "update m.joblib X -o new.joblib",
        "predict X -m m.joblib -o new.jsonl --top-k 2",
        "evaluate X -m m.joblib --report page.html --to json",
        "evaluate X --predictions X --report page.html",
        "evaluate X --folds 3 --report page.html --held-out new.csv",
        "explain X -m m.joblib -o page.html",
        "compare X -m m.joblib -m b.joblib --report page.html --to json",
        "compare X --models bernoulli --sizes 8 --seeds 2 --report page.html",
        "review X --against X --report page.html --to json",
        "vectorize X -o new.npz",
        "prevalence X -m m.joblib --to json",
        # and errors
        "train BAD -o new.joblib",
        "train NONE -o new.joblib",
        "train X TXT --separate-fields --text-field text -o new.joblib",
        "train TXT --input-format dirs -o new.joblib",
        "train TXT --query select -o new.joblib",
        "predict X -m m.joblib --text-field other",
        "predict TXT -m m.joblib --add-columns",
        "evaluate UNLABELED -m m.joblib",
        "evaluate X --predictions TXT",
        "evaluate X --predictions UNLABELED",
        f"train postgresql://me:{SECRET}/{SECRET}@127.0.0.1:9/x -o new.joblib",
        f"train nowhere://me:{SECRET}@127.0.0.1:9/x?{SECRET} --label-field x",
        f"train simplecache::https://me:{SECRET}@127.0.0.1:9/x -o new.joblib",
        f"predict x.jsonl -m https://me:{SECRET}@127.0.0.1:9/m.joblib?{SECRET}",
    ],
)
def test_no_credential_is_written(nbtext: Any, tmp_path: Path, address: str, line: str) -> None:
    """Pages, records, models, logs and errors name a SOURCE without user, password and query."""
    write_rows(tmp_path / "x.jsonl", ROWS)
    nbtext("train x.jsonl -o m.joblib -q").ok()
    nbtext("train x.jsonl -o b.joblib --model bernoulli -q").ok()
    names = {"X": "x.jsonl", "BAD": "bad.jsonl", "NONE": "none.jsonl", "TXT": "x.txt"}
    names["UNLABELED"] = "unlabeled.jsonl"
    words = [f"{address}/{names[word]}{QUERY}" if word in names else word for word in line.split()]
    done = nbtext(*words)
    assert "internal error" not in done.err
    written = [path.read_bytes() for path in tmp_path.iterdir()]
    assert SECRET not in done.out + done.err
    assert not any(SECRET.encode() in content for content in written)
    if "page.html" in words:
        page = (tmp_path / "page.html").read_text()
        assert f"{hide_credentials(address)}/x.jsonl" in page


@pytest.mark.parametrize(
    ("typed", "shown"),
    read_cases("""
        https://me:pw@host/x.csv?sig=1#2 => https://host/x.csv
        s3://bucket/x.csv => s3://bucket/x.csv
        https://host:8080/@me/x => https://host:8080/@me/x
        postgresql://me:p/w@host:5432/x?sslpassword=1 => postgresql://host:5432/x
        postgresql://me:p w@host/x?options=-c a=b => postgresql://host/x
        http://[::1]:80/x@y => http://[::1]:80/x@y
        zip://a.csv::https://me:pw@host/x.zip?sig=1 => zip://host/x.zip
        a@b?c#d => a@b?c#d
    """),
)
def test_what_is_shown_of_a_source(typed: str, shown: str) -> None:
    """What identifies a source stays; in a sentence, what follows the URL stays, too."""
    assert hide_credentials(typed, is_source=True) == shown
    if " " not in typed:
        said = str(InputError(f"got '{typed}', which ends", where=typed, hint="why?"))
        assert said == f"{shown}: got '{shown}', which ends; why?"
