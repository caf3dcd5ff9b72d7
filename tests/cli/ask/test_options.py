"""``pondero ask``: settings, a schema, attachments, usage, the wire, and its two kinds of JSON."""

import base64
import json
import os
import re

import click
import pytest

from pondero.cli.app import app
from pondero.cli.ask.options import SECTIONS
from pondero.cli.command import Sections
from pondero.emulator import (
    Emulator,
    Fault,
    ScriptedTurn,
    home_providers,
    run_emulator_in_thread,
)

SUM = "What is 17 * 23?"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# One model of every wire, with thinking on.
MODELS = [
    "anthropic:claude-opus-5/low",
    "openai:gpt-5.1/low",
    "openai-chat:gpt-5.1/low",
    "google:gemini-3-flash-preview/low",
    "google-interactions:gemini-3-flash-preview/low",
    "bedrock:us.anthropic.claude-opus-5/low",
    "cohere:command-a-reasoning-08-2025/low",
    "ollama:qwen3:8b/low",
    "mistral:mistral-medium-latest/high",
    "groq:openai/gpt-oss-120b/low",
    "openrouter:anthropic/claude-opus-5/low",
]


@pytest.fixture
def ask(call, data_dir):
    return lambda *arguments, **how: call("ask", "--offline", *arguments, **how)


@pytest.fixture
def service(monkeypatch):
    """An emulator over HTTP, where a service would be; its key is secret."""
    with run_emulator_in_thread(emulator := Emulator()) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-nobody-may-see")
        yield emulator


# -- the help --------------------------------------------------------------------------------------


def test_every_option_stands_under_one_heading():
    command = app.get_command(click.Context(app), "ask")
    assert isinstance(command, Sections)
    listed = [name for names in SECTIONS.values() for name in names]
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert sorted(listed) == sorted(each.name for each in options if not each.hidden)
    shown = command.get_help(click.Context(command, terminal_width=78))
    headings = re.findall(r"^([A-Z]\w+):$", shown, re.MULTILINE)
    assert headings == list(SECTIONS)
    assert all(shown.count(f"  {option.opts[-1]} ") <= 1 for option in options)


# -- settings --------------------------------------------------------------------------------------


def test_settings_go_along_as_the_service_calls_them(call, service):
    sent = ("-o", "temperature", "0.3", "-o", "stop", "END", "-o", "stop", "FIN", "-o", "max_tokens", "900")  # fmt: skip
    assert call("ask", "--no-save", "claude-sonnet-4-5/off", *sent, SUM)[0] == 0
    body = service.log.entries[-1].body
    assert (body["temperature"], body["stop_sequences"], body["max_tokens"]) == (
        0.3,
        ["END", "FIN"],
        900,
    )


def test_a_setting_that_thinking_forbids_is_left_out_and_that_is_said(ask):
    code, out, err = ask("claude-sonnet-4-5/high", "-o", "temperature", "0.2", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert "temperature" in err
    assert "(dropped_parameter)" in err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("heat", "1"), "unknown option 'heat'; use temperature top_p top_k seed max_tokens stop"),
        (("temperature", "hot"), "temperature is a number, not 'hot'"),
        (("top_k", "1.5"), "top_k is a whole number, not '1.5'"),
    ],
)
def test_a_setting_that_cannot_be_is_a_usage_error(ask, given, said):
    code, out, err = ask("claude-opus-5", "-o", *given, SUM)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())


# -- schemas ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_an_answer_has_the_shape_of_a_schema_on_every_wire(ask, model):
    code, out, err = ask(model, "--schema", "name, age int", "Invent a dog of 7 years.")
    assert code == 0, err
    value = json.loads(out)
    assert sorted(value) == ["age", "name"]
    assert (type(value["name"]), type(value["age"])) == (str, int)
    assert out.count("\n") == 1


def test_the_models_above_speak_every_wire():
    from pondero.client import load_catalog

    spoken = {load_catalog().entry(model).provider.dialect for model in MODELS}
    wires = {each.dialect for each in home_providers()}
    assert wires <= spoken


SCHEMA = {
    "type": "object",
    "properties": {"prime": {"type": "boolean"}},
    "required": ["prime"],
    "additionalProperties": False,
}


def test_a_schema_is_a_file_or_json_too(ask, tmp_path):
    file = tmp_path / "prime.json"
    file.write_text(json.dumps(SCHEMA))
    for given in (str(file), json.dumps(SCHEMA)):
        code, out, _ = ask("gpt-5.1/low", "--schema", given, "Is 7 prime?")
        assert (code, list(json.loads(out))) == (0, ["prime"])


def test_several_objects_are_a_list_of_items(ask):
    code, out, _ = ask("gpt-5.1/low", "--schema-multi", "name: what it is called\nage int", "Dogs!")
    assert code == 0
    (first, *_) = json.loads(out)["items"]
    assert sorted(first) == ["age", "name"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("name strng", "invalid field 'name strng'; write NAME, NAME TYPE"),
        ("none.json", "there is no file 'none.json'"),
        ("{oops", "'{oops' is not a JSON schema"),
        (" , ", "it has no fields"),
        ('{"type": "objekt"}', "invalid JSON schema: $.type: 'objekt' is not valid"),
        ('{"type": 5}', "invalid JSON schema: $.type: 5 is not"),
        ('{"properties": {}, "required": 5}', "invalid JSON schema: $.required: 5 is not"),
        ('{"minLenght": 3}', "the schema has 'minLenght', a keyword that is not checked"),
        ('{"$ref": "#"}', "the schema refers to '#', which leads back to itself"),
        ('{"$ref": "https://e.org/s"}', "refers to 'https://e.org/s', which it does not contain"),
    ],
)
def test_a_schema_that_is_none_is_a_usage_error(ask, given, said):
    code, out, err = ask("gpt-5.1/low", "--schema", given, "Dogs!")
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"prime": "perhaps"}', "does not fit the schema: $.prime"),
        ('{"prime": true, "more": 1}', "does not fit the schema: $"),
        ("yes", "the answer is not the JSON that was asked for"),
    ],
)
@pytest.mark.parametrize("how", [(), ("--json",)])
def test_an_answer_that_does_not_fit_is_an_error_and_is_kept(call, service, data_dir, text, said, how):  # fmt: skip
    service.expect(ScriptedTurn(text=text))
    code, out, err = call("ask", *how, "claude-opus-5/low", "--schema", json.dumps(SCHEMA), SUM)
    assert code == 1
    assert said in err
    if how:
        assert said in json.loads(out)["error"]["message"]
    else:
        assert out == ""
    assert text in call("threads", "show")[1]


# -- attachments -----------------------------------------------------------------------------------


def test_a_picture_goes_along_from_a_file_an_address_and_standard_input(call, service, tmp_path):
    picture = tmp_path / "chart"  # what it is, its first bytes say
    picture.write_bytes(PNG)
    sources = (str(picture), "https://example.com/chart.png", "-")
    attached = [word for source in sources for word in ("-a", source)]
    assert call("ask", "--no-save", "claude-opus-5", *attached, "What?", stdin=PNG)[0] == 0
    (message,) = service.log.entries[-1].body["messages"]
    kinds = [(part["type"], part.get("source", {}).get("type")) for part in message["content"]]
    assert kinds == [("image", "base64"), ("image", "url"), ("image", "base64"), ("text", None)]


def test_a_text_goes_along_under_its_name_and_need_not_have_words_beside_it(ask, tmp_path):
    (tmp_path / "sum.txt").write_text(SUM)
    assert ask("gpt-5.1/low", "-a", str(tmp_path / "sum.txt"))[:2] == (0, "17 * 23 = 391\n")
    assert ask("gpt-5.1/low", "-a", "-", stdin=SUM)[:2] == (0, "17 * 23 = 391\n")


def test_a_model_that_cannot_read_an_attachment_is_not_asked(ask, tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 and so on")
    code, out, err = ask("ollama:gemma3", "-a", str(tmp_path / "a.pdf"), "What?")
    assert (code, out) == (2, "")
    assert "cannot read a.pdf (application/pdf, 18 bytes)" in err


@pytest.mark.parametrize("model", ["gpt-5.5", "openai-chat:gpt-5.5", "claude-opus-5"])
def test_a_file_of_no_known_type_is_not_sent(ask, tmp_path, model):
    (tmp_path / "some.bin").write_bytes(bytes(range(256)))
    code, out, err = ask(model, "-a", str(tmp_path / "some.bin"), "What?")
    assert (code, out) == (2, "")
    assert "cannot read some.bin (application/octet-stream, 256 bytes)" in err


def test_json_and_json_lines_together_are_an_error(ask):
    code, out, err = ask("claude-opus-5", SUM, "--json", "--json-lines")
    assert (code, out) == (2, "")
    assert "use --json or --json-lines, not both" in err


def test_a_file_that_is_not_there_is_said(ask, tmp_path):
    code, _, err = ask("claude-opus-5", "-a", str(tmp_path / "none.png"), "What?")
    assert (code, "cannot read" in err) == (2, True)


# -- usage, the wire, JSON -------------------------------------------------------------------------


def test_a_pipe_gets_the_answer_as_the_model_wrote_it(call, service):
    text = "# Primes\n\n**2**,\t`3`  \n\n| a | b |\n|---|---|\n| 1 | ü |\n\n- [x](https://example.com)\n"
    service.expect(ScriptedTurn(text=text))
    assert call("ask", "claude-opus-5/off", SUM)[1] == f"{text}\n"


def test_usage_is_a_line_on_stderr(ask, call, service):
    code, out, err = ask("claude-opus-5/low", "--usage", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert re.fullmatch(
        r"anthropic:claude-opus-5/low · 7 in, \d+ thinking, 4 answer tokens · offline · "
        r"[\d.]+ s · as planned\n",
        err,
    )
    assert ask("gpt-4o", "--usage", SUM)[2].startswith("openai:gpt-4o · ")
    pytest.importorskip("genai_prices")
    err = call("ask", "claude-opus-5/low", "-u", SUM)[2]
    assert re.search(r" tokens · \$0\.00\d+ · ", err)


def test_the_wire_is_what_was_sent_and_came_without_the_key(call, service):
    code, out, err = call("ask", "--no-save", "--wire", "claude-opus-5/low", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert "sk-ant" not in err
    assert "> x-api-key: REDACTED" in err
    lines = err.splitlines()
    assert lines[0].startswith("> POST http://127.0.0.1")
    sent = next(line for line in lines if line.startswith("{"))
    assert json.loads(sent) == service.log.entries[-1].body
    assert sent == json.dumps(json.loads(sent), separators=(",", ":"))  # as it went, on one line
    assert "< 200" in lines
    assert "event: message_stop" in lines


def test_a_key_as_short_as_a_word_is_not_on_the_wire_either(call, service, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "tinykey")
    assert "tinykey" not in call("ask", "--no-save", "--wire", "claude-opus-5", SUM)[2]


def test_the_wire_of_an_exchange_that_failed_is_shown_too(call, service):
    code, _, err = call("ask", "--no-save", "--wire", "claude-opus-5", "Hi [emulator: fault 401]")
    assert code == 3
    assert "< 401" in err


KEYS = [
    "version",
    "model",
    "asked",
    "level",
    "text",
    "thinking",
    "tool_calls",
    "finish",
    "verdict",
    "adjustments",
    "usage",
    "cost",
    "cost_unknown",
    "seconds",
    "first",
    "exchanges",
    "thread",
    "error",
]


def test_json_is_one_object_with_these_keys(ask, data_dir):
    code, out, err = ask("gemini-3-pro-preview/off", "--json", SUM)
    answer = json.loads(out)
    assert (code, err, list(answer)) == (0, "", KEYS)
    assert (answer["version"], answer["model"]) == (1, "google:gemini-3-pro-preview")
    assert (answer["asked"], answer["level"], answer["text"]) == ("off", "low", "17 * 23 = 391")
    assert answer["adjustments"][0]["code"] == "cannot_disable"
    assert answer["usage"]["total"] == sum(
        count or 0 for kind, count in answer["usage"].items() if kind != "total"
    )
    assert answer["error"] is None
    assert "seal" not in out


def test_json_has_the_value_of_a_schema_and_the_thread(ask, call):
    answer = json.loads(ask("gpt-5.1/low", "--json", "--schema", "age int", "7?")[1])
    assert (answer["value"], json.loads(answer["text"])) == ({"age": 7}, {"age": 7})
    assert call("threads", "show", answer["thread"])[0] == 0


def test_json_says_what_went_wrong_and_so_does_stderr(ask):
    code, out, err = ask("claude-opus-5", "--json", "Hi [emulator: fault 401]")
    assert code == 3
    assert json.loads(out)["error"]["type"] == "AuthFailed"
    assert "rejected the key" in err
    last = ask("claude-opus-5", "--json-lines", "Hi [emulator: fault 401]")[1].splitlines()[-1]
    assert json.loads(last)["error"]["type"] == "AuthFailed"


def test_json_lines_begin_with_the_version_of_their_shape(ask):
    events = [json.loads(line) for line in ask("gpt-5.1/low", "--json-lines", SUM)[1].splitlines()]
    assert (events[0]["type"], events[0]["version"]) == ("started", 1)
    assert events[-1]["type"] == "finished"
    assert {"usage", "cost", "seconds", "thread", "verdict", "finish"} <= set(events[-1])


# -- several at once -------------------------------------------------------------------------------


def test_several_models_answer_one_after_the_other_in_a_pipe(ask, call):
    code, out, err = ask("-m", "claude-opus-5/low", "-m", "gpt-5.1", SUM)
    assert (code, err) == (0, "")
    assert re.fullmatch(
        r"# claude-opus-5/low\n\n17 \* 23 = 391\n\n7 in, .* as planned\n\n"
        r"# gpt-5.1\n\n17 \* 23 = 391\n\n7 in, .*\n",
        out,
    )
    assert len(json.loads(call("threads", "list", "--json")[1])["threads"]) == 2


def test_levels_and_models_are_combined(ask):
    code, out, _ = ask(
        "-m", "claude-opus-5", "-m", "gpt-5.1", "--levels", "low, high", "--json", SUM
    )
    assert code == 0
    found = [(each["model"], each["level"]) for each in json.loads(out)]
    assert found == [
        ("anthropic:claude-opus-5", "low"),
        ("anthropic:claude-opus-5", "high"),
        ("openai:gpt-5.1", "low"),
        ("openai:gpt-5.1", "high"),
    ]
    low, high = (json.loads(out)[n]["usage"]["thinking"] for n in (0, 1))
    assert low < high


def test_one_level_is_a_level(ask):
    assert json.loads(ask("claude-opus-5", "--levels", "max", "--json", SUM)[1])["level"] == "max"


def test_levels_that_cannot_be_are_usage_errors(ask):
    for given in (("claude-opus-5", "--levels", "low,hihg"), ("claude-opus-5", "--levels", ","),
                  ("-m", "claude-opus-5/high", "--levels", "low,max")):  # fmt: skip
        assert ask(*given, SUM)[0] == 2


def test_one_that_fails_does_not_lose_the_others(call, service):
    service.expect(ScriptedTurn(text="Fine."))
    code, out, _ = call("ask", "-m", "claude-opus-5", "-m", "gpt-5.1", "--json", SUM)
    fine, failed = json.loads(out)
    assert code == 2
    assert (fine["text"], fine["error"]) == ("Fine.", None)
    assert (failed["text"], failed["error"]["type"]) == (None, "MissingKey")
    code, out, _ = call("ask", "-m", "claude-opus-5", "-m", "gpt-5.1", SUM)
    assert (code, "391" in out, "OPENAI_API_KEY" in out) == (2, True, True)


def test_what_all_lack_is_told_once_and_on_stderr(call):
    code, out, err = call("ask", "claude-opus-5", "--levels", "low,high", SUM)
    assert (code, out, err.count("ANTHROPIC_API_KEY")) == (2, "", 1)
    assert "--offline" in err


def test_the_events_of_several_say_whose_they_are(ask):
    out = ask("claude-opus-5", "--levels", "low,high", "--json-lines", SUM)[1]
    events = [json.loads(line) for line in out.splitlines()]
    for name in ("claude-opus-5/low", "claude-opus-5/high"):
        own = [event for event in events if event["of"] == name]
        assert (own[0]["type"], own[-1]["type"]) == ("started", "finished")


def test_a_thread_that_goes_on_at_several_levels_stays_as_it_was(ask, call):
    ask("claude-opus-5/low", SUM)
    (before,) = json.loads(call("threads", "list", "--json")[1])["threads"]
    assert ask("-c", "--levels", "low,high", "And 5 * 5?")[0] == 0
    threads = json.loads(call("threads", "list", "--json")[1])["threads"]
    branches = {each["messages"] for each in threads if each["id"] != before["id"]}
    assert branches == {4, 5}  # another level is a message of its own
    (after,) = [each for each in threads if each["id"] == before["id"]]
    assert after["messages"] == 2


def test_the_wire_of_several_is_shown(ask):
    err = ask("claude-opus-5", "--levels", "low,high", "--wire", SUM)[2]
    assert (err.count("> POST"), err.count("< 200")) == (2, 2)


def test_no_extra_variable_is_needed_for_these_tests():
    assert not [name for name in os.environ if name.endswith("_API_KEY")]


@pytest.mark.parametrize("fault", ["cut", "no_end", "broken", "error_event"])
def test_an_answer_that_breaks_off_before_anything_was_shown_is_asked_for_again(
    call, service, data_dir, fault
):
    service.faults.append(Fault.parse(fault))
    code, out, _ = call("ask", "claude-opus-5/high", SUM, "--json", "--no-save")
    assert (code, json.loads(out)["text"]) == (0, "17 * 23 = 391")
    assert len(service.log.entries) == 2


def test_hidden_thinking_is_not_shown_and_text_is(call, service, data_dir):
    service.faults.append(Fault.parse("error_event"))  # after some thinking
    assert call("ask", "claude-opus-5/high", SUM, "--no-save")[:2] == (0, "17 * 23 = 391\n")
    service.faults.append(Fault.parse("error_event"))
    assert call("ask", "claude-opus-5/high", SUM, "--no-save", "--thinking")[:2] == (3, "")
    service.faults.append(Fault.parse("no_end"))  # after the text
    assert call("ask", "claude-opus-5/high", SUM, "--no-save")[0] == 1
    assert len(service.log.entries) == 4


def test_columns_show_nothing_before_the_end_so_each_may_be_asked_again(call, service, data_dir):
    service.faults.append(Fault.parse("no_end"))
    code, out, _ = call("ask", "claude-opus-5", "--levels", "low,high", SUM, "--json", "--no-save")
    assert code == 0
    assert [each["text"] for each in json.loads(out)] == ["17 * 23 = 391"] * 2
