"""The rules of contents: roles, parts, turns, thought signatures and length."""

from itertools import groupby

from ..signatures import verify_signature
from ..types import Content, Part
from .facts import RequestFacts

_DATA = (
    "text",
    "inline_data",
    "file_data",
    "function_call",
    "function_response",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
)
_ROLES = ("", "user", "model", "function")
_BYTES = 4  # of a token, as the emulator counts them


def check_contents(asked: RequestFacts) -> None:
    """Reject contents without parts or of other roles, and parts without data or with much."""
    request = asked.request
    if not request.contents:
        asked.reject("no_contents")
    for number, content in enumerate(request.contents):
        if content.role not in _ROLES:
            asked.reject("bad_role")
        if not content.role and asked.surface.needs_roles:
            asked.reject("no_role")
        if not content.parts:
            asked.reject("no_parts", content=number)
        for place, part in enumerate(content.parts):
            _check_part(part, f"contents[{number}].parts[{place}]", asked)
    system = request.system_instruction
    if system is None:
        return
    if not asked.model.system:
        asked.reject_for_model("no_system")
    for place, part in enumerate(system.parts):
        _check_part(part, f"system_instruction.parts[{place}]", asked)


def _check_part(part: Part, at: str, asked: RequestFacts) -> None:
    data = [name for name in _DATA if getattr(part, name) is not None]
    if not data:
        asked.reject("no_data", at=at)
    if len(data) > 1:
        asked.reject("much_data", at=at, field=data[1])
    function = part.function_call or part.function_response
    if function is not None and not function.name:
        asked.reject("no_name", at=at, field=data[0])


def check_turns(asked: RequestFacts) -> None:
    """Reject calls that begin, and results that do not match the calls before them."""
    contents = asked.request.contents
    owed, begun = 0, False
    for is_model, turn in groupby(contents, key=lambda content: content.role == "model"):
        parts = [part for content in turn for part in content.parts]
        calls = sum(part.function_call is not None for part in parts)
        if is_model and calls and not begun:
            asked.reject("call_first")
        begun = True
        if is_model:
            owed = calls
            continue
        answers = sum(part.function_response is not None for part in parts)
        if answers and answers != owed:
            asked.reject("unpaired" if owed else "uncalled")
    if asked.model.settled and contents[-1].role == "model":
        asked.reject("prefill")


def check_signatures(asked: RequestFacts) -> None:
    """Reject signatures of others, and calls of the current turn that lack theirs."""
    contents = asked.request.contents
    for content in contents:
        for part in content.parts:
            proof = part.thought_signature
            if proof is not None and not verify_signature(proof, asked.provider):
                asked.reject("bad_signature")
    if not asked.model.signs:
        return
    turn = max((n for n, content in enumerate(contents) if _begins_turn(content)), default=-1)
    for number in range(turn + 1, len(contents)):
        first = next((part for part in contents[number].parts if part.function_call), None)
        if first is not None and first.function_call and not first.thought_signature:
            asked.reject("unsigned", name=first.function_call.name, position=number + 1)


def _begins_turn(content: Content) -> bool:
    results = any(part.function_response is not None for part in content.parts)
    return content.role not in ("model", "function") and not results


def check_length(asked: RequestFacts) -> None:
    """Reject more tokens than the model's window; most bodies are too small to be counted."""
    if asked.size <= asked.model.window * _BYTES:
        return
    request = asked.request
    told = [request.system_instruction, *request.contents]
    texts = (part.text or "" for content in told if content for part in content.parts)
    tokens = sum(len(text.encode("utf-8", "replace")) for text in texts) // _BYTES
    if tokens > asked.model.window:
        asked.reject("too_long", tokens=tokens, most=asked.model.window)
