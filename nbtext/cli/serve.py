"""`nbtext serve`: an HTTP service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nbtext.cli.command import Option, command, stage
from nbtext.cli.files import INPUT, FileType
from nbtext.cli.options import DEBUG, RUN_STAGE, VERBOSE, RunSettings
from nbtext.cli.running import say
from nbtext.errors import MissingExtra
from nbtext.serve.settings import ModelFile, ServeSettings, check_names, parse_model_file

if TYPE_CHECKING:
    from nbtext.serve.models import ModelStore

NETWORK_STAGE = stage(
    "settings", ServeSettings, "Service",
    Option("--host", metavar="ADDRESS",
           help="Address to listen on. Any non-loopback address needs --token-file or --insecure."),
    Option("--port", type=click.IntRange(0, 65535), metavar="N", help="Port to listen on; 0 is any free one."),
    Option("--token-file", type=INPUT,
           help="File of bearer tokens, one on each line. Requests then need the header `Authorization: Bearer "
           "TOKEN`."),
    Option("--insecure", is_flag=True, default=None,
           help="Allow a non-loopback --host without --token-file: everybody who reaches it may use it."),
    Option("--allowed-host", "allowed_hosts", multiple=True, metavar="NAME",
           help="Also accept requests with this name in the Host header, such as that of a reverse proxy; "
           "may be repeated. If it is given, or on a loopback address, names other than those of this machine are "
           "refused."),
    Option("--feedback-dir", type=FileType("DIR"),
           help="Accept labeled texts, and append them to DIR/NAME.jsonl for each model NAME."),
    Option("--learn", is_flag=True, default=None,
           help="Update the models with the feedback, as `nbtext update` does, and replace their files. Needs "
           "--feedback-dir."),
    Option("--new-labels", is_flag=True, default=None,
           help="Accept feedback whose label the model does not know. Needs --feedback-dir."),
    Option("--max-body-bytes", type=click.IntRange(1), metavar="N",
           help="Maximum size of a request in bytes; for JSON lines, of each line."),
    Option("--max-total-body-bytes", type=click.IntRange(1), metavar="N",
           help="Maximum size of all requests in progress together, in bytes. Further ones are answered with status "
           "503; JSON lines wait."),
    Option("--max-documents", type=click.IntRange(1), metavar="N", help="Maximum number of documents in a JSON array."),
    Option("--max-requests", type=click.IntRange(1), metavar="N",
           help="Maximum number of requests at the same time. Further ones are answered with status 503."),
    Option("--timeout", type=click.FloatRange(0, min_open=True, max=86_400), metavar="SECONDS",
           help="Time limit of a request; for JSON lines, the longest time without progress."),
)  # fmt: skip


@command(
    Option("-m", "--model-file", "models", type=FileType("[NAME=]MODEL", parse=parse_model_file), multiple=True,
           required=True,
           help="Model file to serve. NAME is its name in requests, by default the name of the file without suffix. "
           "May be repeated; requests that name no model get the first one."),
    NETWORK_STAGE,
    RUN_STAGE.without("no_progress"),
    VERBOSE,
    DEBUG,
    common="-m --host --port --token-file --feedback-dir --learn -j -q",
    example="nbtext serve -m letters.joblib",
    notes="POST /v1/predict takes JSON, JSON lines or plain text. GET /openapi.json describes all requests. A model is "
    "loaded again when its file is replaced. SIGTERM ends the service when the requests in progress are answered. "
    "Standard error gets a JSON object for each request, without texts; -q turns it off.\n\n"
    "Memory holds the models, and at most --max-total-body-bytes of requests in progress.",
)  # fmt: skip
def serve(models: tuple[ModelFile, ...], settings: ServeSettings, run: RunSettings) -> None:
    """Serve models over HTTP: predictions, explanations, and a page to try them.

    Needs the extra nbtext[serve].
    """
    check_names(models)
    try:
        from nbtext.serve.server import serve as run_service
    except ImportError as error:
        if (error.name or "nbtext").startswith("nbtext"):
            raise
        raise MissingExtra("serve", library=str(error.name), extra="serve") from None

    def on_start(address: str, store: ModelStore) -> None:
        say(f"serving {', '.join(store.slots)} on {address}; press Ctrl-C to stop", quiet=run.quiet)

    run_service(models, settings, threads=run.jobs, on_start=on_start, log_requests=not run.quiet)
