"""Describes the admin API in OpenAPI 3.1, from the table of its operations."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from msgspec.json import schema_components

from ...canon import Json
from .operation import HOME, JSON, ErrorAnswer, Operation, Parameter

_KEY, _SESSION = "adminKey", "session"
_ERRORS: Mapping[int, str] = {
    400: "A parameter or the body is invalid.",
    401: "No valid admin key was sent, and one exists.",
    403: "The key is not an admin's, the actor is a viewer, or the page or host is another's.",
    404: "There is nothing of this name.",
    405: "This path has other methods.",
    409: "The name is taken, the key is in gateway.toml, or it has another revision.",
    413: "The body is too large.",
    429: "Too many requests with a wrong key came from this address.",
    431: "The head of the request is too large.",
    503: "The shared state or the ledger is away.",
}
_COMMON = (400, 401, 403, 429, 431, 503)
_ABOUT = (
    "Who may call: the holder of an admin key, sent as a bearer token, and who signed in to the "
    "console. Without an admin key and [sign_in], any user of this machine, without a "
    "key. A viewer may call what has the role viewer."
)


def describe(operations: Sequence[Operation], *, guarded: bool, cookie: str | None = None) -> Json:
    """Return the document; ``guarded``: an admin key exists, so that one is needed.

    ``cookie``: that of people who signed in, None without ``[sign_in]``.
    """
    kinds = _list_kinds(operations)
    found, schemas = schema_components(kinds, ref_template="#/components/schemas/{name}")
    refs = dict(zip(map(_name_kind, kinds), found, strict=True))
    paths: dict[str, dict[str, Json]] = {}
    for each in operations:
        place = paths.setdefault(f"{HOME}/{each.path}", {})
        place[each.method.lower()] = _describe_operation(each, refs)
    schemes: dict[str, Json] = {_KEY: {"type": "http", "scheme": "bearer"}}
    if cookie is not None:
        schemes[_SESSION] = {"type": "apiKey", "in": "cookie", "name": cookie}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pondero admin API",
            "version": version("pondero"),
            "description": _ABOUT,
        },
        "security": [{name: []} for name in schemes] if guarded else [{}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": schemes},
    }


def _list_kinds(operations: Sequence[Operation]) -> list[Any]:
    """Return every type that the document describes, each once."""
    kinds: dict[str, Any] = {_name_kind(ErrorAnswer): ErrorAnswer}
    for each in operations:
        parameters = (*each.parameters, *((each.name,) if each.name else ()))
        for kind in (each.answer, each.body, *(parameter.kind for parameter in parameters)):
            if kind is not None:
                kinds[_name_kind(kind)] = kind
    return list(kinds.values())


def _name_kind(kind: Any) -> str:
    return repr(kind)


def _describe_operation(operation: Operation, refs: Mapping[str, Json]) -> Json:
    described: dict[str, Json] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "x-pondero-role": operation.role,
        "parameters": [
            *([_describe_parameter(operation.name, "path", refs)] if operation.name else ()),
            *(_describe_parameter(each, "query", refs) for each in operation.parameters),
        ],
        "responses": {
            "200": {"description": "Done.", "content": _describe_content(operation, refs)},
            **{str(status): _describe_error(status, refs) for status in _list_errors(operation)},
        },
    }
    if operation.body is not None:
        schema = refs[_name_kind(operation.body)]
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return described


def _list_errors(operation: Operation) -> list[int]:
    body = (413,) if operation.body is not None else ()
    return sorted({*_COMMON, *operation.errors, *body})


def _describe_parameter(parameter: Parameter, place: str, refs: Mapping[str, Json]) -> Json:
    schema = refs[_name_kind(parameter.kind)]
    if not parameter.required:  # a form sends an empty value for a missing one
        schema = {"anyOf": [schema, {"const": ""}]}
    return {
        "name": parameter.name,
        "in": place,
        "description": parameter.description,
        "required": parameter.required,
        "schema": schema,
    }


def _describe_content(operation: Operation, refs: Mapping[str, Json]) -> Json:
    """Return what an answer contains; the events of a stream have a schema of their own."""
    if operation.media == JSON:
        return {JSON: {"schema": refs[_name_kind(operation.answer)]}}
    described: dict[str, Json] = {"schema": {"type": "string"}}
    if operation.answer is not None:
        described["x-event-data"] = refs[_name_kind(operation.answer)]
    return {operation.media: described}


def _describe_error(status: int, refs: Mapping[str, Json]) -> Json:
    schema = refs[_name_kind(ErrorAnswer)]
    return {"description": _ERRORS[status], "content": {JSON: {"schema": schema}}}
