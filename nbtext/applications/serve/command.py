"""`nbtext serve`: an HTTP service."""

from __future__ import annotations

from nbtext.applications.serve.settings import (
    ModelFile,
    ServeSettings,
    check_model_names,
    parse_model_file,
)
from nbtext.cli import options
from nbtext.cli.command import command
from nbtext.errors import MissingExtra
from nbtext.records import frozen
from nbtext.settings import part, setting


@frozen(kw_only=True)
class Serve:
    """The settings of `nbtext serve`."""

    models: tuple[ModelFile, ...] = setting(
        (),
        "Model file to serve. NAME is its name in requests, by default the name of the file without suffix. May be "
        "repeated; requests that name no model get the first one.",
        flags=("-m", "--model-file"),
        file="model",
        parse=parse_model_file,
        metavar="[NAME=]MODEL",
        is_repeated=True,
        is_required=True,
    )
    service: ServeSettings = part(ServeSettings)
    run: options.RunSettings = options.run()


@command(
    Serve,
    common="-m --host --port --token-file --feedback-dir -j -q",
    example="nbtext serve -m letters.joblib",
    notes="POST /v1/predict takes JSON, JSON lines or plain text. GET /openapi.json describes the requests with JSON. A model is "
    "loaded again when its file is replaced. SIGTERM ends the service when the requests in progress are answered. "
    "Standard error gets a JSON object for each request, without texts; -q turns it off.\n\n"
    "Memory holds the models, and the bodies of at most --max-requests requests, each of at most --max-body-bytes.",
)
def serve(given: Serve) -> None:
    """Serve models over HTTP: predictions, explanations, and a page to try them.

    Needs the extra nbtext[serve].
    """
    check_model_names(given.models)
    try:
        from nbtext.applications.serve.server import serve_models
    except ImportError as error:
        if (error.name or "nbtext").startswith("nbtext"):
            raise
        raise MissingExtra("serve", library=str(error.name), extra="serve") from None

    serve_models(given.models, given.service, given.run)
