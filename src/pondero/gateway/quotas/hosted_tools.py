"""Tools that a service runs itself: what they may add to a request, and how a budget limits them.

Their results are input that no prompt shows: a search fills the window of the model. An advisor is
another model, with tokens of its own. The client's own tools add nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from msgspec import DecodeError, Raw, Struct
from msgspec.structs import replace

from ...canon import HttpRequest, Json, get_path
from ...catalog import ModelEntry
from ...dialects import HostedTools, get_dialect, may_escape_names
from ...errors import UsageError
from ...exchange import Exchange, with_fields
from ...framing import parse_json_or_none
from ...store import load_catalog
from ...thinking import Adjustment
from ..requests.routed_request import UNKNOWN_OUTPUT, RoutedRequest
from ..requests.split_body import SplitBody, read_fields

_UNKNOWN_CONTEXT = 1_000_000
"""Tokens of a prompt whose model has an unknown window."""
_RUNS = "web_search", "code_execution"  # kinds that are translated to the tool of another service
_BY_VALUE = ("tool", "definition")
_OFFERS = (b'"tools"', b'"definition"')  # marks of tools inside of a conversation
_DATE = re.compile(r"_\d{8}$")
_LONGEST = 2**53  # tokens, more than any prompt has
_SUMMARY_FROM = 150_000  # tokens at which a compaction begins, unless a request says (SDK 2.8.0)


class HostedTool(Struct, frozen=True, kw_only=True):
    """A tool that the service runs; ``is_listed``: in ``tools``, where it can be left out."""

    name: str
    kind: str = ""
    uses: int | None = None
    is_listed: bool = False
    advisor: str | None = None
    output: int | None = None


class AddedTokens(Struct, frozen=True):
    """What tools may add: input and output, by the model that is charged for them."""

    entry: ModelEntry
    input: int
    output: int = 0


def find_hosted(routed: RoutedRequest, entry: ModelEntry) -> Sequence[HostedTool]:
    """Return the tools of a request that this model's service runs itself."""
    if routed.tool_uses == 0:
        return ()
    marks = _rules_of(entry).models
    named = [HostedTool(name=mark) for mark in marks if mark in entry.model.lower()]
    return [*named, *_find_requested(routed, entry)]


def _find_requested(routed: RoutedRequest, entry: ModelEntry) -> Sequence[HostedTool]:
    if entry.provider.dialect != routed.call.client_dialect:
        tools = routed.request.tools
        return [
            HostedTool(name=each.name, kind=each.kind, is_listed=True)
            for each in tools
            if each.kind in _RUNS
        ]
    rules, body = routed.service.passthrough.hosted, routed.call.http.body
    is_named = any(map(body.__contains__, _list_marks(rules.fields)))
    if not is_named and not may_escape_names(body.__contains__):
        return ()
    try:
        return list(_iter_hosted(body, rules))
    except DecodeError:
        return ()


@lru_cache(maxsize=64)
def _list_marks(fields: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(b'"%b"' % name.encode() for name in ("tools", "definition", *fields))


def _iter_hosted(body: bytes, rules: HostedTools) -> Iterator[HostedTool]:
    fields = read_fields(body)
    for path in rules.tools_at:
        text = body.known.get(path[0]) if isinstance(body, SplitBody) else None
        if text is None or path[0] == rules.turns:
            yield from _list_tools(fields, path, rules)
        else:
            yield from text.read(("hosted", path, rules), partial(_list_tools, fields, path, rules))
    turns = _read(fields, rules.turns) if _offers_tools(body, fields.get(rules.turns)) else None
    for turn in turns if isinstance(turns, list) else ():
        if isinstance(turn, dict):
            yield from _iter_listed(turn.get("tools"), rules, is_top=False)
            yield from _iter_listed(list(_iter_added(turn)), rules, is_top=False)
    for name in rules.fields:
        if _read(fields, name) is not None:
            yield HostedTool(name=name)


def _list_tools(
    fields: Mapping[str, Raw], path: Sequence[str], rules: HostedTools
) -> list[HostedTool]:
    top, *inner = path
    tools = get_path(_read(fields, top), tuple(inner))
    return list(_iter_listed(tools, rules, is_top=not inner))


def _iter_added(turn: dict[str, Json]) -> Iterator[Json]:
    """Yield the tools that a turn adds by value (Anthropic, ``tool_addition``)."""
    content = turn.get("content")
    for block in content if isinstance(content, list) else ():
        yield get_path(block, _BY_VALUE)
        changes = get_path(block, ("tool_changes",))  # of a compaction (SDK 2.8.0)
        for change in changes if isinstance(changes, list) else ():
            yield get_path(change, _BY_VALUE)


def _read(fields: Mapping[str, Raw], name: str) -> Json:
    """Return one field; the others, such as a long conversation, are not parsed."""
    return parse_json_or_none(bytes(fields[name])) if name in fields else None


def _offers_tools(body: bytes, turns: Raw | None) -> bool:
    text = b"" if turns is None else bytes(turns)
    contains: Callable[[bytes], bool] = text.__contains__
    if isinstance(body, SplitBody):
        contains = body.has_in_turns
    return any(map(contains, _OFFERS)) or may_escape_names(contains)


def _iter_listed(tools: Json, rules: HostedTools, *, is_top: bool) -> Iterator[HostedTool]:
    if rules.is_keyed and isinstance(tools, dict):  # protobuf's JSON may take it for a list of one
        tools, is_top = [tools], False
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        if rules.is_keyed:
            for name in tool.keys() - rules.client_run:
                yield HostedTool(name=name, kind=name, is_listed=is_top)
        elif (kind := _find_kind(tool, rules)) is not None:
            yield _read_tool(tool, kind, rules, is_listed=is_top)
        yield from _iter_listed(tool.get("tools"), rules, is_top=False)


def _find_kind(tool: dict[str, Json], rules: HostedTools) -> str | None:
    """Return the type of a service's tool, without its date; None for a tool of the client."""
    given = tool.get("type")
    if given is None:
        return None
    for kind, name, word in rules.client_marks:
        marked = tool.get(name)
        if kind == given and word == (marked.get("type") if isinstance(marked, dict) else marked):
            return None
    kind = _DATE.sub("", str(given))
    return None if kind in rules.client_run else kind


def _read_tool(
    tool: dict[str, Json], kind: str, rules: HostedTools, *, is_listed: bool
) -> HostedTool:
    asks = kind in rules.advisors
    return HostedTool(
        name=str(tool.get("name") or kind),
        kind=kind,
        uses=_count(tool.get("max_uses")) if kind in rules.limited else None,
        is_listed=is_listed,
        advisor=str(tool.get("model")) if asks else None,
        output=_count(tool.get("max_tokens")) if asks else None,
    )


def find_added(routed: RoutedRequest, entry: ModelEntry, prompt: int) -> Sequence[AddedTokens]:
    """Return the most that the service's own tools and summaries add to a prompt."""
    rules = _rules_of(entry)
    tools = find_hosted(routed, entry)
    if not tools and not _may_summarize(routed, entry, rules, prompt):
        return ()
    window = find_context(entry) * _count_windows(entry, rules)
    outside = any(each.kind not in rules.own_results for each in tools)
    added: list[AddedTokens] = []
    if not rules.passes:
        added += [AddedTokens(entry, window - prompt)] if outside and window > prompt else []
    elif tools:
        uses = min(rules.passes, sum(_find_uses(each, routed, rules) for each in tools))
        added.append(AddedTokens(entry, uses * (window if outside else prompt)))
        added += _iter_advice(routed, entry, tools, rules)
    longest = max(window, prompt) if outside else prompt
    if _may_summarize(routed, entry, rules, longest):
        added.append(AddedTokens(entry, longest, entry.capability.max_output or UNKNOWN_OUTPUT))
    return added


def adds_nothing(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a service adds nothing to a prompt, however long that is."""
    tools, rules = find_hosted(routed, entry), _rules_of(entry)
    return not tools and not _may_summarize(routed, entry, rules, _LONGEST)


def _count_windows(entry: ModelEntry, rules: HostedTools) -> int:
    """Return how many windows a model that searches on its own may use."""
    name = entry.model.lower()
    return max((each for mark, each in rules.windows if mark in name), default=1)


def _find_uses(tool: HostedTool, routed: RoutedRequest, rules: HostedTools) -> int:
    given = [each for each in (tool.uses, rules.passes) if each is not None]
    if routed.tool_uses is not None and tool.kind in rules.limited:
        given.append(routed.tool_uses)
    return min(given)


def _iter_advice(
    routed: RoutedRequest, entry: ModelEntry, tools: Sequence[HostedTool], rules: HostedTools
) -> Iterator[AddedTokens]:
    for tool in tools:
        if tool.advisor is not None:
            advisor = find_advisor(entry, tool.advisor)
            uses = _find_uses(tool, routed, rules)
            most = tool.output or advisor.capability.max_output or UNKNOWN_OUTPUT
            yield AddedTokens(advisor, uses * (find_context(advisor)), uses * most)


def find_context(entry: ModelEntry) -> int:
    """Return the tokens of a model's window; a variant (``:online``) has that of its model."""
    if entry.context:
        return entry.context
    stem = entry.model.rpartition(":")[0]
    return (find_advisor(entry, stem).context if stem else None) or _UNKNOWN_CONTEXT


def find_advisor(entry: ModelEntry, name: str) -> ModelEntry:
    """Return another model of the same service; the model itself if the name is not known."""
    try:
        return load_catalog().entry(f"{entry.provider.name}:{name}")
    except UsageError:
        return entry


def _may_summarize(
    routed: RoutedRequest, entry: ModelEntry, rules: HostedTools, longest: int
) -> bool:
    """Return whether the service may have the model summarize this prompt first."""
    body = routed.call.http.body
    if not rules.compacts_at or entry.provider.dialect != routed.call.client_dialect:
        return False
    if b"compact" not in body and not may_escape_names(body.__contains__):
        return False
    edits = get_path(parse_json_or_none(body), rules.compacts_at)
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict) and str(edit.get("type")).startswith("compact"):
            value = _count(get_path(edit, ("trigger", "value")))
            if longest >= (value or _SUMMARY_FROM):
                return True
    return False


# -- under a budget ------------------------------------------------------------------------------


def iter_limited(routed: RoutedRequest) -> Iterator[RoutedRequest]:
    """Yield the request with ever fewer uses of the service's own tools, and last without them."""
    tools: list[HostedTool] = []
    most = 1
    for entry in routed.resolved.entries:
        rules = _rules_of(entry)
        found = find_hosted(routed, entry)
        uses = [each.uses or rules.passes for each in found if each.kind in rules.limited]
        most = max(most, min(rules.passes, max(uses, default=0)))
        tools += found
    for fewer in range(most - 1, 0, -1):
        yield replace(routed, tool_uses=fewer)
    if tools and _may_leave_out(routed, tools):
        names = {each.name for each in tools}
        kept = tuple(each for each in routed.request.tools if each.name not in names)
        yield replace(routed, request=replace(routed.request, tools=kept), tool_uses=0)


def _may_leave_out(routed: RoutedRequest, tools: Sequence[HostedTool]) -> bool:
    """Return whether a request makes sense without these tools: it has others, and forces none."""
    names = {each.name for each in tools}
    if not all(each.is_listed for each in tools) or not _has_others(routed):
        return False
    body = routed.call.http.body
    if b"server_tool_use" in body:  # the history has a call of one, which needs its tool
        return False
    choice = get_path(parse_json_or_none(body), ("tool_choice",))
    return not (isinstance(choice, dict) and names & {*map(str, choice.values())})


def _has_others(routed: RoutedRequest) -> bool:
    """Return whether the client's request has tools that the client runs."""
    rules = routed.service.passthrough.hosted
    tools = get_path(parse_json_or_none(routed.call.http.body), ("tools",))
    return isinstance(tools, list) and any(_limit_tool(tool, rules, 0) for tool in tools)


def describe_tools(routed: RoutedRequest) -> str:
    """Return what the service's own tools may add, for an error; empty if there are none."""
    tools = {t.name for entry in routed.resolved.entries for t in find_hosted(routed, entry)}
    if not tools:
        return ""
    them = "it" if len(tools) == 1 else "them"
    return (
        f"{', '.join(sorted(tools))}: the service runs {them} itself and may fill the model's "
        f"window with the results; ask without {them}, or with fewer max_uses"
    )


def note_tools(routed: RoutedRequest) -> Adjustment:
    """Return the adjustment for tools that a budget limited or left out."""
    unlimited = replace(routed, tool_uses=None)
    tools = {t.name for e in routed.resolved.entries for t in find_hosted(unlimited, e)}
    uses = f"at most {routed.tool_uses} uses each" if routed.tool_uses else None
    why = "a budget of this key or route does not cover what the service's own tools may add"
    return Adjustment("budget_tools", "tools", ", ".join(sorted(tools)), uses, why)


def limit_tools(exchange: Exchange, routed: RoutedRequest, entry: ModelEntry) -> Exchange:
    """Return the request to a service with the uses of its own tools that were reserved."""
    uses = routed.tool_uses
    if uses is None:
        return exchange
    return replace(exchange, http=_limit_body(exchange.http, _rules_of(entry), uses))


def _limit_body(http: HttpRequest, rules: HostedTools, uses: int) -> HttpRequest:
    fields = parse_json_or_none(http.body)
    tools = fields.get("tools") if isinstance(fields, dict) else None
    if not isinstance(tools, list):
        return http
    limited = [limited for tool in tools if (limited := _limit_tool(tool, rules, uses))]
    more = {"tools": limited} if limited else {}
    return replace(http, body=with_fields(http.body, (("tools",),), more))


def _limit_tool(tool: Json, rules: HostedTools, uses: int) -> Json:
    if not isinstance(tool, dict):
        return tool
    if rules.is_keyed:
        return {name: tool[name] for name in tool if uses or name in rules.client_run}
    kind = _find_kind(tool, rules)
    if kind is None:
        return tool
    if uses == 0:
        return None
    if kind not in rules.limited:
        return tool
    return {**tool, "max_uses": min(_count(tool.get("max_uses")) or uses, uses)}


def _rules_of(entry: ModelEntry) -> HostedTools:
    return get_dialect(entry.provider.dialect).service().passthrough.hosted


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
