"""What the service refuses, in its own order and words. The order is behaviour."""

from pondero.canon import HttpRequest, Thinking
from pondero.dialects.dialect import AcceptedRequest

from .address import serves
from .errors import refuse
from .parse import Context, body, canon, intent
from .signatures import sealer, verified

_THINKERS = ("sketch-1",)


def accept(http: HttpRequest, _provider: str) -> AcceptedRequest[Context]:
    """Return what was asked, or raise Rejected."""
    if http.method != "POST" or not serves(http.url.partition("?")[0]):
        raise refuse("no such address", status=404)
    if not http.headers.get("authorization", "").startswith("Bearer "):
        raise refuse("a key is missing", status=401)
    typed = body(http.body)
    request, wish = canon(typed), intent(typed)
    if wish.kind == "on" and request.model not in _THINKERS:
        raise refuse(f"{request.model} does not think")
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Thinking) and part.signature and not verified(part, request.model):
                raise refuse("a proof does not fit its thinking")
    thinks = wish.kind == "on"
    return AcceptedRequest(
        request=request,
        intent=wish,
        thinks=thinks,
        shown=thinks,
        context=Context(),
        sign=sealer(request.model),
        seed=http.body,
    )
