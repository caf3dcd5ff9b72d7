"""What real clients sent, and real services took, is taken by the emulated ones too."""

import json
from pathlib import Path

import pytest
from tests.recordings.corpus import Exchange, exchanges

from pondero.canon import HttpRequest
from pondero.client import load_catalog
from pondero.dialects import Rejected

from ..making import CHAT

pytestmark = pytest.mark.recordings

FILES = (
    *("groq", "cerebras", "mistral", "xai", "deepseek", "zai", "openrouter"),
    *("openai-compat", "openai-chat"),
)
NAMES = {"openai": "openai-chat", "azure": "azure-chat", "alibaba": "dashscope"}
# By id, with the reason. An entry that is no longer needed fails the test.
OTHERWISE = {
    "f21265876a-e9199511f2": "its call ids were rewritten after the recording",
    "aa411d23e1-036973716c": "an id without its author, which is no longer one",
}
RETIRED = {
    *("gpt-4-0125-preview", "gpt-4.5-preview", "gpt-4o-search-preview", "o1-mini"),
    *("gpt-4-vision-preview", "grok-beta"),
}


def taken(recordings: Path, name: str) -> list[tuple[str, Exchange]]:
    """Return the requests of one file that its service answered, each with who that was."""
    known = load_catalog().catalog.providers
    return [
        (service, each)
        for each in exchanges(recordings, name)
        if each.asked and each.status == 200 and each.model not in RETIRED
        if (service := NAMES.get(each.provider, each.provider)) in known
        and known[service].dialect == "openai_chat"
    ]


@pytest.mark.parametrize("name", FILES)
def test_what_a_service_took_is_taken(recordings, name):
    wrong, here = {}, set()
    for service, each in taken(recordings, name):
        here.add(each.id)
        path = each.request.get("path") or "/v1/chat/completions"
        headers = {"authorization": "Bearer k"}
        http = HttpRequest("POST", f"https://x{path}", headers, json.dumps(each.asked).encode())
        try:
            CHAT.service().accept(http, service)
        except Rejected as rejected:
            said = rejected.response.body
            if b"signature" not in said:  # real seals cannot verify here
                wrong[each.id] = f"{service} {each.model}: {said[:300]!r}"
    surprises = [f"{id}: {why}" for id, why in wrong.items() if id not in OTHERWISE]
    assert not surprises, "\n".join(surprises)
    assert [id for id in OTHERWISE if id in here and id not in wrong] == []
