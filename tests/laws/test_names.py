"""A model's name never leaves its place in the address, whatever it is: the key goes along."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pondero
from pondero.client import load_catalog
from pondero.dialects import NAMES
from pondero.emulator import Emulator
from pondero.errors import PonderoError

CLIENT = pondero.Client(transport=Emulator())
PROVIDERS = [p.name for p in load_catalog().catalog.providers.values() if p.dialect in NAMES]
HOSTILE = [
    "..",
    ".",
    "../..",
    "../../admin",
    "a/../../b",
    "models/../../x",
    "projects/../../x",
    "projects/p/../../../x/models/m",
    "publishers/./x",
    "..%2f..",
    "%2e%2e",
    "%2e%2e/%2e%2e",
    "a?key=b",
    "a#b",
    "a\nb",
    "a\r\nhost: evil",
    "\ud800",
    "a\x00",
    "a\\..\\b",
    "//evil.example/x",
    "https://evil.example/x",
    "@evil.example/x",
    "a:generateContent?x=",
]
_pieces = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "%2e",
        "?",
        "#",
        "\n",
        "\ud800",
        "\\",
        ":",
        "@",
        "a",
        "models/",
        "projects/",
        " ",
    ]
)
_names = st.sampled_from(HOSTILE) | st.lists(_pieces, min_size=1, max_size=8).map("".join)


def outline(url):
    """Return what of an address no name may change: where it goes, its version and its query."""
    parts = urlsplit(url)
    segments = parts.path.split("/")
    return parts.scheme, parts.netloc, segments[1], segments[-1].rpartition(":")[2], parts.query


def check(provider, name):
    try:
        made = CLIENT.prepare(f"{provider}:{name}", "hi")
    except PonderoError:
        return
    url = made.request.url
    usual = CLIENT.prepare(f"{provider}:nobody", "hi").request.url
    if "nobody" not in usual:
        assert url == usual  # the body names the model
        return
    assert url.isascii()
    assert url.isprintable()
    if ":" in usual.rpartition("/")[2]:
        assert outline(url) == outline(usual)
    else:
        assert urlsplit(url)[:2] == urlsplit(usual)[:2]
        assert urlsplit(url).query == urlsplit(usual).query
    segments = urlsplit(url).path.split("/")
    assert not {".", ".."} & {each for part in segments for each in (part, unquote(part))}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_name_leaves_its_place_in_the_address(provider):
    for name in HOSTILE:
        check(provider, name)


@given(st.sampled_from(PROVIDERS), _names)
def test_no_name_made_of_such_pieces_does(provider, name):
    check(provider, name)
