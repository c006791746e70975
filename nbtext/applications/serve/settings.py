"""The settings of the HTTP service, and the parsing of its models and addresses."""

from __future__ import annotations

import re
from pathlib import Path

from nbtext.documents.settings import read_small_file
from nbtext.errors import InputError, SettingsError
from nbtext.records import Strings, frozen
from nbtext.settings import Needs, Settings, setting

MODEL_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
TOKEN = re.compile(r"[\x21-\x7e]{8,512}")
# the names by which a browser on this machine calls it
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@frozen
class ModelFile:
    """A model to serve, and its name in requests."""

    name: str
    path: str


@frozen(kw_only=True)
class ServeSettings(Settings):
    """How models are served.

    timeout  seconds that a request may take, and in which a part of its answer must be read
    """

    TITLE = "Service"
    RULES = (Needs("new_labels", "feedback_dir"),)

    host: str = setting(
        "127.0.0.1",
        "Address to listen on. Any non-loopback address needs --token-file or --insecure.",
        metavar="ADDRESS",
    )
    port: int = setting(
        8000, "Port to listen on; 0 is any free one.", low=0, high=65535, metavar="N"
    )
    token_file: str | None = setting(
        None,
        "File of bearer tokens, one on each line. Requests then need the header `Authorization: Bearer TOKEN`.",
        file="input",
    )
    insecure: bool = setting(
        False,
        "Allow a non-loopback --host without --token-file: everybody who reaches it may use it.",
    )
    allowed_hosts: Strings = setting(
        (),
        "Also accept requests with this name in the Host header, such as that of a reverse proxy; may be repeated. "
        "If it is given, or on a loopback address, names other than those of this machine are refused.",
        flags=("--allowed-host",),
        metavar="NAME",
        is_repeated=True,
    )
    feedback_dir: str | None = setting(
        None,
        "Accept labeled texts, and append them to DIR/NAME.jsonl for each model NAME. `nbtext update` learns them.",
        file="directory",
    )
    new_labels: bool = setting(
        False, "Accept feedback whose label the model does not know. Needs --feedback-dir."
    )
    max_body_bytes: int = setting(
        16_000_000,
        "Maximum size of a request in bytes.",
        low=1,
        metavar="N",
    )
    max_requests: int = setting(
        256,
        "Maximum number of requests at the same time. Further ones are answered with status 503.",
        low=1,
        metavar="N",
    )
    timeout: float = setting(
        30.0,
        "Time limit of a request, and of each part of its answer until it is read.",
        low=1e-3,
        high=86_400,
        metavar="SECONDS",
    )

    def check_values(self) -> None:
        if not self.is_local and self.token_file is None and not self.insecure:
            what = f"{self.host} is not a loopback address, so requests need a token"
            hint = "give --token-file FILE, or --insecure if everybody who reaches it may use it"
            raise SettingsError(what, where="host", hint=hint)

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        return self.host in ("localhost", "127.0.0.1", "::1")


def parse_model_file(text: str) -> ModelFile:
    """Return the model that `MODEL` or `NAME=MODEL` names; without a name, it is the file's name
    without suffix.

    Raises
    ------
    ValueError
        The path is empty, or standard input.
    """
    name, is_named, path = text.partition("=")
    if not is_named or not MODEL_NAME.fullmatch(name):
        path = text
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(text).stem)[:64]
    if path in ("", "-"):
        raise ValueError(f"{text!r} does not name a file; write MODEL or NAME=MODEL")
    return ModelFile(name, path)


def check_model_names(models: tuple[ModelFile, ...]) -> None:
    """Raise SettingsError if two models have the same name, which also names the file of their
    feedback.
    """
    names = [model.name.lower() for model in models]
    if len(set(names)) < len(names):
        hint = "name them, as in -m north=a/model.joblib -m south=b/model.joblib"
        raise SettingsError(
            f"two models have the same name: {', '.join(names)}", where="-m", hint=hint
        )


def read_tokens(path: str) -> tuple[bytes, ...]:
    """Return the tokens of a file: each line is one.

    Raises
    ------
    InputError
        The file cannot be read, has no token, or a line is not a token.
    """
    hint = "write one on a line, of 8 or more letters, digits and punctuation marks, such as: openssl rand -hex 32"
    tokens = read_small_file(path, hint).splitlines()
    for number, token in enumerate(tokens or [""], 1):
        if TOKEN.fullmatch(token) is None:
            raise InputError("is not a token", where=f"{path}:{number}", hint=hint)
    return tuple(map(str.encode, tokens))
