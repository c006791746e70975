"""The settings of the HTTP service, and the parsing of its models and addresses."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import PurePath

from nbtext.errors import InputError, SettingsError

MODEL_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
TOKEN = re.compile(r"[\x21-\x7e]{8,512}")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")  # the names by which a browser on this machine calls it


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model to serve, and its name in requests."""

    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """How models are served.

    host, port        address to listen on; port 0 is any free port
    token_file        file with a bearer token on each line; None: requests need no token
    insecure          whether a host that is not local needs no token
    allowed_hosts     values of the Host header to accept besides those of this machine
    feedback_dir      directory to which feedback is appended; None: feedback is refused
    learn             whether the models learn from the feedback
    new_labels        whether feedback may have labels that the model does not know
    max_body_bytes    maximum size of a request, and of a document in a stream
    max_total_body_bytes  maximum size of all requests in progress together
    max_documents     maximum number of documents in a JSON array
    max_requests      maximum number of requests at the same time
    timeout           seconds that a request may take; in a stream, seconds without progress
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token_file: str | None = None
    insecure: bool = False
    allowed_hosts: tuple[str, ...] = ()
    feedback_dir: str | None = None
    learn: bool = False
    new_labels: bool = False
    max_body_bytes: int = 16_000_000
    max_total_body_bytes: int = 128_000_000
    max_documents: int = 10_000
    max_requests: int = 256
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not self.is_local and self.token_file is None and not self.insecure:
            hint = "give --token-file FILE, or --insecure if everybody who reaches it may use it"
            raise SettingsError(
                f"{self.host} is not a loopback address, so requests need a token", where="host", hint=hint
            )
        if self.max_total_body_bytes < self.max_body_bytes:
            what = f"{self.max_total_body_bytes:,} is less than the {self.max_body_bytes:,} bytes of one request"
            hint = "raise it, or lower --max-body-bytes"
            raise SettingsError(what, where="max_total_body_bytes", hint=hint)
        for option, is_given in (("learn", self.learn), ("new_labels", self.new_labels)):
            if is_given and self.feedback_dir is None:
                raise SettingsError("is used only with --feedback-dir", where=option, hint="add --feedback-dir DIR")

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_model_file(text: str) -> ModelFile:
    """Return the model that `MODEL` or `NAME=MODEL` names; without a name, it is the file's name without suffix.

    Raises
    ------
    ValueError
        The path is empty, or standard input.
    """
    name, is_named, path = text.partition("=")
    if not is_named or not MODEL_NAME.fullmatch(name):
        path = text
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(text).stem)[:64]
    if path in ("", "-"):
        raise ValueError(f"{text!r} does not name a file; write MODEL or NAME=MODEL")
    return ModelFile(name, path)


def check_names(models: tuple[ModelFile, ...]) -> None:
    """Raise SettingsError if two models have the same name, which also names the file of their feedback."""
    names = [model.name.lower() for model in models]
    for name in names:
        if names.count(name) > 1:
            hint = "name them, as in -m north=a/model.joblib -m south=b/model.joblib"
            raise SettingsError(f"two models have the name {name}", where="-m", hint=hint)


def read_tokens(path: str) -> tuple[bytes, ...]:
    """Return the tokens of a file: each line is one, except blank lines and lines that begin with #.

    Raises
    ------
    InputError
        The file cannot be read, has no token, or a line is not a token.
    """
    hint = "write one on a line, of 8 or more letters, digits and punctuation marks, such as: openssl rand -hex 32"
    try:
        with open(path, encoding="ascii") as file:
            lines = [line.strip() for line in file.read(1 << 20).splitlines()]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path, hint="check the path") from None
    except UnicodeDecodeError:
        raise InputError("contains characters that are not ASCII", where=path, hint=hint) from None
    tokens = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    for number, line in tokens:
        if not TOKEN.fullmatch(line):
            raise InputError("is not a token", where=f"{path}:{number}", hint=hint)
    if not tokens:
        raise InputError("holds no token", where=path, hint=hint)
    return tuple(line.encode() for _, line in tokens)
