"""Fits the schemas of functions to the service; those it cannot enforce are sent as they are."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...canon import Json, Message, Part, Tool, ToolCall
from ...dialects import SchemaRules, ToolRules, make_valid
from ...framing import parse_json_or_none
from ...thinking import Adjustment
from ..encodable import check_encodable
from ..output.complete import complete_arrays, complete_root
from ..output.fit import WRAPPER, fit_root, fit_schema, wrap_schema
from ..output.references import Unfit, inline
from ..output.restore import OutputRestore
from ..output.size import count_parameters
from .draft import RequestDraft

_NOTHING: dict[str, Json] = {"type": "object", "properties": {}, "additionalProperties": False}

_SHORT = 128 << 10  # bytes of tools that are remembered
_COMPLETE: Mapping[str, Callable[[Json], Json]] = {"arrays": complete_arrays, "root": complete_root}


class _ToolFit(Struct, frozen=True):
    """A tool as it is sent, what changed, and how its calls differ."""

    tool: Tool
    restore: OutputRestore = OutputRestore()
    notes: tuple[Adjustment, ...] = ()


def fit_tool_schemas(draft: RequestDraft) -> RequestDraft:
    """Make every schema an object that the service takes; enforce those that can be enforced."""
    if not [tool for tool in draft.request.tools if tool.raw is None]:
        return draft
    tools, rules = draft.request.tools, draft.caller.tools
    enforces, inlines = "strict" not in draft.unsupported, draft.entry.provider.output.inline
    try:
        written = msgspec.json.encode(tools)
    except TypeError:
        check_encodable(draft.request)
        raise
    offered = _OfferedTools(tools, rules, (written, enforces, inlines))
    is_short = len(written) <= _SHORT
    fitted = _fit_known(offered) if is_short else _fit_tools(offered)
    restores = {
        each.tool.name: each.restore  # of two tools with one name, the first is offered
        for each in reversed(fitted)
        if each.restore != OutputRestore()
    }
    fitting = tuple([each.tool for each in fitted])
    if fitting == tools:
        return draft
    wrapped = frozenset(name for name, each in restores.items() if each.wrapped)
    messages = tuple(_wrap_calls(each, wrapped) for each in draft.request.messages)
    return draft.but(
        request=replace(draft.request, tools=fitting, messages=messages),
        calls=replace(draft.calls, arguments=restores),
    ).note(*(note for each in fitted for note in each.notes))


class _OfferedTools:
    """The tools of a request; two are equal if they are written alike, under the same rules."""

    __slots__ = ("_key", "rules", "tools")

    def __init__(
        self, tools: tuple[Tool, ...], rules: ToolRules, written: tuple[bytes, bool, bool]
    ) -> None:
        self.tools = tools
        self.rules = rules
        self._key = (*written, id(rules))

    @property
    def enforced(self) -> "_StrictTools | None":
        """Return what limits enforced schemas; None if the service enforces none."""
        _, enforces, inlines, _ = self._key
        return _StrictTools(self.rules, inlines=inlines) if enforces else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OfferedTools) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _fit_tools(offered: _OfferedTools) -> tuple[_ToolFit, ...]:
    enforced = offered.enforced
    return tuple([_fit_tool(tool, offered.rules, enforced) for tool in offered.tools])


_fit_known = lru_cache(maxsize=32)(_fit_tools)  # an agent offers the same tools again and again


def _fit_tool(tool: Tool, rules: ToolRules, enforced: "_StrictTools | None") -> _ToolFit:
    if tool.raw is not None:
        return _ToolFit(tool)
    lost: tuple[Adjustment, ...] = ()
    valid = make_valid(tool.parameters) if rules.valid and tool.parameters else tool.parameters
    if valid != tool.parameters:
        why = "its schema is written as one of draft 2020-12, without what has no meaning there"
        lost = (Adjustment("tool_adjusted", "tools", tool.name, "schema", why),)
        tool = replace(tool, parameters=valid)
    if tool.strict and enforced is not None and rules.strict is not None:
        try:
            fitted = enforced.fit(tool, rules.strict)
            return replace(fitted, notes=(*lost, *fitted.notes))
        except Unfit as unfit:
            why = f"its schema is not enforced: {unfit}"
            lost = (*lost, Adjustment("dropped_parameter", "strict", tool.name, None, why))
            tool = replace(tool, strict=rules.loose)
    loose = _fit_loose(tool, rules)
    return replace(loose, notes=(*lost, *loose.notes))


def _fit_loose(tool: Tool, rules: ToolRules) -> _ToolFit:
    if tool.parameters is None:
        return _ToolFit(tool)
    rooted, wrapped = (tool.parameters, False) if rules.root_unions else fit_root(tool.parameters)
    odd = _has_odd_keys(rooted, rules)
    if odd:
        rooted = wrap_schema(rooted)
    schema = _COMPLETE[rules.complete](rooted) if rules.complete else rooted
    if schema == tool.parameters:
        return _ToolFit(tool)
    whys = []
    if wrapped:
        whys.append("the arguments of a function are an object; the root is wrapped in one")
    if odd:
        whys.append("the service takes no such keys of the root; it is wrapped in an object")
    if schema != rooted:
        whys.append(
            "the service wants items of arrays, and properties of the root: any are allowed"
        )
    changed = _ToolFit(replace(tool, parameters=schema), OutputRestore(wrapped=wrapped or odd))
    if not whys:
        return changed
    note = Adjustment("tool_adjusted", "tools", tool.name, "schema", "; ".join(whys))
    return replace(changed, notes=(note,))


def _has_odd_keys(schema: Json, rules: ToolRules) -> bool:
    """Return whether the root has a key that the service does not take."""
    keys = schema.get("properties") if rules.keys and isinstance(schema, Mapping) else None
    return isinstance(keys, Mapping) and not all(re.fullmatch(rules.keys, key) for key in keys)


class _StrictTools:
    """The tools of a request that are enforced; together they have limits."""

    def __init__(self, rules: ToolRules, *, inlines: bool) -> None:
        self._rules = rules
        self._inlines = inlines
        self._schemas: list[Json] = []

    def fit(self, tool: Tool, rules: SchemaRules) -> _ToolFit:
        """Return the tool with an enforced schema; raises Unfit if it cannot be enforced."""
        most = self._rules.most_strict
        if most is not None and len(self._schemas) >= most:
            raise Unfit(f"the service enforces {most} tools at once")
        schema = _close_empty(tool.parameters)
        fitted = fit_schema(inline(schema) if self._inlines else schema, rules)
        if _has_odd_keys(fitted.schema, self._rules):
            raise Unfit("the service takes no such keys of the root")
        optional, unions = count_parameters([*self._schemas, fitted.schema])
        for found, most in ((optional, rules.max_optional), (unions, rules.max_unions)):
            if most is not None and found > most:
                raise Unfit("together, the enforced tools have too many optional keys or unions")
        self._schemas.append(fitted.schema)
        notes: tuple[Adjustment, ...] = ()
        if fitted.changes:
            why = "; ".join(fitted.changes)
            notes = (Adjustment("tool_adjusted", "tools", tool.name, "schema", why),)
        return _ToolFit(
            replace(tool, parameters=fitted.schema),
            OutputRestore(wrapped=fitted.wrapped, schema=schema if fitted.nulls else None),
            notes,
        )


def _close_empty(schema: Json) -> dict[str, Json]:
    """Return the schema; one that lists no keys, and allows none by name, takes no arguments."""
    if schema is None:
        return _NOTHING
    if not isinstance(schema, Mapping):
        raise Unfit("the schema is true or false")
    if schema.get("properties") == {} and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return dict(schema)


def _wrap_calls(message: Message, wrapped: frozenset[str]) -> Message:
    """Write earlier calls of wrapped tools as the service made them."""
    if message.role != "assistant" or not wrapped:
        return message
    return replace(message, parts=tuple(_wrap_call(part, wrapped) for part in message.parts))


def _wrap_call(part: Part, wrapped: frozenset[str]) -> Part:
    if not isinstance(part, ToolCall) or part.name not in wrapped:
        return part
    said = part.arguments
    if isinstance(said, str):
        read = parse_json_or_none(said.encode("utf-8", "replace"))
        said = said if read is None else read
    return replace(part, arguments={WRAPPER: said})
