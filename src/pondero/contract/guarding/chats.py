"""A saved chat, or an exported thread: the request it would send next, held to its wire's rules."""

from collections.abc import Iterable, Iterator
from typing import NoReturn

from msgspec.structs import replace

from ...canon import HttpRequest, Message, Tool
from ...client import Chat, Client
from ...dialects import dialect
from ...errors import BadParameter, Unreachable
from ...exchange import Retry, Timeouts
from ...handoff import Change
from ...store import from_jsonl
from ...transport import Recorded
from .judging import judged
from .past import Answers, sealed_texts, texts
from .report import Finding, Kind, Report
from .seen import Seen, seen

_PROMPT = "go on"
_CODES = {
    ("withheld", "thinking"): "thinking_lost",
    ("rewritten", "thinking"): "thinking_lost",
    ("rewritten", "seal"): "thinking_lost",
    ("added", "result"): "call_unanswered",
    ("withheld", "result"): "result_uncalled",
}
_THEN = {
    "thinking_lost": "it is not sent; the model goes on without what it thought",
    "call_unanswered": "a result that says so is sent in its place",
    "result_uncalled": "it is not sent",
}
_CURE = {
    "thinking_lost": "go on with the model that made it; the chat itself keeps everything",
    "call_unanswered": "nothing to do; run the tool again if its result matters",
    "result_uncalled": "nothing to do",
}


class _Catcher:
    """A transport that keeps what it is given and sends nothing."""

    needs_key = False

    def __init__(self) -> None:
        self.request: HttpRequest | None = None

    def send(self, request: HttpRequest, timeouts: Timeouts) -> NoReturn:
        del timeouts
        self.request = request
        raise Unreachable("nothing is sent")

    def close(self) -> None:
        """Nothing is open."""


def guarded(data: bytes, name: str, kind: Kind) -> Report:
    """Return what of a chat or thread is refused in its next turn, or not sent at all."""
    catcher = _Catcher()
    chat = _chat(data, kind, Client(transport=catcher, retry=Retry(attempts=1)))
    each = _next(chat, catcher, name)
    traps = [replace(finding, exchange=None) for finding in judged(each, Answers(()))]
    findings = [*traps, *_changes(chat, each)]
    return Report(
        name=name,
        kind=kind,
        lines=len(chat.messages),
        exchanges=1,
        with_past=int(dialect(each.dialect).caller().has_past(each.body)),
        seals=_sealed(chat, each),
        dialects=(each.dialect,),
        errors=0,
        explained=0,
        findings=tuple(findings),
    )


def _chat(data: bytes, kind: Kind, client: Client) -> Chat:
    if kind == "chat":
        past = Chat.from_json(data, client=client).messages
        return Chat.from_json(data, client=client, tools=_called(past))
    thread, lines = from_jsonl(data)
    messages = [line.kept.message for line in lines]
    return Chat(
        thread.model,
        thread.thinking,
        messages=messages,
        tools=_called(messages),
        client=client,
        system=thread.system or None,
    )


def _called(messages: Iterable[Message]) -> list[Tool]:
    """Return a stand-in for every tool of the past: what was saved does not have its tools."""
    names = {call.name for message in messages for call in message.tool_calls}
    return [Tool(name, parameters={"type": "object", "properties": {}}) for name in sorted(names)]


def _next(chat: Chat, catcher: _Catcher, name: str) -> Seen:
    try:
        chat.send(_PROMPT)
    except Unreachable:
        if catcher.request is None:
            raise
    each = seen(1, Recorded(catcher.request)) if catcher.request else None
    if each is None:
        message = f"{name}: the next request of {chat.model!r} is none that can be judged"
        raise BadParameter(message)
    return each


def _changes(chat: Chat, each: Seen) -> Iterator[Finding]:
    for change in chat.handoff.changes:
        code = _CODES.get((change.action, change.what))
        if code is not None:
            yield Finding(
                code=code,
                exchange=None,
                line=None,
                path=_place(change),
                dialect=each.dialect,
                model=each.model,
                what=f"{change.what} is {change.action}: {change.why}",
                then=_THEN[code],
                cure=_CURE[code],
                refused=False,
            )


def _place(change: Change) -> str:
    part = "" if change.part is None else f".parts[{change.part}]"
    return f"messages[{change.message}]{part}"


def _sealed(chat: Chat, each: Seen) -> int:
    """Return how many seals of the history go back in the next request."""
    here = set(texts(each.body))
    proofs = [sealed_texts(part) for message in chat.messages for part in message.parts]
    return sum(1 for proof in proofs if proof and not here.isdisjoint(proof))
