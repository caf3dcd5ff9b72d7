"""A request to an endpoint as it leaves: address, key and the headers that pass."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from ...canon import HttpRequest
from ...dialects import EndpointMatch
from ...errors import BadParameter
from ...exchange import auth_header
from ..server.context import GatewayContext
from .endpoint_content import EndpointContent, rename_model_in
from .endpoint_target import EndpointTarget

_ALWAYS = ("content-type", "accept")
_BACK = ("content-type", "retry-after")


def make_request(
    gateway: GatewayContext, match: EndpointMatch, content: EndpointContent, target: EndpointTarget
) -> HttpRequest:
    """Return the request to a provider; the model has the provider's name for it."""
    url, key = gateway.address(target.provider, target.deployment)
    model = target.model
    prefix = match.api.model_prefix
    asked = content.model.removeprefix(prefix) if content.model is not None else None
    if model is not None and model != asked:
        is_prefixed = content.model is not None and content.model.startswith(prefix)
        in_body = match.endpoint.model != "path" and not is_prefixed
        rename_model_in(content, match, model if in_body else f"{prefix}{model}")
    address = match.address(url, model)
    query = urlencode(content.query, quote_via=quote)
    sent = content.http.headers
    headers = {
        name: sent[name] for name in (*_ALWAYS, *match.api.headers) if name in sent
    } | auth_header(target.provider, key)
    _check_values(headers)
    full = f"{address}?{query}" if query else address
    return HttpRequest(content.http.method, full, headers, content.body)


def _check_values(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if "\r" in value or "\n" in value or "\0" in value:
            raise BadParameter(f"the header {name!r} is not valid")


def pick_answer_headers(
    match: EndpointMatch, headers: Mapping[str, str], sent: HttpRequest
) -> dict[str, str]:
    """Return the headers of an answer that pass; addresses in them lead here."""
    found = {name: headers[name] for name in (*_BACK, *match.api.answer_headers) if name in headers}
    for name in match.endpoint.shows_headers:
        if name in found:
            found[name] = _readdress(found[name], sent)
    return found


def _readdress(url: str, sent: HttpRequest) -> str:
    """Return an address of a service as one of this gateway: the next step comes here too."""
    parts = urlsplit(url)
    scheme = "https" if sent.headers.get("x-forwarded-proto", "").lower() == "https" else "http"
    host = sent.headers.get("host", "")
    return f"{scheme}://{host}{parts.path}{'?' if parts.query else ''}{parts.query}"
