"""Counts the tokens of a prompt: by the model's own service, else an estimate that says so."""

from msgspec import Struct

from ..batch import Steps, send_idempotent
from ..canon import Request, known_count
from ..catalog import ModelEntry
from ..dialects import PromptCount, get_dialect
from ..errors import Malformed, ServiceError
from ..exchange import Prepared, Retry, estimate_tokens
from ..framing import parse_json_or_none

_NO_SUCH_ADDRESS = (404, 405, 501)


class TokenCount(Struct, frozen=True):
    """How many tokens a prompt has, with its system prompt, tools and attachments.

    ``by``: who counted, the provider or pondero. If it is not ``exact``, it is an estimate from the
    characters, and ``why`` says why.

    >>> client.count_tokens("claude-opus-5", "What is 17 * 23?")
    TokenCount(tokens=7, exact=True, by='anthropic', why='')
    >>> client.count_tokens("cohere:command-a-03-2025", "What is 17 * 23?").exact
    False
    """

    tokens: int
    exact: bool
    by: str
    why: str = ""


def find_counter(entry: ModelEntry) -> PromptCount | None:
    """Return how a model's service counts prompts; None if it does not."""
    return get_dialect(entry.provider.dialect).caller().find_count(entry.quirks)


def estimate_count(entry: ModelEntry, request: Request, why: str = "") -> TokenCount:
    """Return an estimate of a request's tokens."""
    reason = why or f"pondero knows of no count of tokens at {entry.provider.label}"
    return TokenCount(estimate_tokens(request), exact=False, by="pondero", why=reason)


def count_steps(
    entry: ModelEntry, request: Request, prepared: Prepared, count: PromptCount, retry: Retry
) -> Steps[TokenCount]:
    """Ask the service; a server that has no such address gets an estimate."""
    caller, label = get_dialect(entry.provider.dialect).caller(), entry.provider.label
    try:
        body = yield from send_idempotent(
            count.request(prepared.request), caller.error, retry=retry
        )
    except ServiceError as error:
        if error.status not in _NO_SUCH_ADDRESS:
            raise
        return estimate_count(entry, request, f"{label} did not count it: {error}")
    raw = parse_json_or_none(body)
    tokens = known_count(raw.get(count.field)) if isinstance(raw, dict) else None
    if tokens is None:
        raise Malformed(f"{label} answered a count of tokens without a number")
    return TokenCount(tokens, exact=True, by=entry.provider.name)
