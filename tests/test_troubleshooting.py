"""The page on troubleshooting has the texts that services say, and advice that can be followed."""

import json
import re
import runpy
from contextlib import suppress
from pathlib import Path

import click
import pytest

import pondero
from pondero.canon import ResponseHead
from pondero.cli.app import app, run
from pondero.client import load_catalog
from pondero.dialects import NAMES, get_dialect
from pondero.dialects.openai_chat.service.models import provider_of
from pondero.dialects.rejections import load_rules
from pondero.emulator import Emulator
from pondero.emulator.faults import MESSAGES
from pondero.thinking import CODES, TOKENS
from pondero.vcr import Cassette

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
MADE = runpy.run_path(str(ROOT / "docs" / "troubleshooting.py"))
TOPICS = MADE["TOPICS"]
ACCOUNTS = MADE["ACCOUNTS"]
ROWS = [*(each for name in NAMES for each in MADE["iter_advice"](name)), *MADE["iter_own_words"]()]


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic["title"])
def test_a_topic_has_advice_and_names_rules_that_are_there_once(topic):
    assert topic["do"].endswith(".")
    for dialect, names in topic["rules"].items():
        known = load_rules(f"pondero.dialects.{dialect}.service").rule
        assert set(names) <= set(known)
        others = [each["rules"].get(dialect, ()) for each in TOPICS if each is not topic]
        assert not set(names) & {name for each in others for name in each}


@pytest.mark.parametrize("dialect", NAMES)
def test_every_api_has_the_common_topics(dialect):
    topics = {row.topic for row in MADE["iter_advice"](dialect)}
    assert {
        "Key",
        "Address",
        "Model name",
        "Thinking: wrong form",
        "Unknown field or value",
    } <= topics


def test_commands_codes_and_policies_of_the_advice_are_there():
    context = click.Context(app)
    said = " ".join(topic["do"] for topic in TOPICS)
    verbs = set(re.findall(r"`pondero ([a-z]+)", said + PAGE))
    assert {"plan", "levels", "guard", "keys"} <= verbs <= set(app.list_commands(context))
    assert "dropped_parameter" in CODES
    assert "answer_room" in TOKENS


def _pattern(text):
    """Return a pattern for what a service says, with anything in place of the names in braces."""
    plain = text.strip().replace("{{", "\x00").replace("}}", "\x01")
    parts = re.split(r"\{[^}]*\}", plain)
    plain = [part.replace("\x00", "{").replace("\x01", "}") for part in parts]
    return ".+".join(re.escape(json.dumps(part, ensure_ascii=False)[1:-1]) for part in plain)


@pytest.mark.parametrize(
    "row", [*MADE["iter_own_words"]()], ids=lambda row: f"{row.owner} {row.text}"[:60]
)
def test_a_wording_of_one_provider_has_the_status_that_the_emulator_answers_with(row):
    says = provider_of(row.owner.strip("`")).says.values()
    assert row.status in {each.status for each in says if each.text == row.text}


LEVEL_TOPICS = {
    "Unknown field or value",
    *(t["title"] for t in TOPICS if "Thinking: " in t["title"]),
}
WRONG = {
    "anthropic:claude-opus-5": {"thinking": {"type": "enabled", "budget_tokens": 8000}},
    "anthropic:claude-haiku-4-5": {"output_config": {"effort": "high"}},
    "openai:gpt-5.5": {"reasoning": {"effort": "enormous"}},
    "openai-chat:gpt-5": {"reasoning_effort": "enormous"},
    "google:gemini-2.5-pro": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
    "google:gemini-3-pro-preview": {"generationConfig": {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}},
    "groq:openai/gpt-oss-120b": {"reasoning_effort": "none"},
    "mistral:mistral-large-latest": {"reasoning_effort": "high"},
    "ollama:qwen3": {"think": "enormous"},
    "openrouter:openai/gpt-5": {"reasoning": {"effort": "enormous"}},
}  # fmt: skip


@pytest.mark.parametrize("model", WRONG)
def test_a_rejection_of_a_level_is_found_on_the_page_by_its_text(model):
    emulator = Emulator()
    with pondero.Client(transport=emulator) as client, suppress(pondero.ServiceError):
        client.ask(model, "Hello", thinking=WRONG[model])  # an automatic repair may follow
    body = json.dumps(emulator.log.entries[0].refusal, ensure_ascii=False)
    rows = [row for row in ROWS if re.search(_pattern(row.text), body, re.DOTALL)]
    assert {row.topic for row in rows} & LEVEL_TOPICS, body
    assert all(MADE["_REFEREE"]["_code"](row.text.strip()) in PAGE for row in rows)


def _openai_error(row):
    return {"error": {"type": row["kind"], "code": row.get("code"), "message": row["text"]}}


SAID = [(row, topic["error"]) for topic in ACCOUNTS for row in topic["says"]]
BODIES = {
    "anthropic": lambda row: {
        "type": "error",
        "error": {"type": row["kind"], "message": row["text"]},
    },
    "gemini": lambda row: {
        "error": {"code": row["status"], "status": row["kind"], "message": row["text"]}
    },
    "bedrock": lambda row: {"message": row["text"]},
    "cohere": lambda row: {"message": row["text"]},
    "ollama": lambda row: {"error": row["text"]},
    "openai_chat": _openai_error,
    "openai_responses": _openai_error,
}
"""How each API puts a text into the body of an error."""


@pytest.mark.parametrize(("row", "error"), SAID, ids=lambda each: str(each)[:60])
def test_what_is_said_of_an_account_becomes_the_error_of_its_row(row, error):
    name = load_catalog().catalog.providers[row["provider"]].dialect
    head = ResponseHead(row["status"], {"x-amzn-errortype": row["kind"]})
    raised = get_dialect(name).caller().error(head, json.dumps(BODIES[name](row)).encode())
    assert type(raised).__name__ == error
    assert row["text"] in str(raised)
    assert MADE["_REFEREE"]["_code"](row["text"]) in PAGE


OWN = {
    "`Anthropic needs a key: set ANTHROPIC_API_KEY`": ("ask", "opus", "hi"),
    "`no model is named, none is set, and there is no key`": ("ask", "hi"),
    "`unknown model 'claude-opuss-5'; did you mean`": ("ask", "claude-opuss-5", "hi"),
    "`unknown level 'hgih'; did you mean`": ("ask", "opus/hgih", "hi"),
}


@pytest.mark.parametrize("text", OWN)
def test_what_pondero_says_is_on_the_page_as_it_is_printed(text, capsys, data_dir, config_dir):
    assert text in PAGE
    assert run([*OWN[text], "--no-stdin"]) == 2
    assert text.strip("`") in capsys.readouterr().err


SHOWN = re.sub(r"`` (.*?) ``|`([^`]*)`", lambda code: code[1] or code[2] or "", PAGE)
"""The page as a browser shows it."""


def _section(title):
    return SHOWN.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("Anthropic Messages", "Invalid `signature` in `thinking` block"),
        ("Anthropic Messages", "Invalid signature in thinking block"),
        ("Anthropic Messages", "Invalid `data` in `redacted_thinking` block"),
        ("Anthropic Messages", "blocks in the latest assistant message cannot be modified"),
        ("Anthropic Messages", "max_tokens must be greater than thinking.budget_tokens"),
        ("Anthropic Messages", "Expected thinking or redacted_thinking, but found"),
        ("OpenAI Responses", "Unsupported parameter: 'temperature' is not supported"),
        ("OpenAI Responses", "previous_response_not_found"),
        (
            "OpenAI Chat Completions and compatible services",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use",
        ),
        (
            "OpenAI Chat Completions and compatible services",
            "Unsupported value: 'temperature' does not support",
        ),
        ("Key, credit and limits", "context_length_exceeded"),
        ("Key, credit and limits", "insufficient_quota"),
        ("What pondero itself says", "has no exchange for POST"),
        ("What pondero itself says", "there is no cassette"),
    ],
)
def test_a_text_that_people_search_for_is_found_in_its_section(section, text):
    assert text in _section(section)


def test_a_code_of_an_error_is_on_the_page():
    codes = {row.rule.code for row in ROWS if row.rule.code}
    assert {code for code in codes if f"`{code}`" not in PAGE} == set()


def test_a_response_that_is_not_stored_has_its_own_advice():
    topics = {row.text: row.topic for row in ROWS if row.owner == "openai_responses"}
    assert topics["Previous response with id '{id}' not found."] == "Stored responses"
    said = next(topic["do"] for topic in TOPICS if topic["title"] == "Stored responses")
    assert "store" in said
    assert "key" in said


@pytest.mark.parametrize("status", MESSAGES)
def test_the_text_of_a_fault_is_on_the_page(status):
    assert MESSAGES[status] in _section("What the emulator says to a fault")


CASSETTE = [
    "there is no cassette {path}; record it by running this again with VCR_RECORD=1",
    "{cassette} has no exchange for POST {url}",
    "{cassette} has nothing for POST {url}",
    "{count} of {count} exchanges in {cassette} not played",
    "{path} was not written: something in it looks like a key",
]


def _cassette_errors(folder):
    def ask(cassette, *questions):
        for question in questions:
            pondero.Client(transport=cassette).ask("gpt-5.1", question)

    path = folder / "sums.jsonl"
    with pytest.raises(pondero.errors.CassetteError) as missing:
        ask(Cassette(path, record=False), "What is 1 + 1?")
    with Cassette(path, Emulator(), record=True) as cassette:
        ask(cassette, "What is 1 + 1?", "What is 2 + 2?")
    with Cassette(path, record=False) as cassette:
        with pytest.raises(pondero.errors.CassetteError) as other:
            ask(cassette, "What is 3 + 3?")
        with pytest.raises(pondero.errors.CassetteError) as unplayed:
            cassette.assert_played()
        ask(cassette, "What is 1 + 1?", "What is 2 + 2?")
        with pytest.raises(pondero.errors.CassetteError) as spent:
            ask(cassette, "What is 1 + 1?")
    with (
        pytest.raises(pondero.errors.CassetteError) as leak,
        Cassette(folder / "leak.jsonl", Emulator(), record=True) as cassette,
    ):
        ask(cassette, f"Say sk-ant-api03-{'a1B2' * 20}")
    return [str(each.value) for each in (missing, other, spent, unplayed, leak)]


def test_what_a_cassette_says_is_on_the_page_as_it_is_printed(tmp_path):
    for text, said in zip(CASSETTE, _cassette_errors(tmp_path), strict=True):
        assert f"`{text}`" in PAGE
        assert re.search(_pattern(text), said)
