"""Requests signed as botocore signs them: the same bytes, the same date, the same signature."""

import datetime as dt
import re
import sys
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

import pondero
from pondero.canon import HttpRequest
from pondero.cassettes import Cassette, find_leaks
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.errors import BadParameter, MissingExtra, MissingKey
from pondero.exchange import Retry, Signing, Timeouts
from pondero.extras import install_hint
from pondero.transport import AsyncHttpTransport, FastTransport, HttpTransport
from pondero.transport import aws_signing as aws_signature
from pondero.transport.aws_signing import sign

KEY = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
REQUEST = HttpRequest(
    "POST",
    "https://bedrock-runtime.us-east-1.amazonaws.com"
    "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    {"content-type": "application/json"},
    b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}',
)
SIGNING = Signing("bedrock", "us-east-1", "Amazon Bedrock", ("AWS_BEARER_TOKEN_BEDROCK",))
USUAL = Timeouts()
MODEL = "bedrock:us.anthropic.claude-sonnet-4-6"


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    """No credentials but those a test sets, and no date but one."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    now = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: now)
    aws_signature._session.cache_clear()
    yield
    aws_signature._session.cache_clear()


@pytest.fixture
def _credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY[1])


class Network:
    """A transport to the emulator that keeps what it was given, and looks like the network."""

    needs_key = True

    def __init__(self, **options):
        self.requests = []
        self._emulator = Emulator(**options)

    def send(self, request, timeouts):
        self.requests.append(request)
        return self._emulator.send(request, timeouts)

    def close(self):
        """Nothing is open."""

    async def aclose(self):
        """Nothing is open."""


@pytest.mark.usefixtures("_credentials")
def test_the_signature_is_the_documented_one():
    signed = sign(REQUEST, SIGNING)
    assert signed.headers["x-amz-date"] == "20261115T120000Z"
    assert signed.headers["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/us-east-1/bedrock/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date, "
        "Signature=06e5fbc3e69f614435a5978172ce09e3b61b5cc505b2e614759b9f011584b159"
    )
    assert (signed.method, signed.url, signed.body) == (REQUEST.method, REQUEST.url, REQUEST.body)


@pytest.mark.usefixtures("_credentials")
def test_a_session_token_is_signed_and_sent(monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "SESSIONTOKENEXAMPLE")
    signed = sign(REQUEST, SIGNING)
    assert signed.headers["x-amz-security-token"] == "SESSIONTOKENEXAMPLE"
    found = signed.headers["authorization"].rpartition("=")[2]
    assert found == "f42fb6728d6d0412ded06b76164b98856d751921ca5266ee1bc7e1e5f7727eca"


@pytest.mark.usefixtures("_credentials")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9100/model/amazon.nova-lite-v1%3A0/converse-stream",
        "https://vpce-1.example.com/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ap%2Fx/converse",
    ],
)
def test_it_is_what_botocore_itself_makes(url):
    request = HttpRequest("POST", url, {"content-type": "application/json"}, b"{}")
    theirs = AWSRequest("POST", url, {"content-type": "application/json"}, b"{}")
    SigV4Auth(Credentials(*KEY), "bedrock", "us-east-1").add_auth(theirs)
    assert sign(request, SIGNING).headers["authorization"] == theirs.headers["Authorization"]


@pytest.mark.usefixtures("_credentials")
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_without_a_key_signs_and_is_answered(stream):
    transport = Network()
    reply = pondero.Client(transport=transport).ask(MODEL, "What is 17 * 23?", stream=stream)
    assert reply.text == "17 * 23 = 391"
    assert "/us-east-1/bedrock/aws4_request" in transport.requests[0].headers["authorization"]


@pytest.mark.anyio
@pytest.mark.usefixtures("_credentials")
async def test_and_so_does_one_that_awaits():
    transport = Network()
    reply = await pondero.AsyncClient(transport=transport).ask(MODEL, "What is 17 * 23?")
    assert reply.text == "17 * 23 = 391"
    assert "aws4_request" in transport.requests[0].headers["authorization"]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.usefixtures("_credentials")
def test_every_try_is_signed_anew(monkeypatch):
    minutes = iter(range(60))

    def later():
        return dt.datetime(2026, 11, 15, 12, next(minutes), tzinfo=dt.UTC)

    monkeypatch.setattr("botocore.auth.get_current_datetime", later)
    transport = Network(faults=[503])
    pondero.Client(transport=transport, retry=Retry(waits=False)).ask(MODEL, "hi")
    first, second = (request.headers["x-amz-date"] for request in transport.requests)
    assert first != second


def test_a_bearer_key_needs_no_signature(monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-bedrock-key")
    transport = Network()
    pondero.Client(transport=transport).ask(MODEL, "hi")
    assert transport.requests[0].headers["authorization"] == "Bearer a-bedrock-key"


@pytest.mark.usefixtures("_credentials")
def test_the_region_is_the_addresss_else_the_environments(monkeypatch):
    elsewhere = Signing("bedrock", None, "Amazon Bedrock", ())
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    monkeypatch.setenv("AWS_REGION", "ap-south-1")
    assert "/us-east-1/bedrock/" in sign(REQUEST, SIGNING).headers["authorization"]
    assert "/ap-south-1/bedrock/" in sign(REQUEST, elsewhere).headers["authorization"]
    monkeypatch.delenv("AWS_REGION")
    assert "/eu-west-3/bedrock/" in sign(REQUEST, elsewhere).headers["authorization"]
    aws_signature._session.cache_clear()
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(BadParameter, match="set AWS_REGION or AWS_DEFAULT_REGION"):
        sign(REQUEST, elsewhere)


def test_without_credentials_the_error_names_every_way(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingKey, match="AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_"):
        pondero.Client(transport=Network()).ask(MODEL, "hi")


def test_a_profile_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(MissingKey, match="nobody"):
        sign(REQUEST, SIGNING)


def test_without_botocore_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(MissingExtra, match=re.escape(install_hint("bedrock"))):
        sign(REQUEST, SIGNING)


@pytest.mark.usefixtures("_credentials")
def test_a_recording_keeps_the_binary_stream_and_nothing_of_the_signature(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "SESSIONTOKENEXAMPLE")
    path = tmp_path / "bedrock.jsonl"
    with Cassette(path, record=True, transport=Network()) as cassette:
        asked = pondero.Client(transport=cassette).ask(MODEL, "What is 17 * 23?")
    written = path.read_text(encoding="utf-8")
    assert '{"base64":' in written
    assert "AWS4-HMAC-SHA256 REDACTED" in written
    for secret in (*KEY, "SESSIONTOKENEXAMPLE"):
        assert secret not in written
    assert find_leaks(path) == ()
    played = pondero.Client(transport=Cassette(path)).ask(MODEL, "What is 17 * 23?")
    assert (played.text, played.message.parts) == (asked.text, asked.message.parts)


class Kept(Emulator):
    """An emulator that keeps the requests as they arrived."""

    def __init__(self):
        super().__init__()
        self.requests = []

    def send(self, request, timeouts=USUAL):
        self.requests.append(request)
        return super().send(request, timeouts)


def resigned(request):
    """Return the authorisation that botocore gives what arrived, by the headers that were signed."""
    signed = request.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    names = set(signed.split(";")) - {"host", "x-amz-date", "x-amz-security-token"}
    headers = {name: request.headers[name] for name in names}
    url = f"http://{request.headers['host']}{urlsplit(request.url).path}"
    theirs = AWSRequest(request.method, url, headers, request.body)
    SigV4Auth(Credentials(*KEY), "bedrock", "us-east-1").add_auth(theirs)
    return theirs.headers["Authorization"]


@pytest.mark.anyio
@pytest.mark.usefixtures("_credentials")
@pytest.mark.parametrize(
    "model",
    [
        "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock:arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1",
    ],
)
@pytest.mark.parametrize("transport", [HttpTransport, AsyncHttpTransport, FastTransport])
async def test_what_arrives_over_the_network_is_what_was_signed(monkeypatch, transport, model):
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    emulator = Kept()
    with run_emulator_in_thread(emulator) as url:
        if transport is HttpTransport:
            with pondero.Client(transport=transport(), urls={"bedrock": url}) as client:
                reply = client.ask(model, "What is 17 * 23?")
        else:
            async with pondero.AsyncClient(transport=transport(), urls={"bedrock": url}) as client:
                reply = await client.ask(model, "What is 17 * 23?")
    assert reply.text == "17 * 23 = 391"
    (arrived,) = emulator.requests
    assert arrived.headers["authorization"] == resigned(arrived)
