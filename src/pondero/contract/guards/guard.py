"""Checks a file's exchanges, or the next request of a chat or thread, for replay issues."""

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
    "thinking_lost": "it is not sent; the model continues without its thinking",
    "call_unanswered": "a result that says so is sent in its place",
    "result_uncalled": "it is not sent",
}
_CURE = {
    "thinking_lost": "continue with the model that made it; the chat itself loses nothing",
    "call_unanswered": "nothing to do; run the tool again if its result matters",
    "result_uncalled": "nothing to do",
}


def check_next_turn(data: bytes, name: str, kind: Kind) -> GuardReport:
    """Return the issues of the next request of a chat or thread."""
    chat = _chat(data, kind, Client(transport=Emulator()))  # sends nothing, so no key is needed
    each = _prepare_next(chat, name)
    issues = [replace(finding, exchange=None) for finding in find_issues(each, AnswerIndex(()))]
    findings = [*issues, *_changes(chat, each)]
    return GuardReport(
        name=name,
        kind=kind,
        lines=len(chat.messages),
        exchanges=1,
        with_past=int(get_dialect(each.dialect).replay_checks().has_history(each.body)),
        seals=_count_signatures(chat, each),
        dialects=(each.dialect,),
        errors=0,
        explained=0,
        findings=tuple(findings),
    )


def _chat(data: bytes, kind: Kind, client: Client) -> Chat:
    if kind == "chat":
        past = Chat.from_json(data, client=client).messages
        return Chat.from_json(data, client=client, tools=_make_tools(past))
    thread, lines = from_jsonl(data)
    messages = [line.kept.message for line in lines]
    return Chat(
        thread.model,
        thread.thinking,
        messages=messages,
        tools=_make_tools(messages),
        client=client,
        system=thread.system or None,
    )


def _make_tools(messages: Iterable[Message]) -> list[Tool]:
    names = {call.name for message in messages for call in message.tool_calls}
    return [Tool(name, parameters={"type": "object", "properties": {}}) for name in sorted(names)]


def _prepare_next(chat: Chat, name: str) -> GuardedExchange:
    each = recognise(1, RecordedExchange(chat.prepare(_PROMPT).request))
    if each is None:
        message = f"{name}: cannot check the next request of {chat.model!r}"
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


def _count_signatures(chat: Chat, each: GuardedExchange) -> int:
    here = set(iter_strings(each.body))
    proofs = [signature_texts(part) for message in chat.messages for part in message.parts]
    return sum(1 for proof in proofs if proof and not here.isdisjoint(proof))


def check_file(data: bytes, name: str = "-") -> GuardReport:
    """Return what a service rejects in a recorded conversation, and which thinking is lost."""
    kind = detect_kind(data, name)
    try:
        if kind in ("chat", "thread"):
            return check_next_turn(data, name, kind)
        return _report(parse_lines(data, name, kind), name, kind)
    except RecursionError:
        message = f"{name}: its JSON is nested too deeply"
        raise CassetteError(message) from None


def _report(found: list[GuardLine | None], name: str, kind: Kind) -> GuardReport:
    exchanges = [
        exchange
        for number, line in enumerate(found, 1)
        if line and (exchange := recognise(number, line.recorded, provider=line.provider))
    ]
    past = AnswerIndex(exchanges)
    findings = {each.number: find_issues(each, past) for each in exchanges}
    refused = [each.number for each in exchanges if each.rejected]
    return GuardReport(
        name=name,
        kind=kind,
        lines=len(found),
        exchanges=len(exchanges),
        with_past=sum(
            get_dialect(each.dialect).replay_checks().has_history(each.body) for each in exchanges
        ),
        seals=sum(count_returned_signatures(each, past) for each in exchanges),
        dialects=_dialects(exchanges),
        errors=len(refused),
        explained=sum(any(f.refused for f in findings[number]) for number in refused),
        findings=tuple(finding for each in findings.values() for finding in each),
    )


def _dialects(exchanges: list[GuardedExchange]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.dialect for each in exchanges))
