"""Asks for a JSON answer in the strictest way that the model takes, and says what differs."""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from ...canon import Blob, Json, Message, OutputFormat, Request, Text
from ...catalog import OutputMode
from ...dialects import OutputSupport, SchemaRules
from ...thinking import Adjustment
from ..output.fit import FittedSchema, fit_schema, is_object, wrap_schema
from ..output.references import Unfit, inline
from ..output.restore import OutputRestore
from ..output.size import count_parameters
from .draft import RequestDraft

_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_NAME_LENGTH = 64
_ANY_JSON = "Answer in JSON."
_JSON_ALONE = "Answer with one JSON object and nothing else, without a code fence."


class _OutputRequest(Struct, frozen=True):
    """How the JSON is asked for: a field, words in the prompt, or both."""

    output: OutputFormat | None
    words: str = ""
    restore: OutputRestore | None = None
    note: Adjustment | None = None


def fit_citations(draft: RequestDraft) -> RequestDraft:
    """Cite all documents or none, and none if the answer has a format.

    Anthropic's page on citations: "on all or none", and not together with structured outputs.
    """
    request = draft.request
    documents = [
        part
        for message in draft.find_rest()[0]
        for part in message.parts
        if isinstance(part, Blob) and message.role == "user"
    ]
    if not documents:
        return draft
    cited = [part.cited for part in documents]
    if not any(cited) or (all(cited) and request.output is None):
        return draft
    if request.output is not None:
        why = "documents are not cited in an answer that has a format"
        note = Adjustment("dropped_parameter", "citations", "set", None, why)
    else:
        why = "documents are cited all together or not at all"
        note = Adjustment("parameter_clamped", "citations", "some documents", "all", why)
    turns = tuple(_cite(message, cited=request.output is None) for message in request.messages)
    return draft.but(request=replace(request, messages=turns)).note(note)


def _cite(message: Message, *, cited: bool) -> Message:
    if message.role != "user" or not any(isinstance(part, Blob) for part in message.parts):
        return message
    parts = (replace(p, cited=cited) if isinstance(p, Blob) else p for p in message.parts)
    return replace(message, parts=tuple(parts))


def fit_output(draft: RequestDraft) -> RequestDraft:
    """Fit the shape of the answer to the service and its model."""
    output = draft.request.output
    if output is None:
        return draft
    mode = _find_mode(draft)
    asked = _ask_schema(draft, output, mode) if output.schema is not None else None
    asked = asked or _ask_json(draft, output, mode)
    request = replace(draft.request, output=asked.output)
    if asked.words:
        request = _add_words(request, asked, draft.caller.output)
    changed = draft.but(request=request, restore=asked.restore)
    return changed.note(asked.note) if asked.note is not None else changed


def _find_mode(draft: RequestDraft) -> OutputMode:
    modes, support = draft.entry.provider.output, draft.caller.output
    if _find_conflict(draft):
        return "prompt"
    found = modes.find(draft.entry.model) or ("schema" if support.plain else "strict")
    return "prompt" if found == "json" and not support.json_mode else found


def _find_conflict(draft: RequestDraft) -> str:
    """Return why the request can have no format at all; empty if it can."""
    messages, model = draft.request.messages, draft.entry.model
    if draft.request.tools and draft.entry.provider.output.is_alone(model):
        return "this model takes no format for the answer along with tools"
    begun = messages and messages[-1].role == "assistant" and not messages[-1].tool_calls
    if begun and not draft.caller.output.prefill:
        return "this service takes no format for an answer that was begun for the model"
    return ""


# -- with a schema -------------------------------------------------------------------------------


def _ask_schema(draft: RequestDraft, output: OutputFormat, mode: OutputMode) -> _OutputRequest:
    why = _find_conflict(draft) or "this model takes no schema for the answer"
    lost = ""
    for rules in _iter_rules(draft.caller.output, output, mode):
        try:
            fitted = _fit(draft, output.schema, rules)
        except Unfit as unfit:
            why = str(unfit)
            lost = f"not enforced: {why}" if rules.strict else lost
        else:
            return _ask_fitted(output, fitted, rules, lost)
    return _ask_in_prompt(draft.caller.output, output, mode, why)


def _iter_rules(
    support: OutputSupport, output: OutputFormat, mode: OutputMode
) -> Iterator[SchemaRules]:
    strict, plain = support.strict, support.plain
    if mode == "strict" and strict is not None and (output.strict is not False or plain is None):
        yield strict
    if mode in ("strict", "schema") and plain is not None:
        yield plain
    elif mode == "schema" and strict is not None:
        yield strict


def _fit(draft: RequestDraft, schema: Json, rules: SchemaRules) -> FittedSchema:
    if draft.entry.provider.output.inline and isinstance(schema, dict):
        schema = inline(schema)
    fitted = fit_schema(schema, rules)
    strict_tools = [tool.parameters for tool in draft.request.tools if tool.strict]
    if strict_tools and rules.max_optional is not None and rules.max_unions is not None:
        optional, unions = count_parameters([fitted.schema, *strict_tools])
        if optional > rules.max_optional or unions > rules.max_unions:
            raise Unfit("together with the strict tools it has too many optional keys or unions")
    return fitted


def _ask_fitted(
    output: OutputFormat, fitted: FittedSchema, rules: SchemaRules, lost: str
) -> _OutputRequest:
    changes = [*((lost,) if lost else ()), *fitted.changes]
    note = None
    if changes:
        note = Adjustment("output_adjusted", "output", output.name, "schema", "; ".join(changes))
    name = _NAME.sub("_", output.name)[:_NAME_LENGTH] or "answer"
    restore = OutputRestore(wrapped=fitted.wrapped, schema=output.schema if fitted.nulls else None)
    return _OutputRequest(
        OutputFormat(fitted.schema, name, output.strict if rules.strict is None else rules.strict),
        restore=restore if restore != OutputRestore() else None,
        note=note,
    )


def _ask_in_prompt(
    support: OutputSupport, output: OutputFormat, mode: OutputMode, why: str
) -> _OutputRequest:
    """Return the schema in words, with JSON mode if the model has it."""
    schema, has_mode = output.schema, mode != "prompt" and support.json_mode
    wrapped = has_mode and isinstance(schema, dict) and not is_object(schema)
    shown = wrap_schema(schema) if wrapped else schema
    words = f"Answer in JSON of this schema: {encode(shown).decode()}"
    if not has_mode:
        words = f"{words}\nAnswer with the JSON and nothing else, without a code fence."
    return _OutputRequest(
        OutputFormat() if has_mode else None,
        words,
        OutputRestore(wrapped=wrapped, fenced=True),
        Adjustment(
            "output_prompted",
            "output",
            output.name,
            "json" if has_mode else None,
            f"{why}; the prompt says the schema instead, and the service does not enforce it",
        ),
    )


# -- without a schema ----------------------------------------------------------------------------


def _ask_json(draft: RequestDraft, output: OutputFormat, mode: OutputMode) -> _OutputRequest:
    support = draft.caller.output
    if mode == "prompt" or not support.json_mode:
        why = _find_conflict(draft) or "this model has no JSON mode"
        why = f"{why}; the prompt asks for JSON instead"
        note = Adjustment("output_prompted", "output", "json", None, why)
        return _OutputRequest(None, _JSON_ALONE, OutputRestore(fenced=True), note)
    if not support.json_word or _says_json(draft.request, support):
        return _OutputRequest(output)
    why = "JSON mode is rejected unless the prompt names JSON; a sentence was added"
    note = Adjustment("output_adjusted", "output", "json", _ANY_JSON, why)
    return _OutputRequest(output, _ANY_JSON, note=note)


def _says_json(request: Request, support: OutputSupport) -> bool:
    texts = [part.text for part in request.system] if support.json_word == "prompt" else []
    texts += [
        part.text for each in request.messages for part in each.parts if isinstance(part, Text)
    ]
    return any("json" in text.lower() for text in texts)


def _add_words(request: Request, asked: _OutputRequest, support: OutputSupport) -> Request:
    """Add words to the system prompt, or as a system turn if the service reads only turns."""
    words = Text(asked.words)
    if support.json_word == "messages" and asked.output is not None:
        # OpenAI: "Response input messages must contain the word 'json'": instructions do not count
        return replace(request, messages=(Message("system", (words,)), *request.messages))
    return replace(request, system=(*request.system, words))
