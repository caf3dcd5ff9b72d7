"""Checks a file for traps and returns a report; ``pondero guard`` calls it.

Each recorded exchange is judged by itself. For a saved chat or an exported thread, the request that
would be sent next is judged.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ...canon import Message, Tool
from ...cassettes import RecordedExchange
from ...client import Chat, Client
from ...dialects import get_dialect
from ...emulator import Emulator
from ...errors import BadParameter, CassetteError
from ...handoff import Change
from ...store import from_jsonl
from .exchanges import GuardedExchange, GuardLine, Kind, detect_kind, parse_lines, recognise
from .findings import (
    AnswerIndex,
    GuardFinding,
    GuardReport,
    count_returned_signatures,
    find_issues,
    iter_strings,
    signature_texts,
)

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


def check_next_turn(data: bytes, name: str, kind: Kind) -> GuardReport:
    """Return what the next turn of a chat or thread would be refused for, or would not send."""
    chat = _chat(data, kind, Client(transport=Emulator()))  # where nothing is sent no key is needed
    each = _next(chat, name)
    traps = [replace(finding, exchange=None) for finding in find_issues(each, AnswerIndex(()))]
    findings = [*traps, *_changes(chat, each)]
    return GuardReport(
        name=name,
        kind=kind,
        lines=len(chat.messages),
        exchanges=1,
        with_past=int(get_dialect(each.dialect).replay_checks().has_history(each.body)),
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
    """Return a stand-in for every tool that was called: a saved chat does not hold its tools."""
    names = {call.name for message in messages for call in message.tool_calls}
    return [Tool(name, parameters={"type": "object", "properties": {}}) for name in sorted(names)]


def _next(chat: Chat, name: str) -> GuardedExchange:
    each = recognise(1, RecordedExchange(chat.prepare(_PROMPT).request))
    if each is None:
        message = f"{name}: the next request of {chat.model!r} is none that can be judged"
        raise BadParameter(message)
    return each


def _changes(chat: Chat, each: GuardedExchange) -> Iterator[GuardFinding]:
    for change in chat.handoff.changes:
        code = _CODES.get((change.action, change.what))
        if code is not None:
            yield GuardFinding(
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


def _sealed(chat: Chat, each: GuardedExchange) -> int:
    """Return how many seals of the history go back in the next request."""
    here = set(iter_strings(each.body))
    proofs = [signature_texts(part) for message in chat.messages for part in message.parts]
    return sum(1 for proof in proofs if proof and not here.isdisjoint(proof))


def check_file(data: bytes, name: str = "-") -> GuardReport:
    """Return what a service refuses in a recorded conversation, and which thinking is lost.

    ``data`` is a cassette, one of vcrpy's, lines of exchanges, a saved chat or an exported thread;
    its content says which. ``name`` appears in errors.
    """
    kind = detect_kind(data, name)
    try:
        if kind in ("chat", "thread"):
            return check_next_turn(data, name, kind)
        return _report(parse_lines(data, name, kind), name, kind)
    except RecursionError:
        message = f"{name}: something in it is nested too deeply"
        raise CassetteError(message) from None


def _report(found: list[GuardLine | None], name: str, kind: Kind) -> GuardReport:
    talks = [
        talk
        for number, line in enumerate(found, 1)
        if line and (talk := recognise(number, line.recorded, provider=line.provider))
    ]
    past = AnswerIndex(talks)
    findings = {each.number: find_issues(each, past) for each in talks}
    refused = [each.number for each in talks if each.refused]
    return GuardReport(
        name=name,
        kind=kind,
        lines=len(found),
        exchanges=len(talks),
        with_past=sum(
            get_dialect(each.dialect).replay_checks().has_history(each.body) for each in talks
        ),
        seals=sum(count_returned_signatures(each, past) for each in talks),
        dialects=_dialects(talks),
        errors=len(refused),
        explained=sum(any(f.refused for f in findings[number]) for number in refused),
        findings=tuple(finding for each in findings.values() for finding in each),
    )


def _dialects(talks: list[GuardedExchange]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.dialect for each in talks))
