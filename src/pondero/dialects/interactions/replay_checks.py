"""Finds where the Interactions API rejects a replayed conversation, or loses thinking."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pondero.canon import Json, LevelUpdate, ToolResult
from pondero.dialects.dialect import EarlierAnswer, ReplayChecks, ReplayIssue, SentRequest

_CONTENT = frozenset({"text", "image", "audio", "video", "document"})
_PLACEHOLDERS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_ALPHABET = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


class _Step(NamedTuple):
    path: str
    raw: Mapping[str, Json]

    @property
    def type(self) -> str:
        return str(self.raw.get("type"))

    @property
    def signature(self) -> str:
        value = self.raw.get("signature")
        return value if isinstance(value, str) else ""

    @property
    def is_model(self) -> bool:
        return self.type not in ("user_input", "function_result")

    @property
    def blocks(self) -> list["_Step"]:
        """Return the content of a step, with its places."""
        content = self.raw.get("content")
        return [
            _Step(f"{self.path}.content[{number}]", block)
            for number, block in enumerate(content if isinstance(content, list) else [])
            if isinstance(block, dict)
        ]

    @property
    def results(self) -> list["_Step"]:
        """Return the results of functions: the step itself, or blocks of it."""
        if self.type == "function_result":
            return [self]
        return [block for block in self.blocks if block.type == "function_result"]

    @property
    def begins_turn(self) -> bool:
        """Return whether the user speaks here, instead of sending the results of calls."""
        return self.type == "user_input" and not self.results


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the places in this request's history that are rejected, or lose thinking."""
    steps = _steps(sent.body)
    return [
        *_find_misplaced(steps),
        *_find_unsigned(sent, steps),
        *_find_unpaired(sent, steps),
        *_find_bad_signatures(sent, steps),
    ]


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request has earlier answers of a model, or names one that is stored."""
    stored = isinstance(body.get("previous_interaction_id"), str)
    return stored or any(step.is_model for step in _steps(body))


def _steps(body: Mapping[str, Json]) -> list[_Step]:
    given = body.get("input")
    return [
        _Step(f"input[{number}]", step)
        for number, step in enumerate(given if isinstance(given, list) else [])
        if isinstance(step, dict) and step.get("type") not in _CONTENT
    ]


def _find_misplaced(steps: list[_Step]) -> Iterator[ReplayIssue]:
    for block in (block for step in steps for block in step.blocks):
        if block.type == "thought":
            yield ReplayIssue(
                code="seal_misplaced",
                path=block.path,
                what="the thought is inside another step",
                then="400 User turns cannot contain thought blocks.",
                cure="send the thought as a step of its own, before the model's other steps",
            )


def _find_unsigned(sent: SentRequest, steps: list[_Step]) -> Iterator[ReplayIssue]:
    if sent.facts.replay not in ("tools", "required"):
        yield from _find_lost(sent, steps)
        return
    turn = max((n for n, step in enumerate(steps) if step.begins_turn), default=-1)
    signed = False
    for step in steps[turn + 1 :]:
        signed = signed or bool(step.signature)
        if step.type != "function_call" or signed:
            continue
        given = _find_answer(sent, step)
        origin = f"; exchange {given.number} gave one" if given and _had_signature(given) else ""
        yield ReplayIssue(
            code="call_unsealed",
            path=step.path,
            what=f"no signed thought comes before the call of {step.raw.get('name')}{origin}",
            then="400 Function call is missing a thought_signature",
            cure="send every thought step of the answer back, unchanged and in its place; the "
            "signature of a stream is in a thought_signature delta, not in step.start",
        )
        return  # one thought before the first call is enough for all of them


def _find_lost(sent: SentRequest, steps: list[_Step]) -> Iterator[ReplayIssue]:
    signed = False
    for step in steps:
        if not step.is_model:
            signed = False
        signed = signed or bool(step.signature)
        if step.type != "function_call" or signed:
            continue
        given = _find_answer(sent, step)
        if given is not None and _had_signature(given):
            yield ReplayIssue(
                code="thinking_lost",
                path=step.path,
                what=f"the thought that exchange {given.number} gave is not sent back",
                then="it is accepted; the model continues without its earlier thinking",
                cure="send every thought step of the answer back, unchanged and in its place",
                refused=False,
            )


def _find_answer(sent: SentRequest, step: _Step) -> EarlierAnswer | None:
    id = step.raw.get("id")
    return sent.past.by_call_id(id) if isinstance(id, str) else None


def _had_signature(given: EarlierAnswer) -> bool:
    parts = given.message.parts
    return any(not isinstance(part, ToolResult | LevelUpdate) and part.signature for part in parts)


def _find_unpaired(sent: SentRequest, steps: list[_Step]) -> Iterator[ReplayIssue]:
    stored = isinstance(sent.body.get("previous_interaction_id"), str)
    owed: dict[str, _Step] = {}
    called: set[str] = set()
    for step in steps:
        if step.type == "function_call":
            owed[str(step.raw.get("id"))] = step
            called.add(str(step.raw.get("id")))
        for result in step.results:
            id = str(result.raw.get("call_id"))
            if id not in called and not stored:
                yield ReplayIssue(
                    code="result_uncalled",
                    path=result.path,
                    what=f"a result of the call {id}, which is not in the input",
                    then=f"400 No function call found for call_id '{id}'.",
                    cure="send the function_call step back too, with its id",
                )
            owed.pop(id, None)
    for id, step in owed.items():
        yield ReplayIssue(
            code="call_unanswered",
            path=step.path,
            what=f"the call {id} has no result",
            then=f"400 No function result found for function call '{id}'.",
            cure="send a function_result with its call_id after it",
        )


def _find_bad_signatures(sent: SentRequest, steps: list[_Step]) -> Iterator[ReplayIssue]:
    for step in (step for step in steps if step.signature):
        given = sent.past.by_signature(step.signature)
        if given is not None and given.provider != sent.provider:
            yield ReplayIssue(
                code="seal_foreign",
                path=step.path,
                what=f"this signature was made by {given.provider} (exchange {given.number})",
                then="400 Invalid thought_signature",
                cure="leave the thought out; before a call, send a thought with the signature "
                f'"{_PLACEHOLDERS[0]}" instead',
            )
        elif given is None and not _is_base64(step.signature):
            yield ReplayIssue(
                code="seal_broken",
                path=step.path,
                what="the signature is not base64: it was cut or rewritten",
                then="400 Invalid thought_signature",
                cure="send the signature back byte for byte",
            )


def _is_base64(text: str) -> bool:
    if text in _PLACEHOLDERS:
        return True
    if not _ALPHABET.fullmatch(text):
        return False
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)
