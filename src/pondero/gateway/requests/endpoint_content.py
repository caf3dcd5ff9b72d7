"""The content of a request to an endpoint: its model, the ids that it names, and its bytes.

JSON is read whole, because any field may name the model. A form passes in pieces as soon as its
model is known. Everything else passes as it arrives.
"""

import json
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Raw

from ...canon import HttpRequest, Json, get_decoder
from ...dialects import EndpointMatch, find_resource, find_texts, parse_message
from ...errors import BadParameter
from ...exchange import fold_name
from ..server.arrival import Arrival
from .body_pieces import BodyPieces
from .form_scanner import FormField, FormScanner
from .read_request import BodyProblem, announces_body
from .repeated_fields import check_no_repeats, mentions
from .upload_pass import PASS

MODEL = "model"
_LETTERS = ("\N{LATIN SMALL LETTER LONG S}".encode(), "\N{KELVIN SIGN}".encode())  # s and k in Go
_FIELDS = get_decoder(dict[str, Raw])
_PARAMETERS = 64  # of a query
_JSON = ("application/json",)
# They are for the gateway, if for anybody.
_KEYS = ("key", "access_token", "api_key", "api-key", "oauth_token", PASS)


class EndpointContent:
    """What a request contains; ``body`` is whole, or ``pieces`` are still to come.

    ``model`` is its name as the client wrote it. ``references`` are ids of stored things.
    """

    def __init__(self, http: HttpRequest, query: tuple[tuple[str, str], ...]) -> None:
        self.http = http
        self.query = query
        self.body: bytes = b""
        self.pieces: BodyPieces | None = None
        self.model: str | None = None
        self.model_field: FormField | None = None
        self.raw: Json = None
        self.references: tuple[str, ...] = ()
        self.fields: dict[str, str] = {}

    @property
    def size(self) -> int:
        """Return the bytes that are known."""
        return len(self.body) if self.pieces is None else self.pieces.size


async def read_content(
    arrival: Arrival,
    match: EndpointMatch,
    *,
    max_body: int,
    max_upload: int,
    lists_models: bool = False,
) -> EndpointContent:
    """Return the content of a request; raises BadParameter, BodyProblem and ClientLeft.

    ``lists_models``: further models in a form are looked for too.
    """
    http = arrival.head
    content = EndpointContent(http, _read_query(http, match))
    kind = http.headers.get("content-type", "").strip()
    media = kind.partition(";")[0].strip().lower()
    place = match.endpoint.model
    if not announces_body(http):
        content.http = await arrival.read_body(max_body)
        _need_model(match)
    elif any(name == match.endpoint.given_query for name, _ in content.query):
        _pass_on(arrival, match, content, limit=max_upload)  # the next bytes of a file
    elif media == "multipart/form-data" and place != "json":
        uses = match.endpoint.uses_at if lists_models else ()
        limits = (max_body, max_upload)
        await _read_form(arrival, match, content, kind=kind, limits=limits, uses=uses)
    elif media in _JSON or place == "json" or media.endswith("+json"):
        content.http = await arrival.read_body(max_body)
        content.body = content.http.body
        _read_json(match, content)
    elif match.endpoint.before or not place:
        _pass_on(arrival, match, content, limit=max_upload)
    else:
        raise BodyProblem(415, f"{match.call} takes a form or JSON, not {media[:80]!r}")
    if place == "path":
        content.model = match.model
    elif place == "query":
        content.model = next((value for name, value in content.query if name == MODEL), None)
    return content


def read_socket_query(http: HttpRequest, match: EndpointMatch) -> EndpointContent:
    """Return the content of a socket's head; raises BadParameter."""
    content = EndpointContent(http, _read_query(http, match))
    content.model = next((value for name, value in content.query if name == MODEL), None)
    return content


def _read_query(http: HttpRequest, match: EndpointMatch) -> tuple[tuple[str, str], ...]:
    """Return the parameters that pass; raises BadParameter for others, and for a model twice."""
    try:
        pairs = parse_qsl(
            urlsplit(http.url).query, keep_blank_values=True, max_num_fields=_PARAMETERS
        )
    except ValueError:
        raise BadParameter("the query has too many parameters") from None
    found = tuple(pair for pair in pairs if pair[0] not in _KEYS)
    known = set(match.api.query)
    is_filter = match.is_list and http.method == "GET"
    if match.endpoint.model != "query" and not is_filter:
        known.discard(MODEL)
    for name, _ in found:
        # Lists and filters are written as include[] and metadata[name].
        if name.partition("[")[0] not in known:
            message = f"{match.call} takes no query parameter {name[:80]!r}"
            raise BadParameter(message)
    if sum(name == MODEL for name, _ in found) > 1:
        raise BadParameter("the query names a model twice")
    return found


def _need_model(match: EndpointMatch) -> None:
    if match.endpoint.model in ("json", "form") and not match.endpoint.optional_model:
        raise BadParameter(f"{match.call} needs a body that names a model")


# -- JSON ----------------------------------------------------------------------------------------


def _read_json(match: EndpointMatch, content: EndpointContent) -> None:
    """Find the model and the ids in JSON; raises BadParameter if it could be read in two ways."""
    body, endpoint = content.body, match.endpoint
    purpose = endpoint.purpose
    api, place = match.api, endpoint.output
    named = (*api.references, *api.addresses, *endpoint.account_at)
    watched = (
        MODEL,
        *named,
        *((purpose.field,) if purpose else ()),
        *((place.field, *place.others, *place.times) if place else ()),
        *((place.prompts,) if place and place.prompts else ()),
        *(path.partition(".")[0] for path in endpoint.uses_at),
    )
    check_once(body, watched)
    if mentions(body, (*named, *((MODEL,) if endpoint.models_at else ()))):
        check_no_repeats(body)
    try:
        raw = content.raw = msgspec.json.decode(body) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadParameter("the body is not JSON") from None
    if not isinstance(raw, dict):
        raise BadParameter("the body is not a JSON object")
    if endpoint.model in ("json", "form"):
        model = raw.get(MODEL)
        if model is not None and not isinstance(model, str):
            raise BadParameter("model is not a text")
        content.model = model
    for path in endpoint.models_at:
        for name in find_texts(raw, path):
            if name.removeprefix(match.api.model_prefix) != match.model:
                raise BadParameter(f"the body names the model {name[:100]!r}, its address another")
    raw = content.raw = api.read_names(raw)
    content.references = tuple(api.find_references(raw))
    if purpose is not None and isinstance(said := raw.get(purpose.field), str):
        content.fields[purpose.field] = said


def check_once(body: bytes, names: tuple[str, ...]) -> None:
    """Raise BadParameter if an object has one of these fields twice: services differ there.

    Some read names without regard to case (Go), so that Model is model too.
    """
    watched = frozenset(map(fold_name, names))
    if not _may_repeat(body, names):
        return

    def check(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        folded = (fold_name(name) for name, _ in pairs)
        said = [name for name in folded if name in watched]
        if len(said) > len(set(said)):
            raise BadParameter("the body has a field twice; send it once")
        return dict(pairs)

    try:
        json.loads(body, object_pairs_hook=check)
    except (ValueError, UnicodeDecodeError):
        return  # it is no JSON, as the next step says


def _may_repeat(body: bytes, names: tuple[str, ...]) -> bool:
    """Return whether one of these fields may be there twice, in whatever spelling."""
    if b"\\" in body or any(sign in body for sign in _LETTERS):
        return True
    low = body.lower()
    spelt = ({name.lower(), name.replace("_", "").lower()} for name in names)
    return any(sum(low.count(b'"%b"' % each.encode()) for each in same) > 1 for same in spelt)


def rename_model_in(content: EndpointContent, match: EndpointMatch, model: str) -> None:
    """Put another name for the model into the content; all else keeps its bytes."""
    if match.endpoint.model in ("json", "form") and isinstance(content.raw, dict):
        fields = _FIELDS.decode(content.body)
        fields[MODEL] = Raw(msgspec.json.encode(model))
        content.body = msgspec.json.encode(fields)
    elif content.model_field is not None and content.pieces is not None:
        field, start = content.model_field, content.pieces.beginning
        content.pieces.beginning = start[: field.begin] + model.encode() + start[field.end :]
    elif match.endpoint.models_at and isinstance(content.raw, dict):
        for path in match.endpoint.models_at:
            _set_texts(content.raw, path, model)
        content.body = msgspec.json.encode(content.raw)
    elif match.endpoint.model == "query":
        content.query = tuple(
            (name, model if name == MODEL else value) for name, value in content.query
        )


def _set_texts(raw: Json, path: str, text: str) -> None:
    name, _, rest = path.partition(".")
    if name == "*":
        for each in raw if isinstance(raw, list) else ():
            _set_texts(each, rest, text)
    elif isinstance(raw, dict) and name in raw:
        if rest:
            _set_texts(raw[name], rest, text)
        else:
            raw[name] = text


# -- forms and streams ---------------------------------------------------------------------------


async def _read_form(
    arrival: Arrival,
    match: EndpointMatch,
    content: EndpointContent,
    *,
    kind: str,
    limits: tuple[int, int],
    uses: tuple[str, ...],
) -> None:
    """Read a form until its model or its purpose is known and a file begins, or to its end.

    SDKs send the fields first, and those of an object may name something stored.
    """
    _refuse_encoding(arrival)
    endpoint, purpose = match.endpoint, match.endpoint.purpose
    is_named = purpose is not None and purpose.call == match.call
    once = (MODEL, *((purpose.field,) if purpose else ()))
    used = tuple(path.partition(".")[0] for path in uses)
    names, takes_files = (*once, *match.api.references, *used), endpoint.model != "form"
    scanner = FormScanner(kind, names, once=once, takes_files=takes_files)
    max_body, max_upload = limits
    pieces = content.pieces = BodyPieces(arrival.receive_body, max_upload, check=scanner.feed)
    wanted = MODEL if endpoint.model == "form" else purpose.field if is_named and purpose else ""
    # An id in a form can follow a file, so a form that names stored things is read to its end.
    reads_all = bool(match.api.references) and endpoint.model != "form" and not wanted
    held: list[bytes] = []
    while not pieces.is_whole and (reads_all or (wanted and not _has_fields(scanner, wanted))):
        held.append(await pieces.read())
        if pieces.size > max_body:
            what = wanted or "its fields"
            raise BodyProblem(413, f"{what} must be in the first {max_body:,} bytes of a form")
    pieces.beginning = b"".join(held)
    scanner.is_read = True
    if pieces.is_whole:
        scanner.end()
        arrival.is_read = True
    if endpoint.model == "form" and (field := scanner.find(MODEL)) is not None:
        content.model, content.model_field = field.text, field
    if wanted and (found := scanner.find(wanted)) is not None:
        content.fields[wanted] = found.text
    content.fields |= {name: "" for name in used if name in scanner.fields}
    named = (each for name in match.api.references for each in scanner.fields.get(name, ()))
    content.references = (
        *(find_resource(each.text) or each.text for each in named),
        *(id for each in scanner.objects for id in _find_inner(match, each)),
    )


def _find_inner(match: EndpointMatch, value: bytes) -> tuple[str, ...]:
    """Return the ids of stored things in a field of a form that is JSON."""
    check_no_repeats(value, "a field of the form")
    raw = parse_message(value)
    if raw is None:
        raise BadParameter("a field of the form names something like JSON, and is no JSON")
    return tuple(match.api.find_references(raw))


def _has_fields(scanner: FormScanner, wanted: str) -> bool:
    return scanner.has_file and scanner.find(wanted) is not None


def _pass_on(
    arrival: Arrival, match: EndpointMatch, content: EndpointContent, *, limit: int
) -> None:
    """Let bytes pass that are the content of a file."""
    if not match.endpoint.before:
        raise BodyProblem(415, f"{match.call} takes JSON or a form")
    _refuse_encoding(arrival)
    content.pieces = BodyPieces(arrival.receive_body, limit)


def _refuse_encoding(arrival: Arrival) -> None:
    if arrival.head.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise BodyProblem(415, "an upload cannot be compressed")
