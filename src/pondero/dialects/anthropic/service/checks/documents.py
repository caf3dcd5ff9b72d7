"""Documents, search results, their citations, and the pairs of tools that the service runs."""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec.json import encode

from pondero.canon import Json

from ..decode import decode_strict
from ..errors import reject
from ..types import CacheControl, Strict, TextBlock
from .conversation import PlacedBlock, Turn
from .facts import RequestFacts

_SERVER_ID = re.compile("srvtoolu_[a-zA-Z0-9_]+")


class _Citations(Strict, frozen=True):
    """Whether the answer cites the block."""

    enabled: bool | None = None


class _SearchResult(Strict, frozen=True):
    """A search result (anthropic 2.8.0, SearchResultBlockParam)."""

    type: Literal["search_result"]
    source: str
    title: str
    content: list[TextBlock]
    citations: _Citations | None = None
    cache_control: CacheControl | None = None


def check_documents(asked: RequestFacts, found: list[Turn]) -> None:
    """Reject documents and search results of another form, and citations that do not fit."""
    _check_places(found)
    cited: list[bool] = []
    for at, block in _iter_blocks(found):
        kind, source = block.get("type"), block.get("source")
        if kind == "search_result" and not _read_result(block, at).content:
            reject("empty_search_result", at=f"{at}.{kind}.content")
        inline = kind == "document" and isinstance(source, dict) and source.get("type") == "base64"
        if inline and source.get("media_type") != "application/pdf":
            reject("document_type", at=f"{at}.document.source.base64.media_type")
        if kind == "document":
            cited.append(_cites(block))
    if any(cited) and not all(cited):
        reject("some_citations")
    if any(cited) and asked.formats:
        reject("citations_format")


def _check_places(found: list[Turn]) -> None:
    for turn in found:
        for placed in turn.blocks if turn.role == "assistant" else ():
            if placed.kind in ("image", "document"):
                reject("assistant_media", at=placed.at, kind=placed.kind)


def check_server_tools(found: list[Turn]) -> None:
    """Reject a search of the service without its result, and ids that are not the service's."""
    for turn in found:
        if turn.role != "assistant":
            continue
        for placed in turn.blocks:
            id = placed.raw.get("id") if placed.kind == "server_tool_use" else "srvtoolu_0"
            if isinstance(id, str) and not _SERVER_ID.fullmatch(id):
                reject("server_tool_id", at=f"{placed.at}.server_tool_use.id")
        # A turn that was paused is continued; along with a client's call the result comes later.
        open_turn = turn is found[-1] or any(each.kind == "tool_use" for each in turn.blocks)
        if not open_turn and (missing := _find_missing(turn.blocks)) is not None:
            reject("search_without_result", at=turn.at, id=missing)


def _find_missing(blocks: list[PlacedBlock]) -> str | None:
    done = {each.raw.get("tool_use_id") for each in blocks}
    asked = [
        str(each.raw.get("id"))
        for each in blocks
        if each.kind == "server_tool_use" and each.raw.get("name") == "web_search"
    ]
    return next((id for id in asked if id not in done), None)


def _read_result(block: Json, at: str) -> _SearchResult:
    return decode_strict(encode(block), _SearchResult, f"{at}.search_result")


def _cites(block: Json) -> bool:
    citations = block.get("citations")
    return isinstance(citations, dict) and citations.get("enabled") is True


def _iter_blocks(found: list[Turn]) -> Iterator[tuple[str, Json]]:
    for turn in found:
        for placed in turn.blocks:
            yield placed.at, placed.raw
            inner = placed.raw.get("content") if placed.kind == "tool_result" else None
            for number, block in enumerate(inner if isinstance(inner, list) else ()):
                yield f"{placed.at}.tool_result.content.{number}", block
