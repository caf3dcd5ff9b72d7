"""Types of what stays raw: citations, a container, diagnostics, schemas and the vendor's tools.

The types are those of anthropic 2.8.0; requests are judged by them in the strict reading only.
"""

from typing import Literal

from msgspec import Struct

from pondero.canon import Json

from ..types import CacheControl, Strict, TextBlock

Object = dict[str, Json]


# -- citations -------------------------------------------------------------------------------


class _InDocument(Strict, frozen=True, kw_only=True):
    """A place in a document."""

    cited_text: str
    document_index: int
    document_title: str | None = None
    file_id: str | None = None  # in answers, which come back as they are


class Characters(_InDocument, frozen=True, kw_only=True, tag="char_location"):
    """Characters of a plain text."""

    start_char_index: int
    end_char_index: int


class Pages(_InDocument, frozen=True, kw_only=True, tag="page_location"):
    """Pages of a PDF."""

    start_page_number: int
    end_page_number: int


class Blocks(_InDocument, frozen=True, kw_only=True, tag="content_block_location"):
    """Blocks of a document."""

    start_block_index: int
    end_block_index: int


class SearchResult(Strict, frozen=True, kw_only=True, tag="search_result_location"):
    """Blocks of a search result."""

    cited_text: str
    search_result_index: int
    source: str
    start_block_index: int
    end_block_index: int
    title: str | None = None


class WebPage(Strict, frozen=True, kw_only=True, tag="web_search_result_location"):
    """A page of the web."""

    cited_text: str
    encrypted_index: str
    url: str
    title: str | None = None


Citation = Characters | Pages | Blocks | SearchResult | WebPage


class CitedText(TextBlock, frozen=True, kw_only=True, tag="text"):
    """Words and where they are from."""

    citations: list[Citation] | None = None  # type: ignore[assignment]


# -- tools -----------------------------------------------------------------------------------


class InputSchema(Struct, frozen=True):
    """A tool's schema: the words that the service reads itself."""

    properties: Object | None = None
    required: list[str] | None = None


class Schemas(Struct, frozen=True):
    """The schema of a tool."""

    input_schema: InputSchema


class VendorTool(Struct, frozen=True):
    """What the vendor's own tools have in common."""

    allowed_callers: list[str] | None = None
    cache_control: CacheControl | None = None
    defer_loading: bool | None = None
    strict: bool | None = None


# -- the body --------------------------------------------------------------------------------


class Skill(Strict, frozen=True):
    """A skill to load."""

    skill_id: str
    type: Literal["anthropic", "custom"]
    version: str | None = None


class Container(Strict, frozen=True):
    """Where code runs, and with which skills."""

    id: str | None = None
    skills: list[Skill] | None = None


class Diagnostics(Strict, frozen=True):
    """The answer that the prompt's cache is compared with."""

    previous_message_id: str | None = None


class Fields(Struct, frozen=True):
    """The fields of a request that stay raw."""

    container: str | Container | None = None
    diagnostics: Diagnostics | None = None
    system: str | list[CitedText] | None = None
