"""The quirks of one deployment; set in the catalog, never guessed."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from pondero.canon import Json, ReplayRules, convert_json
from pondero.dialects.dialect import TagRule
from pondero.errors import BadCatalog

ThinkingField = Literal["reasoning_content", "reasoning", "reasoning_text", "reasoning_details"]
Replay = Literal[
    "same",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "content_chunks",
    "think_tags",
    "none",
]


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """Default values; a deployment's catalog file overrides some.

    Reading: ``thinking_fields`` in the order of trial; ``think_tags``: where thinking is in
    the text (``preopened``: also before a closing tag without an opening one);
    ``thinking_outside_completion``: the completion excludes thinking tokens; ``done_marker``: a
    marker ends the stream (None: perhaps).

    Replay: ``replay_field``: the field for thinking (``same``: its original field);
    ``replay_when``: on which turns; ``replay_missing``: its value on a turn without thinking, for
    models whose names begin with ``replay_missing_of``; ``replay_with``: request fields without
    which the service drops it; ``refused_fields``: message fields that the service rejects;
    ``results_by_place``: results without an id answer the calls in order.

    Writing: ``usage_in_stream``: whether the request must ask for counts; ``cache_marks``: the
    field for cache breakpoints; ``tool_call_ids``: the form of ids; ``json_arguments``: those of a
    call must be JSON, also where the model wrote none; ``media``: beginnings of
    accepted media types; ``media_form``: files and sounds are parts with an object, or chunks whose
    address or bytes are a text; ``system_turns``: where system turns may stand;
    ``prefill_field``: what marks an answer begun for the model; ``bridge``: an assistant's words
    between a tool's message and a user's, which may not follow it; ``merges``,
    ``begins_with_user``, ``needs_turn``: as in ReplayRules; ``refusals``: an answer may be a
    ``refusal`` in place of its content; ``text_tools``: there are tools of type custom, which take
    a text; ``unsupported``: what the API or the model does not take; ``missing_fields``: our names
    of parameters that a model does not have.

    ``count``: the server's own count of a prompt, by the name of its address.
    """

    thinking_fields: tuple[ThinkingField, ...] = (
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "reasoning_details",
    )
    think_tags: TagRule = "opened"
    thinking_outside_completion: bool = False
    done_marker: bool | None = None

    replay_field: Replay = "same"
    replay_when: Literal["tools", "always", "never"] = "always"
    replay_missing: str | None = None
    replay_missing_of: tuple[str, ...] = ("",)
    replay_with: Mapping[str, Json] = {}
    refused_fields: tuple[str, ...] = ()
    results_by_place: bool = False

    path: str = "/chat/completions"
    headers: Mapping[str, str] = {}
    system_role: Literal["system", "developer", "user"] = "system"
    system_turns: Literal["anywhere", "lead"] = "anywhere"
    max_tokens_field: str = "max_completion_tokens"
    usage_in_stream: Literal["asked", "always"] = "asked"
    cache_marks: Literal["none", "cache_control", "prompt_cache_breakpoint"] = "none"
    tool_call_ids: Literal["any", "9 alphanumerics"] = "any"
    json_arguments: bool = False
    media_form: Literal["parts", "chunks"] = "parts"
    media: tuple[str, ...] = ("",)
    prefill_field: str | None = None
    bridge: str | None = None
    merges: bool = False
    begins_with_user: bool = False
    needs_turn: bool = False
    text_tools: bool = False
    refusals: bool = False
    unsupported: tuple[Literal["named_choice"], ...] = ()
    count: Literal["no", "input_tokens", "tokenize"] = "no"
    missing_fields: tuple[str, ...] = ()


_USUAL = Quirks()


def quirks_of(raw: Mapping[str, Json]) -> Quirks:
    """Return typed quirks; raises BadCatalog for a value that is not allowed."""
    if not raw:
        return _USUAL
    known = _known.get(id(raw))
    if known is not None and known[0] is raw:
        return known[1]
    quirks = _read_quirks(msgspec.json.encode(raw))
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[id(raw)] = (raw, quirks)
    return quirks


_MOST_KNOWN = 256
# By their identity, while they are kept here: every answer asks for the same, which never change.
_known: dict[int, tuple[Mapping[str, Json], Quirks]] = {}


@lru_cache(maxsize=256)
def _read_quirks(raw: bytes) -> Quirks:
    """Return the quirks that are written so."""
    try:
        return convert_json(msgspec.json.decode(raw), Quirks)
    except msgspec.ValidationError as error:
        raise BadCatalog(f"a quirk of this deployment is wrong: {error}") from None


def tags_left(quirks: Mapping[str, Json]) -> TagRule:
    """Return the tags that a stream's text is shown with, before the closing one arrives."""
    rule = quirks_of(quirks).think_tags
    return rule if rule == "preopened" else "no"


def replay_rules(quirks: Mapping[str, Json]) -> ReplayRules:
    """Return the replay rules of a deployment."""
    own = quirks_of(quirks)
    nine = own.tool_call_ids == "9 alphanumerics"
    return ReplayRules(
        signature_scope="route+model",
        system_turns=own.system_turns,
        merges=own.merges,
        begins_with_user=own.begins_with_user,
        needs_turn=own.needs_turn,
        addresses=("https?://",),
        media=own.media,
        result_media=own.media,
        id_pattern="[A-Za-z0-9]{9}" if nine else r"\S{1,40}",
        id_length=9 if nine else 22,
        minted=not own.results_by_place,
    )
