"""Checks what a request asks of its model against what the model lacks."""

from pondero.canon import Json

from .. import types
from ..models import Model, Provider

_SEARCH = "web_search_options"
_VERBOSITY = "verbosity"


def check_capabilities(
    body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
) -> None:
    """Raise Rejected for the first thing that the model cannot do."""
    reject = provider.rejecter.reject
    for name, asked in (("tools", body.tools), ("functions", rest.get("functions"))):
        if asked and "tools" in model.lacks:
            reject("no_tools", param=name, model=body.model)
    if rest.get(_SEARCH) is not None and "search" in model.lacks:
        reject("no_search", param=_SEARCH)
    if isinstance(body.response_format, types.SchemaFormat) and "schemas" in model.lacks:
        reject("schema", param="response_format", model=body.model)
    verbosity = rest.get(_VERBOSITY)
    if "verbosity" in model.lacks and verbosity not in (None, "medium"):
        reject("verbosity", param=_VERBOSITY, value=verbosity)
    modalities = rest.get("modalities")
    speaks = isinstance(modalities, list) and "audio" in modalities
    if speaks and "audio" in model.lacks:
        reject("no_speech", param="model", model=body.model)
    if speaks and "audio" in provider.fields and rest.get("audio") is None:
        reject("missing", param="audio")
