"""A probe through a client: what is sent, what it may cost, and what a service may answer."""

import asyncio
import re
from collections.abc import Iterator

import pytest

import pondero
from pondero.canon import HttpRequest
from pondero.client import dial, load_catalog
from pondero.emulator import DialResponder, Emulator
from pondero.errors import AuthFailed, BadParameter, NotFound, UsageError
from pondero.exchange import Response, Timeouts

MODEL = "gpt-5.5"
DIALS = {
    "deaf": ("deaf", "off"), "not-off": ("live", "not_off"), "noisy 3": ("undecided", "off"),
    "uncounted": ("live", "off"), "noisy 0.1": ("live", "off"),
}  # fmt: skip
# One model of each API, with a level for every word and a switch.
MODELS = (
    *("claude-opus-5", "gpt-5.5", "openai-chat:gpt-5.5", "ollama:qwen3:8b"),
    *("bedrock:anthropic.claude-opus-5", "vllm:mine", "sglang:mine", "llamacpp:mine"),
)


def client_of(dial_word=None, **options):
    responder = {} if dial_word is None else {"responder": DialResponder(dial_word)}
    emulator = Emulator(any_model=True, **responder)
    return pondero.Client(transport=emulator, **options), emulator


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("word", [None, "deaf", "not-off"])
def test_every_api_shows_a_live_a_deaf_and_a_dial_that_is_never_off(model, word):
    client, _ = client_of(word)
    found = client.probe(model)
    verdict, off = DIALS.get(word, ("live", "off"))
    assert (found.verdict, found.off) == (verdict, off)


@pytest.mark.parametrize("word", DIALS)
def test_both_clients_find_the_same(word):
    client, emulator = client_of(word)
    found = client.probe(MODEL)
    assert (found.verdict, found.off) == DIALS[word]
    asked = asyncio.run(pondero.AsyncClient(transport=client_of(word)[1]).probe(MODEL))
    assert asked == found
    assert len(emulator.log.entries) == found.asks


def test_what_is_sent_differs_in_the_level_alone():
    client, emulator = client_of()
    client.probe(MODEL, ["low", "high"])
    bodies = [entry.body for entry in emulator.log.entries]
    assert {body["reasoning"].pop("effort") for body in bodies} == {"low", "high"}
    by_question = {}
    for body in bodies:
        by_question.setdefault(str(body["input"]), []).append(body)
    assert all(first == second for first, second in by_question.values())


@pytest.mark.parametrize(
    ("model", "levels"),
    [
        ("gpt-5.5", ("off", "low", "high")),
        ("claude-sonnet-4-5", ("off", "minimal", "high")),  # the least number and the most
        ("gemini-3-pro-preview", ("low", "high")),  # cannot be off
        ("moonshot:kimi-k2.5", ("off", "on")),  # a bare switch
    ],
)
def test_the_levels_are_those_that_differ_most_clearly(model, levels):
    assert client_of()[0].draft_probe(model).levels == levels


def test_levels_that_are_sent_as_one_are_not_asked_twice():
    client, emulator = client_of()
    draft = client.draft_probe("gpt-5.1", ["max", "low", "xhigh", "high"])
    assert draft.levels == ("low", "high")
    assert draft.notes == ("max is sent as high here", "xhigh is sent as high here")
    client.probe(draft)
    assert {entry.body["reasoning"]["effort"] for entry in emulator.log.entries} == {"low", "high"}


def test_a_limit_that_would_make_levels_the_same_is_left_out():
    client, _ = client_of()
    assert client.draft_probe("claude-sonnet-4-5", ["low", "high"]).max_tokens is None
    assert client.draft_probe("claude-sonnet-4-5", ["2k", "16k"]).levels == ("2k", "16k")
    assert client.draft_probe("claude-opus-5", ["low", "high"]).max_tokens == 8_000


@pytest.mark.parametrize(
    ("model", "levels", "questions", "says"),
    [
        ("gpt-4o", None, None, "does not think"),
        ("gpt-5.1/high", None, None, "name gpt-5.1 alone"),
        ("gpt-5.1", ["high", "max"], None, "all are sent as high"),
        ("gpt-5.1", ["high", "hgih"], None, "did you mean 'high'"),
        ("gpt-5.1", None, ["one", "two"], "at least 5"),
        ("gpt-5.1", ["low", "medium", "high"], ["?"] * 5, "at least 7"),
    ],
)
def test_what_cannot_be_probed_says_so_before_anything_is_sent(model, levels, questions, says):
    client, emulator = client_of()
    with pytest.raises(UsageError, match=says):
        client.probe(model, levels, questions=questions)
    assert not emulator.log.entries


# -- the cost ------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.25, 0.3, 0.5])
def test_no_request_is_sent_that_could_pass_the_limit(limit):
    client, emulator = client_of("noisy 3")
    draft = client.draft_probe(MODEL, ["low", "high"])
    found = client.probe(draft, max_cost=limit)
    assert 0 < found.cost <= limit
    assert len(emulator.log.entries) == found.asks
    assert "cost limit" in found.notes[-1]
    assert found.cost + float(draft.ask_cost) > limit


def test_the_most_is_never_passed():
    client, _ = client_of()
    draft = client.draft_probe(MODEL)
    assert client.probe(draft).cost < draft.max_cost == draft.ask_cost * draft.max_asks


@pytest.mark.parametrize(
    ("model", "says"), [(MODEL, "more than the limit"), ("llamacpp:mine", "no price")]
)
def test_a_limit_that_cannot_be_kept_stops_it_before_the_first_request(model, says):
    client, emulator = client_of()
    with pytest.raises(BadParameter, match=says):
        client.probe(model, max_cost=0.001)
    with pytest.raises(BadParameter, match=says):
        client.discover(model, max_cost=0.001)
    assert not emulator.log.entries


# -- what services do ------------------------------------------------------------------------------


class Uncounted:
    """A transport whose answers have no usage at all."""

    needs_key = False

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        answer = self._emulator.send(request, timeouts)
        answer._pieces = (
            re.sub(rb'"usage":\{(?:[^{}]|\{[^{}]*\})*\}', b'"usage":null', piece)
            for piece in answer._pieces
            if isinstance(piece, bytes)
        )
        return answer

    def close(self) -> None:
        pass


def test_a_service_without_any_count_is_measured_by_time(monkeypatch):
    clock = iter(range(10_000))
    emulator = Emulator(any_model=True)
    seconds = {"low": 1, "high": 4}

    def tell(began=[0.0]):  # noqa: B006 - the time of the last look
        body = emulator.log.entries[-1].body if next(clock) % 2 else None
        began[0] += seconds.get(body["reasoning_effort"], 0) if body else 0
        return began[0]

    monkeypatch.setattr("pondero.client.probe_run.monotonic", tell)
    client = pondero.Client(transport=Uncounted(emulator))
    found = client.probe("llamacpp:mine", ["low", "high"])
    assert (found.verdict, found.unit) == ("live", "seconds")
    assert found.ratios[0].estimate == pytest.approx(4, rel=0.1)
    assert "takes 3.9x as long as" in str(found)


@pytest.fixture
def _odd_words(config_dir) -> Iterator[None]:
    """A row that claims words which the emulated service rejects."""
    (config_dir / "models.toml").write_text(
        '[[model]]\nmatch = ["odd"]\nprovider = "lmstudio"\nstyle = "effort"\noff = true\n'
        'efforts = ["minimal", "low", "high", "max"]\ndefault = "on"\n'
    )
    for cached in (load_catalog, dial._entry):
        cached.cache_clear()
    yield
    for cached in (load_catalog, dial._entry):
        cached.cache_clear()


@pytest.mark.usefixtures("_odd_words")
def test_a_level_that_the_service_rejects_is_left_out_and_nothing_is_sent_in_its_place():
    client, emulator = client_of()
    found = client.probe("lmstudio:odd", ["low", "high", "max"])
    assert (found.verdict, [ratio.pair for ratio in found.ratios]) == ("live", [("low", "high")])
    assert "max was rejected" in found.notes[0]
    sent = [entry.body["reasoning_effort"] for entry in emulator.log.entries]
    assert sent.count("max") == 1


@pytest.mark.usefixtures("_odd_words")
def test_a_service_that_rejects_all_but_one_level_has_no_dial():
    with pytest.raises(UsageError, match="rejects max, and one level alone is no dial"):
        client_of()[0].probe("lmstudio:odd", ["low", "max"])


@pytest.mark.parametrize(("fault", "error"), [("401", AuthFailed), ("404", NotFound)])
def test_another_error_ends_the_probe(fault, error):
    with pytest.raises(error):
        pondero.Client(transport=Emulator(faults=[None, fault])).probe(MODEL)


# -- discovery -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("llamacpp:mine", {"style": "any", "off": True, "toggle": True, "default": "on"}),
        ("vllm:mine", {"style": "any", "off": True, "toggle": True, "default": "on"}),
        ("sglang:mine", {"style": "any", "off": True, "toggle": True, "default": "on"}),
        ("lmstudio:mine", {"efforts": ["low", "medium", "high", "xhigh"], "off": True}),
        ("ollama:mine", {"efforts": ["low", "medium", "high", "max"], "off": True}),
        ("compatible:mine", {"off": True, "toggle": True, "style": "toggle_effort"}),
        ("claude-opus-9", {"off": True}),
    ],
)
def test_a_discovery_finds_what_the_strict_service_takes(model, row):
    client, emulator = client_of()
    found = client.discover(model)
    assert found.row.items() >= row.items()
    assert (found.row["source"], found.row["match"]) == (
        "probed",
        [model.partition(":")[2] or model],
    )
    assert len(emulator.log.entries) == len(found.trials) <= client.draft_discovery(model).max_asks
    again = pondero.AsyncClient(transport=client_of()[1])
    assert asyncio.run(again.discover(model)) == found


def test_a_discovery_keeps_the_cost_limit():
    client, emulator = client_of()
    draft = client.draft_discovery(MODEL)
    found = client.discover(MODEL, max_cost=float(draft.ask_cost) * 1.1)
    assert found.cost <= float(draft.ask_cost) * 1.1
    assert 0 < len(emulator.log.entries) < len(client_of()[0].discover(MODEL).trials)


def test_a_request_without_fields_that_is_rejected_is_no_discovery():
    client = pondero.Client(transport=Emulator(faults=["400"]))
    with pytest.raises(pondero.errors.BadRequest):
        client.discover(MODEL)
