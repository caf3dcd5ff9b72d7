"""The law of media: whatever is inside a request, as much is reserved as its service may charge.

The judge is the vendors' documented formula for pages, pixels and seconds, with the numbers that a
file was made of; it never reads the file.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.asgi import Came, came
from tests.gateway.generous_service import GenerousService
from tests.gateway.quotas import media_files
from tests.gateway.quotas.media_files import (
    PDFS,
    PICTURES,
    SOUNDS,
    illustrated,
    plain,
    png,
    written,
)
from tests.gateway.quotas.test_hosted_tools import MODELS, PATHS

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.quotas.pdf_pages import count_pages
from pondero.gateway.quotas.picture_size import read_size
from pondero.gateway.quotas.quota import QuotaUse
from pondero.gateway.quotas.usage_counter import QuotaShortfall, UnreadAnswers
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

WINDOWS = {"messages": 1_000_000, "responses": 1_050_000, "chat": 1_050_000, "gemini": 1_048_576}
LIMIT = 2_000
Json = Any


def reserve(api: str, parts: list[Json], budget: int = 10**9) -> tuple[int, Came]:
    """Return the tokens that are reserved for a prompt, and the answer."""
    key = GatewayKey("ci", hash_key("the-key"), budget=SpendBudget(tokens=budget))
    routes = (GatewayRoute(match="*", to=(MODELS[api],)),)
    context = GatewayContext(GatewayConfig(routes=routes, keys=(key,)), GenerousService())
    reserved: list[int] = []
    count = context.state.reserve

    async def note(
        id: str, uses: Sequence[QuotaUse], *, unread: UnreadAnswers | None = None
    ) -> QuotaShortfall | None:
        reserved.append(uses[0].amount - LIMIT)
        return await count(id, uses, unread=unread)

    context.state.reserve = note  # type: ignore[method-assign]
    body: Json = {
        "model": "m",
        "max_tokens": LIMIT,
        "messages": [{"role": "user", "content": parts}],
    }
    if api == "responses":
        given = [{"role": "user", "content": parts}]
        body = {"model": "m", "max_output_tokens": LIMIT, "input": given}
    elif api == "gemini":
        contents = [{"role": "user", "parts": parts}]
        body = {"contents": contents, "generationConfig": {"maxOutputTokens": LIMIT}}
    headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
    sent = json.dumps(body).encode()
    request = HttpRequest("POST", f"http://gateway{PATHS[api]}", headers, sent)
    answer = asyncio.run(came(App(context), request))
    return reserved[0], answer


# -- how each API takes media --------------------------------------------------------------------


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{_base64(data)}"


def _source(kind: str, data: bytes) -> Json:
    return {"type": "base64", "media_type": kind, "data": _base64(data)}


def _inline(kind: str, data: bytes) -> Json:
    return {"inlineData": {"mimeType": kind, "data": _base64(data)}}


Writer = Callable[[str, bytes], Json]
WRITERS: dict[str, dict[str, Writer]] = {
    "messages": {
        "document": lambda kind, data: {"type": "document", "source": _source(kind, data)},
        "picture": lambda kind, data: {"type": "image", "source": _source(kind, data)},
    },
    "responses": {
        "document": lambda kind, data: {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": _url(kind, data),
        },
        "picture": lambda kind, data: {"type": "input_image", "image_url": _url(kind, data)},
    },
    "chat": {
        "document": lambda kind, data: {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": _url(kind, data)},
        },
        "picture": lambda kind, data: {"type": "image_url", "image_url": {"url": _url(kind, data)}},
        "sound": lambda kind, data: {
            "type": "input_audio",
            "input_audio": {"data": _base64(data), "format": kind.partition("/")[2]},
        },
    },
    "gemini": {"document": _inline, "picture": _inline, "sound": _inline, "film": _inline},
}

# -- what each service charges at most (vendor pages; the numbers are the judge's own) -----------


def _claude_picture(width: int, height: int) -> int:
    scale = min(1.0, 2_576 / max(width, height), sqrt(4_784 * 750 / (width * height)))
    return int(width * scale) * int(height * scale) // 750


def _openai_picture(width: int, height: int) -> int:
    patches = min(10_000, ceil(width / 32) * ceil(height / 32))
    small = min(1_536, patches)
    scale = min(1.0, 2_048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = ceil(width * scale / 512) * ceil(height * scale / 512)
    return max(ceil(patches * 1.2), ceil(small * 2.46), 85 + 170 * tiles)


def _gemini_picture(width: int, height: int) -> int:
    if max(width, height) <= 384:
        return 2_240
    side = min(768, max(256, int(min(width, height) / 1.5)))
    return max(2_240, 258 * ceil(width / side) * ceil(height / side))


PICTURE = {
    "messages": _claude_picture,
    "responses": _openai_picture,
    "chat": _openai_picture,
    "gemini": _gemini_picture,
}
PAGE = {
    "messages": 3_000 + 4_784,
    "responses": 3_000 + 1_445,
    "chat": 3_000 + 1_445,
    "gemini": 1_120,
}
MOST_PAGES = {"messages": 600, "gemini": 1_000}
SECOND = {"chat": 10, "gemini": 32}


def check(api: str, parts: list[Json], charge: int) -> None:
    reserved, answer = reserve(api, parts)
    assert answer.status == 200, answer.body
    assert reserved >= min(charge, WINDOWS[api])


@given(
    st.sampled_from(sorted(WRITERS)),
    st.sampled_from(PDFS),
    st.sampled_from([1, 2, 7, 60, 400, 3_000]),
    st.integers(1, 2),
)
def test_documents(api, make, pages, count):
    part = WRITERS[api]["document"]("application/pdf", make(pages))
    check(api, [part] * count, count * min(pages, MOST_PAGES.get(api, pages)) * PAGE[api])


SIDES = st.sampled_from([1, 27, 300, 385, 768, 1_025, 4_000, 16_000])


@given(st.sampled_from(sorted(WRITERS)), st.sampled_from(sorted(PICTURES)), SIDES, SIDES)
def test_pictures(api, kind, width, height):
    part = WRITERS[api]["picture"](kind, PICTURES[kind](width, height))
    check(api, [part, part], 2 * PICTURE[api](width, height))


@given(
    st.sampled_from(["chat", "gemini"]),
    st.sampled_from(sorted(SOUNDS)),
    st.sampled_from([1, 61, 5_000]),
)
def test_sounds(api, kind, seconds):
    data = SOUNDS[kind](seconds)
    part = WRITERS[api]["sound"](f"audio/{kind}", data)
    charge = WINDOWS[api] if kind == "ogg" else seconds * SECOND[api]
    check(api, [part], charge)


def test_films():
    check("gemini", [_inline("video/mp4", b"\0\0\0\x18ftypmp42\0")], WINDOWS["gemini"])


def test_the_length_of_a_file_of_another_kind_is_not_known():
    part = WRITERS["messages"]["document"]("application/pdf", b"PK\x03\x04\0\0")
    check("messages", [part], 600 * PAGE["messages"])


# -- and not much more ---------------------------------------------------------------------------


@pytest.mark.parametrize("api", sorted(WRITERS))
def test_a_short_document_fits_a_small_budget(api):
    part = WRITERS[api]["document"]("application/pdf", plain(3))
    reserved, answer = reserve(api, [part], budget=40_000)
    assert answer.status == 200, answer.body
    assert reserved < 30_000


@pytest.mark.parametrize("api", sorted(WRITERS))
def test_a_picture_fits_a_small_budget(api):
    part = WRITERS[api]["picture"]("image/png", png(640, 480))
    reserved, answer = reserve(api, [part], budget=8_000)
    assert answer.status == 200, answer.body
    assert reserved < 3_000


def test_a_sound_without_a_length_says_why_it_does_not_fit():
    part = _inline("audio/ogg", media_files.ogg(1))
    _, answer = reserve("gemini", [part], budget=100_000)
    assert answer.status == 429
    assert b"whose length its bytes do not tell" in answer.body


# -- the readers ---------------------------------------------------------------------------------

TOLD = {
    *("plain", "repeated", "nested", "packed", "packed_twice"),
    *("escaped", "spaced", "listed", "revised"),
}


@given(st.sampled_from(PDFS), st.integers(1, 300))
def test_pages_are_never_fewer_than_there_are(make, pages):
    found = count_pages(make(pages))
    assert found is not None or make.__name__ not in TOLD
    assert found is None or pages <= found <= pages + 2


def test_a_tree_of_powers_is_counted_without_being_built():
    levels = {n: b"<< /Kids [%d 0 R %d 0 R] >>" % (n + 1, n + 1) for n in range(2, 52)}
    objects = {1: b"<< /Pages 2 0 R >>", **levels, 52: b"<< /Type /Page >>"}
    assert count_pages(media_files._write(objects)) == 1_000_000


def test_a_circle_has_no_number():
    objects = {2: b"<< /Kids [3 0 R] >>", 3: b"<< /Kids [2 0 R] >>"}
    assert count_pages(media_files._write(objects)) is None


@given(st.binary(max_size=200), st.sampled_from(PDFS), st.integers(0, 2_000))
def test_damaged_documents_are_read_without_an_error(noise, make, at):
    data = make(20)
    count_pages(data[:at] + noise + data[at:])


@given(st.sampled_from([*PICTURES.values(), media_files.webp_lossless]), SIDES, SIDES)
def test_the_size_of_a_picture_is_read(make, width, height):
    assert read_size(make(width, height)) == (width, height)


@given(st.binary(max_size=60), st.sampled_from([b"", b"\xff\xd8", b"RIFF....WEBP", b"GIF89a"]))
def test_damaged_pictures_are_read_without_an_error(noise, head):
    read_size(head + noise)


# -- text of a page ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("api", sorted(WRITERS))
def test_a_page_full_of_text_reserves_its_text(api, is_packed):
    words = b"lorem ipsum dolor " * 20_000
    part = WRITERS[api]["document"]("application/pdf", written(words, is_packed=is_packed))
    check(api, [part], len(words) // 4)


def test_pictures_and_fonts_of_a_page_are_no_text():
    noise = bytes(range(256)) * 2_000
    part = WRITERS["messages"]["document"]("application/pdf", illustrated(noise))
    reserved, answer = reserve("messages", [part], budget=40_000)
    assert answer.status == 200, answer.body
    assert reserved < 15_000


def test_a_document_that_unpacks_to_very_much_fills_the_window():
    part = WRITERS["messages"]["document"]("application/pdf", written(b"a " * 10_000_000))
    check("messages", [part], WINDOWS["messages"])
