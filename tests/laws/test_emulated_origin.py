"""Laws of answers that the emulator wrote: a service never gets what the emulator signed."""

import base64
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.hazards.talking import PLAIN, SEALING, UNSEALED, calling, chat_with, get_weather

import pondero
from pondero.canon import EMULATED, EMULATED_ID, OFFLINE, Signature, is_emulated
from pondero.client import load_catalog
from pondero.emulator import Emulator, Fault, FaultyTransport, ScriptedTurn

MODELS = (
    *SEALING,
    *PLAIN,
    *UNSEALED,
    "bedrock:us.anthropic.claude-sonnet-4-6",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
)
PROVIDERS = {load_catalog().entry(model).provider.name for model in MODELS}
LEVELS = ("off", "low", "high", "max")
OPAQUE = ("signature", "data", "redactedContent", "encrypted_content", "thoughtSignature")
ITEMS = ("rs_", "msg_", "fc_", "ctc_")
"""Ids of items, which a service looks up. Ids of calls it only compares with their results."""


@pytest.fixture(scope="module", autouse=True)
def addresses():
    """Fill in the blanks of the providers' addresses."""
    blanks = ("GOOGLE_CLOUD_PROJECT", "AZURE_RESOURCE_NAME")
    with pytest.MonkeyPatch.context() as patch:
        for name in blanks:
            patch.setenv(name, "ours")
        yield


class Service:
    """A transport to real services: it keeps the requests, and an emulator answers them."""

    needs_key = True

    def __init__(self, failures=0):
        self.requests = []
        self._answers = Emulator(any_model=True, faults=[529] * failures)

    def send(self, request, timeouts):
        self.requests.append(request)
        return self._answers.send(request, timeouts)

    def close(self):
        """Do nothing."""


class Client(pondero.Client):
    """A client with a key for every provider."""

    def __init__(self, transport, **options):
        super().__init__(transport=transport, keys=dict.fromkeys(PROVIDERS, "sk-test"), **options)


def list_opaque(value):
    """Return the texts of answers that only their maker can read."""
    if isinstance(value, list):
        return {text for each in value for text in list_opaque(each)}
    if not isinstance(value, dict):
        return set()
    found = {text for each in value.values() for text in list_opaque(each)}
    found |= {value[key] for key in (*OPAQUE, "thought_signature") if _is_text(value.get(key))}
    return found | {id for id in [value.get("id")] if str(id).startswith(ITEMS) and len(id) > 16}


def _is_text(value):
    return isinstance(value, str) and len(value) > 16


class Recorded(FaultyTransport):
    """An emulator that keeps every opaque text of its answers."""

    is_emulator = True

    def __init__(self, emulator):
        super().__init__(emulator, ())
        self.opaque = set()

    def send(self, request, timeouts):
        answer = super().send(request, timeouts)
        body = b"".join(answer)
        self.opaque |= list_opaque(_read(body))
        return _Whole(answer.head, body)


class _Whole:
    def __init__(self, head, body):
        self.head, self._body = head, body

    def __iter__(self):
        yield self._body

    def close(self):
        """Do nothing."""


def _read(body):
    try:
        return json.loads(body)
    except ValueError:
        return None


def offline_chat(model, steps, prompts=("Where is it fine?",)):
    """Return a chat that the emulator has answered, and the opaque texts of its answers."""
    emulator = Emulator(script=calling(steps), any_model=True)
    recorded = Recorded(emulator)
    chat = chat_with(recorded, model)
    for prompt in prompts:
        chat.send(prompt, stream=False)
    assert not [entry.refusal for entry in emulator.log.entries if entry.refusal]
    return chat, recorded.opaque


def continue_with(chat, transport, **options):
    """Return the same chat after a reload, with a key."""
    client = Client(transport, retry=pondero.Retry(attempts=1), **options)
    return pondero.Chat.from_json(chat.to_json(), tools=[get_weather], client=client)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("steps", [0, 2])
def test_a_request_for_a_service_has_nothing_that_the_emulator_signed(model, steps):
    chat, opaque = offline_chat(f"{model}/high", steps)
    service = Service()
    reply = continue_with(chat, service).send("And tomorrow?")
    body = service.requests[0].body.decode()
    assert not [text for text in opaque if text in body]
    assert len(service.requests) == 1, "nothing was rejected"
    notes = [note for note in reply.adjustments if note.code == "emulated_thread"]
    assert bool(opaque) <= len(notes) <= 1


@given(
    st.sampled_from(MODELS),
    st.sampled_from(MODELS),
    st.sampled_from(LEVELS),
    st.sampled_from(LEVELS),
    st.integers(0, 2),
)
def test_whatever_model_and_level_go_on(first, second, before, after, steps):
    chat, opaque = offline_chat(f"{first}/{before}", steps)
    chat.model = f"{second}/{after}"
    service = Service()
    ready = continue_with(chat, service).prepare("And tomorrow?")
    body = ready.request.body.decode()
    assert not [text for text in opaque if text in body]


def as_service(chat):
    """Return the chat as if services had answered: with other signatures, and no emulator."""
    text = chat.to_json().replace(EMULATED, "QnkgYSBzZXJ2aWNl").replace(EMULATED_ID, "1" * 14)
    text = text.replace("bmRlcm9FbXVsYXRv", "QnkgYSBzZXJ2aWNl").replace(',"emulator":"offline"', "")
    assert "mulator" not in text
    return text


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("steps", [0, 2])
def test_a_thread_of_a_service_goes_on_at_the_emulator_without_its_signatures(model, steps):
    chat, opaque = offline_chat(f"{model}/high", steps)
    emulator = Emulator(any_model=True)
    client = pondero.Client(transport=emulator, retry=pondero.Retry(attempts=1))
    again = pondero.Chat.from_json(as_service(chat), tools=[get_weather], client=client)
    reply = again.send("And tomorrow?")
    assert [entry.refusal for entry in emulator.log.entries if entry.refusal] == []
    assert again.refusals == (), "the service may have its own signatures back"
    notes = [note.why for note in reply.adjustments if note.code == "emulated_thread"]
    assert bool(opaque) <= len(notes) <= 1


@pytest.mark.parametrize("model", MODELS)
def test_a_service_gets_its_own_signatures_back_after_a_turn_at_the_emulator(model):
    chat, _ = offline_chat(f"{model}/high", 2)
    text, service = as_service(chat), Service()
    client = Client(service)
    before = pondero.Chat.from_json(text, tools=[get_weather], client=client)
    wanted = before.prepare("And tomorrow?")
    offline = pondero.Client(transport=Emulator(any_model=True))
    between = pondero.Chat.from_json(text, tools=[get_weather], client=offline)
    between.send("And tomorrow?")
    after = pondero.Chat.from_json(between.to_json(), tools=[get_weather], client=client)
    ready = after.prepare("And then?")
    signed = list_opaque(json.loads(wanted.request.body))
    assert signed <= list_opaque(json.loads(ready.request.body))
    assert not is_emulated(json.loads(ready.request.body))


def test_a_fallback_at_a_service_gets_nothing_of_the_emulator_either():
    chat, opaque = offline_chat("claude-opus-5/high", 2)
    chat.model = ["claude-opus-5/high", "gpt-5.1/high", "gemini-3-flash-preview/high"]
    service = Service(failures=2)
    reply = continue_with(chat, service).send("And tomorrow?")
    assert [note.code for note in reply.adjustments].count("emulated_thread") == 1
    assert len(service.requests) == 3
    for request in service.requests:
        assert not [text for text in opaque if text in request.body.decode()]


def test_an_answer_of_the_emulator_that_is_cut_off_is_marked_too():
    turn = ScriptedTurn(text="one two three", thinking="hm", fault=Fault(kind="no_end"))
    chat = chat_with(Emulator(script=[turn]), "claude-opus-5/low")
    with pytest.raises(pondero.WireError), chat.stream("Count.", keep=True) as stream:
        list(stream)
    assert chat.messages[-1].origin.emulator == OFFLINE


@given(st.binary(max_size=300), st.sampled_from(["anthropic", "openai_responses", "gemini"]))
def test_no_other_signature_is_taken_for_the_emulators(data, dialect):
    assume(EMULATED_ID not in data.hex())  # it is the mark: Hypothesis reads constants of ours
    value = base64.b64encode(data).decode()
    assume(EMULATED not in value)
    assert not Signature(dialect, value).emulated
    assert not Signature(dialect, {"id": f"rs_{data.hex()}", "encrypted_content": value}).emulated
