"""Leaves out the tools and plugins by which a service would ask further models.

No rule of a key or route limits those: neither its levels nor its list of models.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ...canon import Json, get_path
from ...catalog import ModelEntry
from ...dialects import OtherModels, PassthroughRules, get_dialect, may_escape_names
from ...exchange import (
    Exchange,
    fold_name,
    fold_path,
    group_names,
    list_stated,
    with_fields,
)
from ...thinking import Adjustment
from .routed_request import RoutedRequest
from .split_body import read_fields

_DATE = re.compile(r"_\d{8}$")
_CHOICE = "tool_choice"
_DATA = frozenset({"input", "arguments", "parameters", "input_schema"})  # the client's own JSON
_WHY = "this key or route has rules, and other models would be asked without them"


def leave_out_askers(exchange: Exchange, routed: RoutedRequest, entry: ModelEntry) -> Exchange:
    """Return a request without what makes the service ask other models, if rules limit it."""
    rules = routed.rules
    if not rules.is_limited:
        return exchange
    marks = _list_marks(entry.provider.dialect, limits_models=rules.limits_models)
    if not marks.may_ask(read_fields(exchange.http.body)):
        return exchange
    exchange = _leave_out_fields(exchange, marks.rules)
    askers = _Askers(marks.others, marks.rules, read_fields(exchange.http.body))
    changed = askers.clean()
    if not changed:
        return exchange
    without = tuple((name,) for name in changed)
    more = {name: value for name, value in changed.items() if value is not None}
    rewritten = {fold_path(path)[0] for path in without}
    body = with_fields(exchange.http.body, without, more, rewritten=rewritten)
    http = replace(exchange.http, body=body)
    if not askers.left_out:
        return replace(exchange, http=http)
    notes = (
        Adjustment("dropped_parameter", name, "set", None, _WHY)
        for name in dict.fromkeys(askers.left_out)
    )
    plan = replace(exchange.plan, adjustments=(*exchange.plan.adjustments, *notes))
    return replace(exchange, http=http, plan=plan)


@lru_cache(maxsize=16)
def _list_tops(paths: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    return frozenset(fold_path(path)[0] for path in paths)


def note_other_models(
    fields: Mapping[str, Raw | Json], rules: PassthroughRules
) -> tuple[Adjustment, ...]:
    """Note the fields that let a service ask other models, which no rule of the key limits."""
    if _list_tops(rules.models_at).isdisjoint(group_names(fields)):
        return ()
    names = dict.fromkeys(".".join(path) for path in list_stated(fields, rules.models_at))
    return tuple(Adjustment("dropped_parameter", name, "set", None, _WHY) for name in names)


class _AskerMarks(Struct, frozen=True):
    """What may ask other models, for a quick look: the folded names of fields, and their marks."""

    rules: PassthroughRules
    others: OtherModels
    named: frozenset[str]
    marked: Mapping[str, tuple[bytes, ...]]

    def may_ask(self, fields: Mapping[str, Raw]) -> bool:
        """Return whether a body may have something to leave out, or to write again."""
        groups = group_names(fields)
        if not self.named.isdisjoint(groups):
            return True
        for folded in self.marked.keys() & groups.keys():
            for name in groups[folded]:
                contains = bytes(fields[name]).__contains__
                if any(map(contains, self.marked[folded])) or may_escape_names(contains):
                    return True
        return False


@lru_cache(maxsize=64)
def _list_marks(dialect: str, *, limits_models: bool) -> _AskerMarks:
    rules = get_dialect(dialect).service().passthrough
    others = rules.others
    if not limits_models:  # a budget covers what an advisor may take
        others = replace(others, tools=others.tools - rules.hosted.advisors)
    named = {fold_name(path[0]) for path in rules.models_at}
    if others.plugins_at:
        named.add(fold_name(others.plugins_at))
    kinds = tuple(f'"{kind}'.encode() for kind in (*others.tools, *others.without_thinking))
    names = tuple(f'"{name}"'.encode() for name in others.named_by)
    marked = {fold_name(others.turns): kinds} if others.turns else {}
    for path in rules.hosted.tools_at:
        marked[fold_name(path[0])] = (*kinds, *names)
    return _AskerMarks(rules, others, frozenset(named), marked)


def _leave_out_fields(exchange: Exchange, rules: PassthroughRules) -> Exchange:
    """Return a request without fields that name other models, as a client's own tool may have."""
    stated = list_stated(read_fields(exchange.http.body), rules.models_at)
    if not stated:
        return exchange
    body = with_fields(exchange.http.body, rules.models_at, {})
    names = dict.fromkeys(".".join(path) for path in stated)
    notes = (Adjustment("dropped_parameter", name, "set", None, _WHY) for name in names)
    plan = replace(exchange.plan, adjustments=(*exchange.plan.adjustments, *notes))
    return replace(exchange, http=replace(exchange.http, body=body), plan=plan)


class _Askers:
    """The tools and plugins of one body that ask other models; ``left_out`` names them."""

    def __init__(
        self, others: OtherModels, rules: PassthroughRules, fields: Mapping[str, Raw]
    ) -> None:
        self._others = others
        self._hosted = rules.hosted
        self._fields = fields
        kinds = (*others.tools, *others.without_thinking)
        self._marks = [f'"{kind}'.encode() for kind in kinds]
        self._names: set[str] = set()
        self.left_out: list[str] = []

    def clean(self) -> dict[str, Json]:
        """Return the fields that change, each as it is to be sent; None: not at all.

        A field that may name such a tool is written again in any case, so that no name in it
        occurs twice and the service reads the same tool as we do.
        """
        changed: dict[str, Json] = {}
        tops = {path[0]: path[1:] for path in self._hosted.tools_at}
        named = [f'"{name}"'.encode() for name in self._others.named_by]
        for top, inner in tops.items():
            for name in self._iter_spelt(top, *named):
                value = msgspec.json.decode(self._fields[name])
                changed[name] = self._clean_tools(value, inner) or None
        for name in self._iter_spelt(self._others.turns):
            changed[name] = self._clean_turns(msgspec.json.decode(self._fields[name]))
        if (at := self._others.plugins_at) and at in self._fields:
            changed |= self._clean_plugins(at)
        choice = self._find_choice(changed, {path[0] for path in self._hosted.tools_at})
        return changed | choice

    def _iter_spelt(self, top: str, *more: bytes) -> Iterator[str]:
        """Yield the fields of this name, in any spelling, that may name such a tool."""
        for name in [each for each in self._fields if top and _is_same(each, top)]:
            contains = bytes(self._fields[name]).__contains__
            if any(map(contains, (*self._marks, *more))) or may_escape_names(contains):
                yield name

    def _clean_tools(self, value: Any, path: tuple[str, ...]) -> Json:
        if path:
            if isinstance(value, dict) and path[0] in value:
                return {**value, path[0]: self._clean_tools(value[path[0]], path[1:])}
            return value
        return (
            [self._clean_nested(tool) for tool in value if not self._drops(tool)]
            if isinstance(value, list)
            else value
        )

    def _clean_nested(self, tool: Any) -> Json:
        """Return a tool without a level of its own, and without such tools inside it."""
        if not isinstance(tool, dict):
            return tool
        if not self._is_own(tool):
            tool = {name: tool[name] for name in tool if name not in self._others.depth}
        if isinstance(tool.get("tools"), list):
            return {**tool, "tools": self._clean_tools(tool["tools"], ())}
        return tool

    def _clean_turns(self, value: Any) -> Json:
        """Return turns without offers of such tools, in lists of tools or as a definition."""
        if isinstance(value, list):
            kept = [each for each in value if not self._offers(each)]
            return [self._clean_turns(each) for each in kept]
        if not isinstance(value, dict):
            return value
        return {
            name: self._clean_tools(inner, ())
            if name == "tools"
            else (inner if name in _DATA else self._clean_turns(inner))
            for name, inner in value.items()
        }

    def _offers(self, block: Any) -> bool:
        """Return whether a block offers such a tool by value (Anthropic, tool_addition)."""
        definition = get_path(block, ("tool", "definition")) if isinstance(block, dict) else None
        return definition is not None and self._drops(definition)

    def _clean_plugins(self, at: str) -> dict[str, Json]:
        listed = msgspec.json.decode(self._fields[at])
        plugins = listed if isinstance(listed, list) else []
        kept = [each for each in plugins if self._is_quiet(each)]
        if len(kept) == len(plugins) and isinstance(listed, list):
            return {at: kept}
        self.left_out.append(at)
        return {at: kept or None}

    def _is_quiet(self, plugin: Any) -> bool:
        return isinstance(plugin, dict) and plugin.get("id") in self._others.plugins

    def _drops(self, tool: Any) -> bool:
        if not isinstance(tool, dict) or not self._asks(tool):
            return False
        kind = str(tool.get("type"))
        self._names.update((kind, str(tool.get("name") or kind)))
        self.left_out.append("tools")  # its name is the client's text, and this goes to a header
        return True

    def _asks(self, tool: dict[str, Any]) -> bool:
        kind = _DATE.sub("", str(tool.get("type")))
        if kind in self._others.tools:
            return True
        if self._is_own(tool) or kind in self._hosted.advisors:
            return False
        for name, value in self._others.marks:
            if tool.get(name) is not None and value in (None, tool[name]):
                return True
        is_media = kind.rpartition(":")[2] in self._others.without_thinking
        return not is_media and self._names_model(tool)

    def _is_own(self, tool: dict[str, Any]) -> bool:
        """Return whether the client runs a tool."""
        return _DATE.sub("", str(tool.get("type"))) in self._hosted.client_run or "type" not in tool

    def _names_model(self, value: Any) -> bool:
        if isinstance(value, list):
            return any(map(self._names_model, value))
        if not isinstance(value, dict):
            return False
        return any(
            (name in self._others.named_by and isinstance(inner, str | list))
            or (name != "tools" and self._names_model(inner))
            for name, inner in value.items()
        )

    def _find_choice(self, changed: dict[str, Json], tops: set[str]) -> dict[str, Json]:
        """Return the choice of a tool to leave out: its tool is gone, or there is none left."""
        if not self._names or _CHOICE not in self._fields:
            return {}
        choice = msgspec.json.decode(self._fields[_CHOICE])
        named = {*map(str, choice.values())} if isinstance(choice, dict) else {str(choice)}
        gone = any(name in changed and not changed[name] for name in tops)
        return {_CHOICE: None} if gone or named & self._names else {}


def _is_same(name: str, spelt: str) -> bool:
    return fold_path((name,)) == fold_path((spelt,))
