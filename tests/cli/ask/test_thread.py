"""``pondero ask`` and the thread it keeps."""

import json

import pytest
from msgspec.structs import replace

from pondero.canon import (
    Image,
    Message,
    Origin,
    Signature,
    Text,
    TextDelta,
    Thinking,
    dump_json,
)
from pondero.cli.commands.chat import start_state
from pondero.client import load_catalog
from pondero.emulator import Emulator, Fault, ScriptedTurn, run_emulator_in_thread
from pondero.store import StoredMessage, Threads, set_config

SUM = "What is 17 * 23?"


@pytest.fixture
def ask(call, data_dir):
    return lambda *arguments, **how: call("ask", "--offline", *arguments, **how)


@pytest.fixture
def kept(data_dir):
    def read():
        with Threads.open() as threads:
            return [(thread, threads.load_messages(thread.id)) for thread in threads.list()]

    return read


@pytest.fixture
def service(monkeypatch):
    """An emulator over HTTP, where a service would be."""
    emulator = Emulator()
    with run_emulator_in_thread(emulator) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
        yield emulator


def test_a_question_and_its_answer_are_kept_with_what_is_known_of_them(ask, kept):
    assert ask("claude-opus-5/high", SUM, "--system", "Be brief.") == (0, "17 * 23 = 391\n", "")
    ((thread, (question, answer)),) = kept()
    assert (thread.title, thread.system) == (SUM, "Be brief.")
    assert (thread.model, thread.thinking) == ("claude-opus-5", "high")  # apart, as in the chat
    assert (thread.turns, thread.messages) == (1, 2)
    assert question.message.text == SUM
    assert answer.message.text == "17 * 23 = 391"
    assert answer.plan["level"] == "high"
    assert (answer.verdict, answer.finish, answer.partial) == ("as_planned", "stop", False)
    assert answer.usage.thinking > 0
    assert 0 <= answer.first <= answer.seconds
    assert answer.cost is None  # nobody paid


def test_nothing_is_kept_where_it_is_not_wanted(ask, kept, config_dir):
    ask("claude-opus-5/high", SUM, "--no-save")
    set_config("save", "false")
    ask("claude-opus-5/high", SUM)
    assert kept() == []


def test_a_thread_goes_on_with_its_model_level_and_system(ask, kept):
    ask("claude-opus-5/high", SUM, "--system", "Be brief.")
    assert ask("-c", "And 5 * 5?")[:2] == (0, "5 * 5 = 25\n")
    ((thread, messages),) = kept()
    assert [each.message.role for each in messages] == ["user", "assistant"] * 2
    assert messages[3].message.origin.level == "high"
    assert (thread.turns, thread.system) == (2, "Be brief.")


def test_a_thread_goes_on_by_id_and_with_another_model(ask, kept):
    ask("claude-opus-5/high", SUM)
    ask("gpt-5.1/low", "What is 2 * 2?")
    id = kept()[1][0].id
    assert ask("-c", id, "gemini-3-flash-preview", "And 5 * 5?")[:2] == (0, "5 * 5 = 25\n")
    thread, messages = kept()[0]
    assert (thread.id, thread.model) == (id, "gemini-3-flash-preview")
    assert messages[3].message.origin.model == "gemini-3-flash-preview"
    assert ask("-c", id[:4], "And 6 * 6?")[1] == "6 * 6 = 36\n"
    assert ask("-c", "last", "And 7 * 7?")[1] == "7 * 7 = 49\n"
    assert kept()[0][0].turns == 4


def test_a_level_said_when_a_thread_goes_on_wins_over_the_one_it_had(ask, kept, config_dir):
    set_config("thinking", "high")
    ask("claude-opus-5", SUM)
    id = kept()[0][0].id
    ask("-c", id, "claude-opus-5/low", "And 5 * 5?")
    ((thread, messages),) = kept()
    assert thread.thinking == "low"
    assert messages[2].message.level_update.level == "low"
    assert messages[-1].message.origin.level == "low"
    ask("-c", id, "And 6 * 6?")
    assert kept()[0][1][-1].message.origin.level == "low"


def test_a_model_named_without_a_level_goes_on_at_the_level_of_the_thread(ask, kept, config_dir):
    set_config("thinking", "high")
    ask("claude-opus-5", SUM)
    ask("-c", kept()[0][0].id, "gpt-5.1", "And 5 * 5?")
    ((thread, messages),) = kept()
    assert (thread.model, thread.thinking) == ("gpt-5.1", "high")
    assert messages[3].message.origin.level == "high"


def test_words_that_are_no_thread_and_no_model_are_the_question(ask, kept):
    ask("claude-opus-5/high", SUM)
    assert ask("-c", "what", "is", "5", "*", "5?")[1] == "5 * 5 = 25\n"
    assert kept()[0][1][2].message.text == "what is 5 * 5?"
    assert ask("-c", stdin="What is 6 * 6?")[1] == "6 * 6 = 36\n"


def test_a_thread_that_is_not_there_is_a_usage_error(ask):
    assert ask("-c", "And now?")[0] == 2
    ask("claude-opus-5/high", SUM)
    code, out, err = ask("-c", "k3f9zq", "And now?")
    assert (code, out) == (2, "")
    assert "no thread 'k3f9zq'" in err


def test_a_level_settled_once_counts_for_a_model_named_without_one(ask, kept, config_dir):
    set_config("thinking", "low")
    ask("claude-opus-5", SUM)
    ask("claude-opus-5/high", SUM)
    assert [messages[1].message.origin.level for _, messages in kept()] == ["high", "low"]


MODELS = [  # -m, first word, PONDERO_MODEL, config.toml -> the model that is asked
    ("gpt-5.1", "claude-opus-5", "o3", "grok-4", "gpt-5.1"),
    (None, "claude-opus-5", "o3", "grok-4", "claude-opus-5"),
    (None, "google:gemini-3-flash-preview", "o3", "grok-4", "gemini-3-flash-preview"),
    (None, "gpt-9", "o3", "grok-4", "gpt-9"),
    (None, None, "o3", "grok-4", "o3"),
    (None, None, None, "grok-4", "grok-4"),
    (None, None, "o3", None, "o3"),
    (None, "claude-opus-9", None, None, "claude-opus-9"),
    ("claude-opus-9", None, None, None, "claude-opus-9"),
]


@pytest.mark.parametrize(("option", "first", "variable", "configured", "asked"), MODELS)
def test_the_model_is_the_option_then_the_first_word_then_the_variable_then_the_config(
    ask, kept, config_dir, monkeypatch, option, first, variable, configured, asked
):
    if configured:
        set_config("model", configured)
    if variable:
        monkeypatch.setenv("PONDERO_MODEL", variable)
    words = () if option or first is None else (first,)
    named = ("-m", option) if option else ()
    assert ask(*named, *words, SUM)[:2] == (0, "17 * 23 = 391\n")
    ((_, (question, answer)),) = kept()
    assert (question.message.text, answer.message.origin.model) == (SUM, asked)


def test_words_after_the_option_are_the_question_even_where_the_first_is_a_model(ask, kept):
    ask("-m", "gpt-5.1/low", "claude-opus-5", "is", "what?")
    ((thread, (question, _)),) = kept()
    assert question.message.text == "claude-opus-5 is what?"
    assert (thread.model, thread.thinking) == ("gpt-5.1", "low")


@pytest.mark.parametrize("first", ["What", "command", "Claude", "24/7", "note:", "and/or", "gpt"])
def test_a_first_word_that_is_no_model_is_the_question_where_a_default_is_set(
    ask, kept, config_dir, first
):
    set_config("model", "claude-opus-5/low")
    code, _, err = ask(first, "is", "17 * 23?")
    assert (code, err) == (0, "")
    ((_, (question, answer)),) = kept()
    assert question.message.text == f"{first} is 17 * 23?"
    assert (answer.message.origin.model, answer.message.origin.level) == ("claude-opus-5", "low")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("cluade-opus-5", SUM), "'claude-opus-5'"),
        (("cluade-opus-5/high", "is", "what?"), "'claude-opus-5'"),
        (("anthropc:claude-opus-5/high", SUM), "'anthropic'"),
        (("foo/high", SUM), "pondero models"),
        (("claude-opus-5/hihg", SUM), "'high'"),  # the model is known, its level is not
        (("opuss", SUM), "'opus'"),
        (("opuss", "hi"), "'opus'"),
        (("sonet", "is", SUM), "'sonnet'"),
    ],
)
@pytest.mark.parametrize("default", ["claude-opus-5/low", None])
def test_a_misspelt_model_is_never_a_question_to_another_one(
    ask, kept, config_dir, words, meant, default
):
    if default:
        set_config("model", default)
    code, out, err = ask(*words)
    assert (code, out, kept()) == (2, "", [])
    assert meant in err
    if default and "hihg" not in words[0]:
        assert f'quote all of it: pondero ask "{" ".join(words)}"' in err


@pytest.mark.parametrize(
    "words", [("command", "line", "tools"), ("embed", "this", "text"), ("labs", "are", "what?")]
)
@pytest.mark.parametrize("default", ["claude-opus-5/low", None])
def test_an_english_word_that_begins_names_of_models_is_a_word_of_the_question(
    ask, kept, config_dir, words, default
):
    if default:
        set_config("model", default)
    assert ask(*words)[0] == 0
    ((_, (question, _)),) = kept()
    assert question.message.text == " ".join(words)


@pytest.mark.parametrize("default", ["claude-opus-5/low", None])
def test_a_word_nearly_a_short_name_in_an_unquoted_question_is_a_word_if_a_model_is_set(
    ask, kept, config_dir, default
):
    if default:
        set_config("model", default)
    assert ask("sparks", "are", "bright")[0] == (0 if default else 2)


def test_a_question_alone_is_asked_of_the_default_model_piped_in_or_not(ask, config_dir):
    set_config("model", "claude-opus-5/low")
    assert ask(SUM)[:2] == (0, "17 * 23 = 391\n")
    assert ask(stdin=SUM)[:2] == (0, "17 * 23 = 391\n")


@pytest.mark.parametrize("words", [(SUM,), ("Hello", "there")])
def test_without_any_model_or_key_it_says_what_to_do(call, data_dir, config_dir, words):
    code, out, err = call("ask", *words)
    assert (code, out) == (2, "")
    assert "no model is named, none is set, and there is no key" in err
    for way in ("'pondero ask opus", "--offline", "see 'pondero ask --help'"):
        assert way in err
    assert len(err) <= 2 * 80


def test_without_a_model_the_key_that_is_present_says_which_and_it_is_told(
    call, config_dir, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing-real-0001")
    code, _, err = call("plan")
    assert code == 0
    assert f"model: {load_catalog().default_of('openai')}/medium (OPENAI_API_KEY is set)" in err
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-nothing-real-0002")  # before it in the catalog
    assert load_catalog().default_of("anthropic") in call("plan")[2]
    set_config("model", "o3")
    assert "model:" not in call("plan")[2]


@pytest.mark.parametrize(
    ("variable", "own", "level"),
    [(None, None, "medium"), ("OPENAI_API_KEY", "low", "low"), ("PERPLEXITY_API_KEY", None, None)],
)
def test_ask_plan_and_chat_start_with_the_same_model_and_level_if_none_is_named(
    call, ask, kept, config_dir, monkeypatch, variable, own, level
):
    if own:
        set_config("thinking", own)
    if variable:
        monkeypatch.setenv(variable, "nothing-real-0001")
    assert ask(SUM)[0] == 0
    ((thread, _),) = kept()
    assert thread.thinking == level
    state = start_state(None, ())[1]
    assert (state.model, state.level_text) == (thread.model, level)
    if variable:
        plan = json.loads(call("plan", "--json")[1])
        assert (plan["model"], plan["asked"]) == (thread.model, level)


KEYS = {
    "GROQ_API_KEY": "groq",
    "CEREBRAS_API_KEY": "cerebras",
    "TOGETHER_API_KEY": "together",
    "FIREWORKS_API_KEY": "fireworks",
    "HF_TOKEN": "huggingface",
    "NVIDIA_API_KEY": "nvidia",
    "BASETEN_API_KEY": "baseten",
    "OLLAMA_API_KEY": "ollama-cloud",
    "AI_GATEWAY_API_KEY": "vercel-gateway",
    "AWS_BEARER_TOKEN_BEDROCK": "bedrock",
    "AWS_ACCESS_KEY_ID": "bedrock",
}


@pytest.mark.parametrize(("variable", "provider"), KEYS.items())
def test_the_key_of_a_host_of_models_chooses_a_model_there(
    ask, kept, config_dir, monkeypatch, variable, provider
):
    monkeypatch.setenv(variable, "nothing-real-0001")
    code, _, err = ask(SUM)
    assert code == 0
    assert f"model: {provider}:" in err
    assert f"({variable} is set)" in err
    assert kept()[0][0].model.startswith(f"{provider}:")


def test_a_key_whose_provider_has_no_default_model_says_so_in_ask_and_in_doctor(
    call, data_dir, config_dir, monkeypatch
):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "nothing-real-0001")
    said = "AZURE_OPENAI_API_KEY is set, but Azure OpenAI has no default model; name one, as in"
    code, out, err = call("ask", SUM)
    assert (code, out) == (2, "")
    assert f"{said} 'azure:" in " ".join(err.split())
    assert f"{said} 'azure:" in " ".join(call("doctor")[1].split())


def test_offline_without_a_model_takes_the_first_default_and_says_so(ask, kept, config_dir):
    code, out, err = ask(SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert f"model: {load_catalog().default_of('anthropic')}" in err
    assert len(err.splitlines()) == 1


def test_a_first_word_that_is_nearly_a_model_is_no_question(ask, kept):
    code, out, err = ask("opsu", SUM)
    assert (code, out) == (2, "")
    assert "did you mean 'opus'" in err
    assert kept() == []


def test_a_short_name_says_which_model_it_means_and_the_thread_keeps_that_one(ask, kept):
    code, out, err = ask("opus/high", SUM)
    meant = load_catalog().entry("opus").id
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert f"opus is {meant}, the newest claude-opus in the catalog" in err
    ((thread, _),) = kept()
    assert (thread.model, thread.thinking) == (meant, "high")


@pytest.mark.parametrize("again", [("-m", "gpt-5.1/low"), ("gpt-5.1/low",)])
def test_a_thread_goes_on_with_the_model_that_is_named_and_not_with_the_default(
    ask, kept, monkeypatch, again
):
    ask("claude-opus-5/high", SUM)
    monkeypatch.setenv("PONDERO_MODEL", "o3")
    ask("-c", "And 5 * 5?")
    ask("-c", *again, "And 6 * 6?")
    ((thread, messages),) = kept()
    origins = [each.message.origin for each in messages[1::2]]
    assert [origin.model for origin in origins] == ["claude-opus-5", "claude-opus-5", "gpt-5.1"]
    assert [origin.level for origin in origins] == ["high", "high", "low"]
    assert (thread.model, thread.thinking) == ("gpt-5.1", "low")


def test_a_thread_that_keeps_model_and_level_in_one_goes_on_at_that_level(ask, kept, data_dir):
    with Threads.open() as threads:
        threads.start(model="claude-opus-5/low")
    ask("-c", "What is 5 * 5?")
    ((thread, messages),) = kept()
    assert (thread.model, thread.thinking) == ("claude-opus-5", "low")
    assert messages[1].message.origin.level == "low"


@pytest.mark.parametrize("id", ["k3f9zq", "abcdef"])
@pytest.mark.parametrize("words", [("And?",), ("And what now?",), ("gpt-5.1", "And", "now?")])
def test_an_id_of_no_thread_is_an_error_that_says_how_to_ask_it(ask, kept, id, words):
    ask("claude-opus-5/high", SUM)
    code, out, err = ask("-c", id, *words)
    assert (code, out) == (2, "")
    assert f"no thread {id!r}" in err
    assert f'pondero ask -c "{id} ' in err
    assert kept()[0][0].turns == 1


@pytest.mark.parametrize(
    ("words", "question"),
    [
        (("last", "thing:", "what is 5 * 5?"), "last thing: what is 5 * 5?"),
        (("last", "thing:", "5 * 5", "and", "why?"), "last thing: 5 * 5 and why?"),
        (("last", "5 * 5?"), "5 * 5?"),
        (("last", "gpt-5.1", "what", "is", "5 * 5?"), "what is 5 * 5?"),
        (("thanks", "what", "is", "5 * 5?"), "thanks what is 5 * 5?"),
        (("thanks",), "thanks"),
    ],
)
def test_last_names_the_thread_only_before_one_question_or_a_model(ask, kept, words, question):
    ask("claude-opus-5/high", SUM)
    assert ask("-c", *words)[0] == 0
    assert kept()[0][1][2].message.text == question


def test_an_answer_that_cannot_be_kept_is_given_all_the_same(call, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "file"))
    code, out, err = call("ask", "--offline", "claude-opus-5/high", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert err.startswith("pondero: this was not saved: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("begun", [False, True])
def test_threads_that_cannot_be_written_are_told_of_once(call, data_dir, monkeypatch, begun):
    if begun:
        call("ask", "--offline", "claude-opus-5/high", SUM)

    def refuse(path, flags, mode=0o777):
        raise PermissionError(13, "Read-only file system", str(path))

    monkeypatch.setattr("pondero.store.threads.database.os.open", refuse)
    code, out, err = call("ask", "--offline", "claude-opus-5/high", "What is 2 + 3?")
    assert (code, out) == (0, "2 + 3 = 5\n")
    assert err.endswith("nothing is saved there\n")
    assert err.count("\n") == 1
    code, out, err = call("threads", "list")
    assert code == 0
    assert ("17 * 23" in out) == begun
    assert ("no threads yet" in err) != begun


def test_a_damaged_file_is_told_of_and_a_new_one_begun(ask, kept, data_dir):
    data_dir.mkdir()
    (data_dir / "threads.db").write_bytes(b"no database" * 999)
    code, out, err = ask("claude-opus-5/high", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert "was damaged; it was moved to" in err
    assert len(kept()) == 1


def test_an_answer_that_is_cut_off_is_kept_as_far_as_it_came(call, kept, service):
    service.expect(ScriptedTurn(text="one two three", thinking="hm", fault=Fault(kind="no_end")))
    code, out, err = call("ask", "claude-opus-5/low", "Count.")
    assert (code, out) == (1, "one two three\n")  # the error is on a line of its own
    assert "ended before" in err
    ((_, (question, answer)),) = kept()
    assert (question.partial, answer.partial) == (False, True)
    # the service reports the prompt when an answer begins, and its output only at the end
    assert (answer.message.text, answer.usage.input) == ("one two three", 5)
    assert call("ask", "-c", "What is 5 * 5?")[:2] == (0, "5 * 5 = 25\n")


def test_what_was_refused_of_a_thread_is_not_sent_again_when_it_goes_on(call, data_dir, service):
    call("ask", "claude-opus-5-5/high", SUM)
    code, out, err = call("ask", "-c", "--system", "Be brief.", "What is 5 * 5?")
    assert (code, out) == (0, "5 * 5 = 25\n")
    assert "seal_refused" in err
    assert [each.status for each in service.log.entries] == [200, 400, 200]
    for question, answer in (
        ("What is 6 * 6?", "6 * 6 = 36\n"),
        ("What is 7 * 7?", "7 * 7 = 49\n"),
    ):
        code, out, err = call("ask", "-c", question)
        assert (code, out) == (0, answer)
        assert "seal_refused" in err  # it is still left out, and said so
    assert [each.status for each in service.log.entries][3:] == [200, 200]
    code, out, _ = call("threads", "list", "--json")
    assert (code, "refusals" in out) == (0, False)  # marks of seals are nobody's business


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-sonnet-4-5"])
def test_a_thread_begun_offline_goes_on_with_a_key_as_a_handoff(ask, call, kept, service, model):
    ask(f"{model}/high", SUM)
    signed = _signatures(kept())
    code, out, err = call("ask", "-c", "What is 5 * 5?")
    assert (code, out) == (0, "5 * 5 = 25\n")
    assert [each.status for each in service.log.entries] == [200]
    sent = json.dumps(service.log.entries[0].body)
    assert signed
    assert not [text for text in signed if text in sent]
    assert err.count("the emulator wrote earlier answers") == 1


def test_a_thread_of_an_emulator_at_an_address_goes_on_there_unchanged(call, kept, service):
    call("ask", "claude-opus-5/high", SUM)
    signed = _signatures(kept())
    code, _, err = call("ask", "-c", "What is 5 * 5?")
    sent = json.dumps(service.log.entries[-1].body)
    assert (code, err) == (0, "")
    assert signed
    assert all(text in sent for text in signed)


def test_a_thread_of_a_service_goes_on_offline_as_a_handoff_and_back(ask, call, kept, service):
    """The emulator would reject real signatures, and the thread would remember that."""
    call("ask", "claude-opus-5/high", SUM)
    with Threads.open() as threads:
        ((thread, (question, answer)),) = kept()
        real = Signature("anthropic", "RWFzeSBhcyBwaWU=", "claude-opus-5", "anthropic")
        thought, *rest = answer.message.parts
        parts = (replace(thought, signature=real), *rest)
        origin = replace(answer.message.origin, emulator=None)
        message = replace(answer.message, parts=parts, origin=origin)
        threads.delete(thread.id)
        new = threads.start(model=thread.model, thinking=thread.thinking)
        threads.add(new.id, (question, replace(answer, message=message)))
    code, out, err = ask("-c", "What is 5 * 5?")
    assert (code, out) == (0, "5 * 5 = 25\n")
    assert err.count("a service wrote earlier answers") == 1
    with Threads.open() as threads:
        assert threads.get("last").refusals == ()
    call("ask", "-c", "What is 6 * 6?")
    sent = json.dumps(service.log.entries[1].body)
    assert real.value in sent, "it goes back to its maker"


def _signatures(kept):
    return [
        part.signature.value
        for _, messages in kept
        for each in messages
        for part in each.message.parts
        if getattr(part, "signature", None) is not None
    ]


def test_what_was_repaired_on_the_way_is_one_event_with_json(call, data_dir, service):
    call("ask", "claude-opus-5-5/high", SUM)
    _, out, _ = call("ask", "-c", "--system", "Be brief.", "What is 5 * 5?", "--json-lines")
    notes = [json.loads(line) for line in out.splitlines() if '"note"' in line]
    assert [note["adjustment"]["code"] for note in notes] == ["seal_refused"]


def test_an_answer_that_is_interrupted_is_kept_as_far_as_it_came(ask, kept, monkeypatch):
    def stop(page, event):
        if isinstance(event, TextDelta):
            raise KeyboardInterrupt

    monkeypatch.setattr("pondero.cli.ask.writers.TerminalWriter.write", stop)
    code, _, err = ask("claude-opus-5/low", SUM)
    assert (code, err.strip()) == (130, "interrupted")
    ((_, (_, answer)),) = kept()
    assert answer.partial
    assert "17 * 23 = 391".startswith(answer.message.text)


def test_an_answer_of_a_service_has_a_price(call, kept, service):
    pytest.importorskip("genai_prices")
    code, out, _ = call("ask", "claude-opus-5/high", SUM, "--json-lines")
    assert code == 0
    finished = json.loads(out.splitlines()[-1])
    ((thread, (_, answer)),) = kept()
    usage = answer.usage
    price = (usage.input * 5 + (usage.output + usage.thinking) * 25) / 1e6
    assert float(answer.cost) == pytest.approx(price)
    assert finished["cost"] == answer.cost == thread.cost


def test_an_answer_of_the_emulator_has_none(ask):
    _, out, _ = ask("claude-opus-5/high", SUM, "--json-lines")
    assert json.loads(out.splitlines()[-1])["cost"] is None


# -- engines -----------------------------------------------------------------------------------


LOCAL = [each.name for each in load_catalog().catalog.providers.values() if each.auth == "none"]


@pytest.mark.parametrize("name", LOCAL)
def test_the_emulator_goes_on_with_what_a_local_engine_said(ask, data_dir, name):
    model = f"{name}:qwen3"
    said = Message("assistant", (Thinking("hm"), Text("Yes.")), Origin(name, "qwen3", "high", 1e9))
    with Threads.open() as threads:
        id = threads.start(model=model, thinking="high").id
        asked = Message("user", (Text("Is it?"),))
        threads.add(id, [StoredMessage(asked), StoredMessage(said)])
    code, out, err = ask("-c", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n"), err


def test_a_picture_that_an_engine_cannot_read_can_be_left_out(ask, kept, data_dir, monkeypatch):
    picture = Message("user", (Image("image/png", b"\x89PNG"), Text("Who is it?")))
    with Threads.open() as threads:
        id = threads.start(model="llamacpp:qwen3").id
        answer = Message("assistant", (Text("Ada."),), Origin("llamacpp", "qwen3", None, 1e9))
        threads.add(id, [StoredMessage(picture), StoredMessage(answer)])
    service = Emulator(any_model=True)
    fault = Fault(kind="status", status=400, message="image input is not supported")
    service.expect(ScriptedTurn(text="", fault=fault))
    monkeypatch.setattr("pondero.emulator.Emulator", lambda **_: service)
    code, _, err = ask("-c", "And who else?")
    assert code == 3
    assert "--no-media" in err
    code, _, err = ask("-c", "--no-media", "And who else?")
    assert (code, err) == (0, "")
    sent = dump_json(service.log.entries[-1].body)
    assert "[image/png, 4 bytes, not sent]" in sent
    assert "image_url" not in sent
    ((_, messages),) = kept()
    assert messages[0].message == picture  # the thread keeps it


@pytest.mark.parametrize("before", [(), ("claude-opus-5",), ("--thinking", "claude-opus-5")])
@pytest.mark.parametrize("level", ["off", "low", "max"])
def test_a_level_before_the_question_is_an_error_that_says_where_it_goes(before, level, call):
    code, out, err = call("ask", "--offline", *before, level, "What is 17 * 23?")
    assert (code, out) == (2, "")
    model = "claude-opus-5" if before else "MODEL"
    assert f"{level!r} is a level; write it after a slash: {model}/{level}" in err


def test_a_question_may_begin_with_the_name_of_a_level(call):
    for words in (("high", "tide", "in", "Bern?"), ("high tide in Bern?",)):
        code, out, _ = call("ask", "--offline", "claude-opus-5", *words)
        assert (code, "high tide in Bern?" in out) == (0, True)


def test_a_word_that_is_no_model_before_a_quoted_question_is_told(call, monkeypatch):
    monkeypatch.setenv("PONDERO_MODEL", "claude-opus-5")
    assert (
        "'foo' is no model here, so it is part"
        in call("ask", "--offline", "foo", "How are you?")[2]
    )
    for words in (("Explain", "it"), ("claude-opus-5", "How are you?"), ("How are you?",)):
        assert "is no model here" not in call("ask", "--offline", *words)[2]
