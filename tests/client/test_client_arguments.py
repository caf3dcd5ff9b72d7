"""What a client is made of, given wrong: one error at once, which names the fix."""

import math
from inspect import signature

import pytest

import pondero
from pondero.client import client_arguments
from pondero.client.base_client import BaseClient
from pondero.emulator import Emulator
from pondero.errors import BadParameter
from pondero.exchange import Retry, Timeouts
from pondero.transport import AsyncHttpTransport, FastTransport, HttpTransport

CLIENTS = [pondero.Client, pondero.AsyncClient]
each_client = pytest.mark.parametrize("make", CLIENTS)


@each_client
@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        ({"timeout": 3}, r"unknown option 'timeout'; use timeouts=pondero\.Timeouts\("),
        ({"retries": 3}, r"use retry=pondero\.Retry\("),
        ({"max_retries": 3}, r"Retry\(attempts="),
        ({"api_key": "k"}, r"use Client\(keys=\{provider: key\}\)"),
        ({"base_url": "http://localhost"}, r"use Client\(urls="),
        ({"proxy": "http://localhost"}, r"HttpTransport\(proxy=\.\.\.\)"),
        ({"model": "gpt-5.1"}, "give it to ask, stream or Chat"),
        ({"reasoning_effort": "low"}, "give it to ask, stream or Chat"),
        ({"key": {"openai": "k"}}, "did you mean 'keys'"),
        ({"colour": 3}, "use policy transport retry timeouts keys urls on_request on_reply"),
        ({"timeouts": 3}, r"use pondero\.Timeouts\(first_byte=3\)"),
        ({"timeouts": (1, 2, 3)}, r"use pondero\.Timeouts\("),
        ({"timeouts": Timeouts}, r"use pondero\.Timeouts\("),
        ({"retry": 3}, r"use pondero\.Retry\(attempts=3\)"),
        ({"retry": "no"}, r"use pondero\.Retry\("),
        ({"retry": False}, r"use pondero\.Retry\(attempts=1\)"),
        ({"transport": 3}, r"invalid transport=3; use"),
        ({"transport": "http://localhost:3128"}, r"HttpTransport\(proxy="),
        ({"transport": Emulator}, r"use Emulator\(\)"),
        ({"transport": object()}, "invalid transport="),
        ({"keys": "sk-1"}, r"keys=\{'anthropic': "),
        ({"keys": {"anthropic": 3}}, r"keys=\{'anthropic': "),
        ({"urls": "http://localhost:9"}, r"urls=\{'anthropic': "),
        ({"urls": {"anthropic": 3}}, r"urls=\{'anthropic': "),
        ({"urls": {"anthropic": "localhost:99"}}, "write http://localhost:99"),
        ({"urls": {"anthropic": "api.example.com/v1"}}, "write https://api.example.com/v1"),
        ({"urls": {"anthropic": "ftp://example.com"}}, "begins with http:// or https://"),
        ({"urls": {"anthropic": "http://"}}, "no host"),
        ({"urls": {"anthropic": "http:///v1"}}, "no host"),
        ({"urls": {"anthropic": "http://a b"}}, "a space in it"),
        ({"urls": {"anthropic": "http://localhost:99999"}}, "invalid address.*Port out of range"),
        ({"urls": {"anthropic": ""}}, "begins with http:// or https://"),
    ],
)
def test_a_wrong_argument_is_one_error_at_once(make, wrong, fix):
    with pytest.raises(BadParameter, match=fix) as caught:
        make(**wrong)
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "transport", "instead"),
    [
        (pondero.Client, AsyncHttpTransport, "use HttpTransport"),
        (pondero.Client, FastTransport, "use HttpTransport"),
        (pondero.AsyncClient, HttpTransport, "use AsyncHttpTransport"),
    ],
)
def test_a_transport_of_the_other_kind_is_named(make, transport, instead):
    with pytest.raises(pondero.UsageError, match=instead):
        make(transport=transport())


@pytest.mark.parametrize("word", ["2", None, 0, -1, 1.5, True, math.inf])
def test_attempts_are_a_count(word):
    with pytest.raises(BadParameter, match=r"invalid attempts=.*; use a whole number from 1"):
        Retry(attempts=word)


@pytest.mark.parametrize("field", ["base", "cap", "patience"])
@pytest.mark.parametrize("word", ["2", None, -1, True, math.nan])
def test_the_waits_of_retries_are_seconds(field, word):
    with pytest.raises(BadParameter, match=f"invalid {field}=.*; use seconds from 0"):
        Retry(**{field: word})


@pytest.mark.parametrize("field", ["connect", "first_byte", "between_bytes"])
@pytest.mark.parametrize("word", ["x", None, 0, -1, True, math.nan])
def test_timeouts_are_seconds(field, word):
    with pytest.raises(BadParameter, match=f"invalid {field}=.*; use seconds above 0"):
        Timeouts(**{field: word})


@each_client
def test_the_right_ones_are_taken(make):
    make(
        transport=Emulator(),
        retry=Retry(attempts=1, base=0, cap=0, patience=0, waits=False),
        timeouts=Timeouts(1, 2.5, math.inf),
        keys={"anthropic": "sk-1"},
        urls={"anthropic": "http://localhost:9/x", "openai": "HTTPS://example.com"},
    )


def test_the_names_that_an_error_lists_are_all_that_a_client_takes():
    taken = [name for name in signature(BaseClient.__init__).parameters if name != "self"]
    assert [*client_arguments._KNOWN, "unknown"] == taken


def test_every_request_reads_the_environment_anew(monkeypatch):
    client, sent = pondero.Client(), []
    for key, url in (("sk-one", "http://a"), ("sk-two", "http://a"), ("sk-two", "http://b")):
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        request = client.prepare("claude-opus-5/low", "Hello").request
        sent.append((request.headers["x-api-key"], request.url.removesuffix("/v1/messages")))
    assert sent == [("sk-one", "http://a"), ("sk-two", "http://a"), ("sk-two", "http://b")]


def test_clients_with_keys_of_their_own_do_not_share_them():
    one, two = (pondero.Client(keys={"anthropic": f"sk-{name}"}) for name in ("one", "two"))
    sent = [each.prepare("claude-opus-5/low", "Hello").request for each in (one, two, one)]
    assert [each.headers["x-api-key"] for each in sent] == ["sk-one", "sk-two", "sk-one"]
