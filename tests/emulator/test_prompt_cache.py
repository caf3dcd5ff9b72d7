"""The emulator's prompt cache: each vendor's minimums, layers, breakpoints, lifetimes and counts."""

import json

import pytest
from tests.emulator.prompts import (
    ASK,
    KEY,
    SEARCH,
    SUM,
    TOOL,
    Clock,
    Counts,
    assistant,
    claude,
    converse,
    count_claude,
    gemini,
    mark,
    post,
    responses,
    text,
    user,
    words,
)

import pondero
from pondero.canon import CacheBreakpoint, HttpRequest, Text, Usage
from pondero.emulator import Emulator, ScriptedTurn
from pondero.exchange import Retry

LONG = "All of this was read before. " * 800  # about 5,800 tokens
MARKED = Text(LONG, cache=CacheBreakpoint())
AUTOMATIC = ("gpt-5.1", "openai-chat:gpt-5", "deepseek:deepseek-chat", "gemini-3-flash-preview")


def client(**options):
    return pondero.Client(transport=Emulator(**options), retry=Retry(attempts=1))


def read(usage):
    return usage.input + (usage.cache_read or 0) + (usage.cache_write or 0)


# -- through the library ---------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", AUTOMATIC)
def test_a_long_beginning_is_found_again_by_itself(model, stream):
    asker = client()
    first = asker.ask(model, SUM, "low", system=LONG, stream=stream).usage
    again = asker.ask(model, "What is 5 * 5?", "low", system=LONG, stream=stream).usage
    assert not first.cache_read
    assert again.cache_read >= 5_600
    assert abs(read(again) - read(first)) <= 1
    assert again.known_total == again.total


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", ["claude-opus-5", "bedrock:us.anthropic.claude-opus-5"])
def test_a_marked_beginning_is_written_once_and_read_after(model, stream):
    asker = client()
    first = asker.ask(model, SUM, "low", system=MARKED, stream=stream).usage
    again = asker.ask(model, "What is 5 * 5?", "low", system=MARKED, stream=stream).usage
    assert first.cache_write >= 5_600
    assert first.cache_read == 0
    assert (again.cache_read, again.cache_write) == (first.cache_write, 0)
    assert first.input < 20
    assert again.known_total == read(again) + again.output + (again.thinking or 0)


def test_what_is_not_marked_is_not_cached_where_marks_count():
    asker = client()
    for _ in range(2):
        usage = asker.ask("claude-opus-5", SUM, "low", system=LONG).usage
        assert (usage.cache_read, usage.cache_write) == (0, 0)


@pytest.mark.parametrize("model", ["claude-opus-5", *AUTOMATIC])
def test_a_conversation_reads_its_own_past(model):
    chat = pondero.Chat(model, "low", client=client(), system=MARKED)
    chat.send(SUM)
    assert chat.send("What is 5 * 5?").usage.cache_read >= 5_600


@pytest.mark.parametrize(
    "model", ["gpt-5.1", "gemini-3-flash-preview", "deepseek:deepseek-v4-flash"]
)
def test_another_level_reads_everything_anew_where_it_is_rendered_first(model):
    asker = client()
    asker.ask(model, SUM, "low", system=LONG)
    assert not asker.ask(model, SUM, "max", system=LONG).usage.cache_read
    assert asker.ask(model, SUM, "low", system=LONG).usage.cache_read > 0


@pytest.mark.parametrize("model", ["claude-opus-5", *AUTOMATIC])
def test_a_short_prompt_is_never_cached(model):
    asker = client()
    short = Text("Be brief.", cache=CacheBreakpoint())
    for _ in range(2):
        assert not asker.ask(model, SUM, "low", system=short).usage.cache_read


def test_counts_that_were_written_beforehand_stay():
    usage = Usage(input=5_000, output=1, thinking=0, total=5_001)
    asker = client(script=[ScriptedTurn(text="one", usage=usage)] * 2)
    for _ in range(2):
        assert asker.ask("gpt-5.1", LONG).usage.input == 5_000


def test_a_reset_forgets_what_was_read():
    emulator = Emulator()
    asker = pondero.Client(transport=emulator)
    asker.ask("gpt-5.1", SUM, "low", system=LONG)
    emulator.reset()
    assert asker.ask("gpt-5.1", SUM, "low", system=LONG).usage.cache_read == 0


# -- minimums --------------------------------------------------------------------------------------

MINIMUMS = {  # docs/wires/in-band.md
    "claude-opus-5": 512,
    "claude-opus-5-5": 512,
    "claude-sonnet-5-5": 512,
    "claude-haiku-5-5": 512,
    "claude-fable-5-1": 512,
    "claude-mythos-5-1": 512,
    "claude-opus-4-8": 1_024,
    "claude-sonnet-4-5": 1_024,
    "claude-sonnet-4-6": 1_024,
    "claude-sonnet-5": 1_024,
    "claude-opus-4-7": 2_048,
    "claude-opus-4-5": 4_096,
    "claude-opus-4-6": 4_096,
    "claude-haiku-4-5": 4_096,
}
ENVELOPE = 3  # what the emulator counts for a message beside its blocks


@pytest.mark.parametrize(("model", "least"), MINIMUMS.items())
def test_a_prefix_of_one_token_less_than_the_models_minimum_is_not_cached(model, least):
    emulator = Emulator()
    for tokens, cached in ((least - 1, 0), (least, least)):
        message = user(text(words(tokens - ENVELOPE), marked=True), ASK)
        first = count_claude(claude(emulator, message, model=model))
        again = count_claude(claude(emulator, message, model=model))
        assert (first.read, first.written) == (0, cached)
        assert (again.read, again.written) == (cached, 0)
        assert first.prompt == again.prompt


@pytest.mark.parametrize(
    ("model", "least"),
    [("gemini-3-flash-preview", 4_096), ("gemini-2.5-flash", 2_048), ("gemini-4-argon", 4_096)],
)
def test_geminis_minimum_is_that_of_its_generation(model, least):
    emulator = Emulator()
    for tokens in (least - 1, least):
        long = words(tokens - ENVELOPE)
        for _ in range(2):
            usage = gemini(emulator, long, model=model)
        assert usage.get("cachedContentTokenCount", 0) == (tokens if tokens >= least else 0)
        assert usage["promptTokenCount"] == tokens


@pytest.mark.parametrize(("tokens", "cached"), [(1_023, 0), (1_024, 1_024), (2_860, 2_816)])
def test_openai_counts_in_steps_of_128_from_1024_on(tokens, cached):
    emulator = Emulator()
    message = {"role": "user", "content": words(tokens - ENVELOPE)}
    for model in ("gpt-5", "gpt-6-astra"):
        for _ in range(2):
            usage = responses(emulator, message, model=model)
        assert usage == Counts(tokens - cached, cached, 0)


# -- breakpoints -----------------------------------------------------------------------------------


def talk(turns, *, marked):
    """Return a conversation of one block in each turn, and a breakpoint on one of them."""
    said = [text(words(40, f"t{number}"), marked=number == marked) for number in range(turns)]
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": [block]} for n, block in enumerate(said)]


def test_a_breakpoint_that_moves_to_the_newest_message_finds_the_older_entry():
    emulator = Emulator()
    before = 0
    for turns in range(15, 61, 2):
        counts = count_claude(claude(emulator, *talk(turns, marked=turns - 1)))
        assert counts.read == before
        assert counts.prompt == counts.read + counts.written
        before = counts.prompt


@pytest.mark.parametrize(("blocks", "found"), [(1, True), (20, True), (21, False), (30, False)])
def test_an_older_entry_is_found_within_twenty_blocks(blocks, found):
    emulator = Emulator()
    long = [text(words(1_000), marked=True)]
    first = count_claude(claude(emulator, user(*long)))
    bare = [text(words(1_000))]
    more = [text(f"Block {number}.") for number in range(blocks - 1)]
    again = count_claude(claude(emulator, user(*bare, *more, text(SUM, marked=True))))
    assert again.read == (first.written if found else 0)


def test_a_breakpoint_for_the_whole_request_is_one_on_its_last_block():
    emulator = Emulator()
    first = count_claude(
        claude(emulator, user(text(words(1_000))), cache_control={"type": "ephemeral"})
    )
    more = [user(text(words(1_000))), assistant("391"), user(text("Go on, please."))]
    again = count_claude(claude(emulator, *more, cache_control={"type": "ephemeral"}))
    assert first == Counts(0, 0, 1_003)
    assert again.read == 1_003
    assert again.rest == 0


def test_a_breakpoint_counts_on_hosted_tools_and_inside_results():
    emulator = Emulator()
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    inside = {"type": "tool_result", "tool_use_id": "toolu_1"}
    for _ in range(2):
        searched = count_claude(
            claude(emulator, user(ASK), system=words(900), tools=[TOOL, {**SEARCH, **mark()}])
        )
        found = count_claude(
            claude(
                emulator,
                user(ASK),
                {"role": "assistant", "content": [call]},
                user({**inside, "content": [text(words(900), marked=True)]}),
                tools=[TOOL],
            )
        )
    assert searched.read > 600
    assert found.read > 1_500


def test_bedrock_reads_up_to_its_cache_points():
    emulator = Emulator()
    point = {"cachePoint": {"type": "default"}}
    more = {"system": [{"text": words(700)}, point]}
    first = converse(emulator, {"text": words(700)}, point, {"text": SUM}, **more)
    again = converse(emulator, {"text": words(700)}, point, {"text": "What is 5 * 5?"}, **more)
    other = converse(emulator, {"text": words(700, "new")}, point, {"text": SUM}, **more)
    assert first.written == again.read == 1_403
    assert (other.read, other.written) == (700, 703)


def test_bedrocks_other_models_have_no_cache():
    emulator = Emulator()
    for _ in range(2):
        counts = converse(emulator, {"text": words(3_000)}, model="openai.gpt-oss-120b-1:0")
        assert counts == Counts(3_003, 0, 0)


def test_explicit_mode_caches_only_up_to_the_callers_breakpoints():
    emulator = Emulator()
    block = {"type": "input_text", "text": words(2_000)}
    point = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    options = {"prompt_cache_options": {"mode": "explicit"}}
    for _ in range(2):
        without = responses(emulator, {"role": "user", "content": [block]}, **options)
    for _ in range(2):
        content = [{**block, **point}, {"type": "input_text", "text": words(1_000)}]
        marked = responses(emulator, {"role": "user", "content": content}, **options)
    assert without == Counts(2_003, 0, 0)
    assert marked == Counts(1_000, 2_003, 0)  # not rounded to a step


# -- lifetimes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ttl", "seconds"), [(None, 300), ("5m", 300), ("1h", 3_600)])
def test_an_entry_lives_from_the_start_of_the_request_that_last_used_it(ttl, seconds):
    clock = Clock()
    emulator = Emulator(clock=clock)
    message = user(text(words(1_000), ttl=ttl, marked=True), ASK)
    assert count_claude(claude(emulator, message)).written
    for _ in range(3):  # each read lets it live on
        clock.now += seconds - 1
        assert count_claude(claude(emulator, message)).read
    clock.now += seconds
    assert count_claude(claude(emulator, message)).written


def test_what_is_written_is_counted_by_lifetime():
    emulator = Emulator()
    system = [text(words(1_000), ttl="1h")]
    answer = claude(emulator, user(text(words(600), ttl="5m"), ASK), system=system)
    usage = answer["usage"]
    assert usage["cache_creation"] == {
        "ephemeral_5m_input_tokens": 603,
        "ephemeral_1h_input_tokens": 1_000,
    }
    assert usage["cache_creation_input_tokens"] == 1_603
    again = claude(emulator, user(text(words(600, "new"), ttl="5m"), ASK), system=system)["usage"]
    assert again["cache_read_input_tokens"] == 1_000
    assert again["cache_creation"]["ephemeral_1h_input_tokens"] == 0


@pytest.mark.parametrize(
    ("model", "options", "minutes"),
    [
        ("gpt-5", {}, 10),
        ("gpt-5", {"prompt_cache_retention": "24h"}, 24 * 60),
        ("gpt-5.5", {}, 24 * 60),
        ("gpt-5.6", {}, 30),
        ("gpt-6-astra", {"prompt_cache_options": {"ttl": "12h"}}, 12 * 60),
    ],
)
def test_openais_entries_live_as_long_as_the_request_asks(model, options, minutes):
    clock = Clock()
    emulator = Emulator(clock=clock)
    message = {"role": "user", "content": words(2_000)}
    reads = []
    for seconds in (0, minutes * 60 - 1, minutes * 60):
        clock.now += seconds
        reads.append(responses(emulator, message, model=model, **options).read)
    assert reads == [0, 1_920, 0]


def test_a_prompt_is_found_once_the_first_answer_has_begun():
    emulator = Emulator()
    url, long = "https://api.openai.com/v1/responses", words(2_000)
    body = {"model": "gpt-5", "input": long}
    sent = [begin(emulator, url, body) for _ in range(2)]
    usages = [usage_of(response) for response in sent]
    assert [each["input_tokens_details"]["cached_tokens"] for each in usages] == [0, 0]
    assert responses(emulator, {"role": "user", "content": long}, model="gpt-5").read == 1_920


def begin(emulator, url, body):
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    return emulator.send(HttpRequest("POST", url, headers, json.dumps(body).encode()))


def usage_of(response):
    return json.loads(b"".join(response))["usage"]


# -- accounts --------------------------------------------------------------------------------------


def test_another_key_reads_nothing_of_it():
    emulator = Emulator()
    message = user(text(words(1_000), marked=True), ASK)
    for key, kept in (("one", 0), ("one", 1_003), ("two", 0), ("two", 1_003)):
        assert count_claude(claude(emulator, message, key=key)).read == kept


@pytest.mark.parametrize("header", ["openai_organization", "openai_project", "authorization"])
def test_another_organisation_reads_nothing_of_it(header):
    emulator = Emulator()
    body = {"model": "gpt-5", "input": words(2_000)}
    url = "https://api.openai.com/v1/responses"
    found = []
    for value in ("Bearer one", "Bearer one", "Bearer two"):
        headers = {"authorization": "Bearer k", header: value}
        usage = post(emulator, url, body, **headers)["usage"]
        found.append(usage["input_tokens_details"]["cached_tokens"])
    assert found == [0, 1_920, 0]


def test_a_signed_request_is_known_by_its_access_key():
    emulator = Emulator()
    url = (
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-opus-5/converse"
    )
    content = [{"text": words(1_000)}, {"cachePoint": {"type": "default"}}, {"text": SUM}]
    body = {"messages": [{"role": "user", "content": content}]}
    found = []
    for access, day in (("AKIA1", "20261116"), ("AKIA1", "20261117"), ("AKIA2", "20261117")):
        signed = (
            f"AWS4-HMAC-SHA256 Credential={access}/{day}/us-east-1/bedrock/aws4_request, "
            f"SignedHeaders=host;x-amz-date, Signature={day * 8}"
        )
        answer = post(emulator, url, body, authorization=signed, x_amz_date=f"{day}T000000Z")
        found.append(answer["usage"]["cacheReadInputTokens"])
    assert found == [0, 1_003, 0]
