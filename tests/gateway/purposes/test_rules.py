"""Rules give each purpose its level and its models, from the file to the headers and records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.purposes.test_recognisers import OWN

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import BadConfig
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    PurposeRule,
    RuleMatch,
    SpendBudget,
)
from pondero.gateway.config.reader import load
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.figures import load_figures
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import ledger_database
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.store import load_catalog

ANY = (
    GatewayRoute(match="claude-*", to=("anthropic:claude-opus-5",), retries=0),
    GatewayRoute(match="*", to=("google:gemini-3-flash-preview",), retries=0),
)
CAPTURES = {sent["id"]: sent for sent in OWN}
TITLES = PurposeRule(RuleMatch("title"), LevelRules(force="off"), name="title")
KEY = "pk-" + "a" * 40


class Asked:
    """What came of one request: the answer, its record, and what reached the service."""

    def __init__(self, answer: Came, record: Receipt, sent: Any) -> None:
        self.answer = answer
        self.record = record
        self.sent = sent
        self.thinking = answer.headers.get("x-pondero-thinking")


@pytest.fixture
def ask() -> Callable[..., Asked]:
    def ask(
        id: str,
        *rules: PurposeRule,
        key: GatewayKey | None = None,
        routes: tuple[GatewayRoute, ...] = ANY,
        **headers: str,
    ) -> Asked:
        emulator = Emulator()
        records: list[Receipt] = []
        keys = (key,) if key is not None else ()
        config = GatewayConfig(routes=routes, rules=rules, keys=keys)
        app = App(GatewayContext(config, emulator, observers=[records.append]))
        sent = CAPTURES[id]
        said = {**sent["headers"], "x-api-key": KEY, **headers}
        body = json.dumps(sent["body"]).encode()
        http = HttpRequest("POST", f"http://127.0.0.1{sent['path']}", said, body)
        answer = anyio.run(came, app, http)
        assert answer.status == 200, answer.body
        return Asked(answer, records[-1], emulator.log.entries[-1].body)

    return ask


def test_a_title_is_written_without_thinking_and_the_header_says_why(ask):
    title = ask("claude-code-2.1.197-title", TITLES)
    assert title.thinking == "asked=high; sent=off; why=rule:title"
    assert title.sent["thinking"] == {"type": "disabled"}
    assert (title.record.purpose, title.record.why) == ("title", "rule:title")


def test_the_conversation_is_not_changed_by_the_rule_for_titles(ask):
    ruled, free = ask("claude-code-2.1.197-main", TITLES), ask("claude-code-2.1.197-main")
    assert ruled.sent == free.sent
    assert ruled.record.purpose == "main"
    assert ruled.thinking == free.thinking


def test_a_rule_may_send_a_purpose_to_another_model(ask):
    rule = PurposeRule(
        RuleMatch("title"), LevelRules(force="low"), ("google:gemini-3-flash-preview",), "title"
    )
    title = ask("claude-code-2.1.197-title", rule)
    assert title.answer.headers["x-pondero-model"] == "google:gemini-3-flash-preview"
    assert title.thinking == "asked=high; sent=low; why=rule:title"
    assert title.sent["generationConfig"]["thinkingConfig"]["thinkingLevel"].lower() == "low"
    assert ask("claude-code-2.1.197-main", rule).answer.headers["x-pondero-model"] == (
        "anthropic:claude-opus-5"
    )


SUBAGENTS = [sent["id"] for sent in OWN if sent["purpose"] == "subagent"]


@pytest.mark.parametrize("id", SUBAGENTS)
def test_subagents_of_every_client_are_capped(ask, id):
    rule = PurposeRule(RuleMatch("subagent"), LevelRules(force="low"), name="sub")
    assert ask(id, rule).thinking.endswith("sent=low; why=rule:sub")


def test_the_first_matching_rule_wins_and_a_client_can_be_named(ask):
    mine = PurposeRule(
        RuleMatch("subagent", client="claude-code"), LevelRules(cap="medium"), name="mine"
    )
    others = PurposeRule(RuleMatch("subagent"), LevelRules(force="off"), name="others")
    id = "claude-code-2.1.325-subagent"
    assert ask(id, mine, others).thinking == "asked=high; sent=medium; why=rule:mine"
    assert ask(id, others, mine).thinking == "asked=high; sent=off; why=rule:others"
    codex = ask("codex-0.166.0-review", mine)
    assert codex.thinking == "asked=medium; sent=medium; why=body"


@pytest.mark.parametrize(
    ("when", "matches"),
    [
        (RuleMatch(model="claude-opus-5"), True),
        (RuleMatch(model="claude-*"), True),
        (RuleMatch(model="gpt-*"), False),
        (RuleMatch(route="claude-*"), True),
        (RuleMatch(route="*"), True),
        (RuleMatch(route="gpt-*"), False),
        (RuleMatch(key="ci"), True),
        (RuleMatch(key="c*"), True),
        (RuleMatch(key="other"), False),
        (RuleMatch("title", "claude-code", "claude-*", "claude-*", "ci"), True),
        (RuleMatch("title", "codex", "claude-*", "claude-*", "ci"), False),
        (RuleMatch("summary", "claude-code", "claude-*", "claude-*", "ci"), False),
    ],
)
def test_all_that_a_rule_says_must_hold(ask, when, matches):
    key = GatewayKey("ci", hash_key(KEY))
    title = ask(
        "claude-code-2.1.197-title", PurposeRule(when, LevelRules(force="low"), name="r"), key=key
    )
    assert (title.record.why == "rule:r") is matches


def test_caps_and_floors_of_route_and_key_override_a_rule(ask):
    key = GatewayKey("ci", hash_key(KEY), LevelRules(cap="medium"))
    forced = PurposeRule(RuleMatch("title"), LevelRules(force="max"), name="title")
    assert ask("claude-code-2.1.197-title", forced, key=key).thinking == (
        "asked=high; sent=medium; why=cap"
    )
    floored = (GatewayRoute("*", ("anthropic:claude-opus-5",), LevelRules(floor="medium")),)
    assert ask("claude-code-2.1.197-title", TITLES, routes=floored).thinking == (
        "asked=high; sent=medium; why=floor"
    )


def test_a_rule_that_lowers_a_request_keeps_it_within_a_budget(ask):
    key = GatewayKey("ci", hash_key(KEY), budget=SpendBudget(thinking_tokens=100_000))
    title = ask("claude-code-2.1.197-title", TITLES, key=key)
    assert title.record.usage.thinking in (0, None)


# -- records --------------------------------------------------------------------------------------


def test_the_ledger_counts_by_purpose_and_lists_the_rule(ask, tmp_path, data_dir):
    database = ledger_database("sqlite")
    ledger = Ledger(database, tmp_path)
    records = [
        ask("claude-code-2.1.197-title", TITLES).record,
        ask("opencode-1.18.33-title", TITLES).record,
        ask("claude-code-2.1.197-main", TITLES).record,
    ]
    for record in records:
        ledger.note(record)
    ledger.close()
    figures = load_figures(database, "hour", now=records[-1].at)
    assert [(each.purpose, each.requests) for each in figures.purposes] == [
        ("title", 2),
        ("main", 1),
    ]
    assert {hit.why for hit in figures.bites} == {"rule:title"}
    database.close()


def test_the_metrics_count_by_purpose(ask):
    metrics = Metrics()
    metrics.note(ask("claude-code-2.1.197-title", TITLES).record)
    page = metrics.page().body.decode()
    assert 'pondero_purposes_total{key="local",purpose="title"} 1.0' in page


# -- gateway.toml ---------------------------------------------------------------------------------

FILE = """\
[[route]]
match = "opus"
to = "anthropic:claude-opus-5"

[[rule]]
when = { purpose = "title" }
thinking = { force = "off" }
to = "google:gemini-3-flash-preview"

[[rule]]
when = { client = "claude-code", purpose = "subagent", route = "opus" }
thinking = { cap = 4096 }
"""


@pytest.fixture
def read(tmp_path):
    def read(text: str) -> GatewayConfig:
        path: Path = tmp_path / "gateway.toml"
        path.write_text(text, encoding="utf-8")
        return load(path, load_catalog())

    return read


def test_rules_are_read_from_the_file(read):
    assert read(FILE).rules == (
        PurposeRule(
            RuleMatch("title"), LevelRules(force="off"), ("google:gemini-3-flash-preview",), "title"
        ),
        PurposeRule(
            RuleMatch("subagent", "claude-code", route="opus"),
            LevelRules(cap="4096"),
            name="claude-code-opus-subagent",
        ),
    )


MISTAKES = [
    ('"title"', '"titles"', 6, "unknown purpose 'titles'; did you mean 'title'? use title summary"),
    ('"claude-code"', '"cursor"', 11, "use claude-code codex gemini-cli opencode"),
    ('route = "opus" }', 'route = "opsu" }', 11, "no route is called 'opsu'; did you mean 'opus'?"),
    ('route = "opus" }', 'rout = "opus" }', 11, "did you mean 'route'?"),
    ('{ purpose = "title" }', "{ }", 6, "this rule is for no request"),
    ('when = { purpose = "title" }\n', "", 5, 'write when = { purpose = "title" }'),
    ('{ purpose = "title" }', '"title"', 6, 'write when = { purpose = "title" }'),
    ('force = "off"', 'force = "of"', 7, "of"),
    ('force = "off"', 'forced = "off"', 7, "did you mean 'force'?"),
    ("gemini-3-flash-preview", "gemini-3-flash-preview/high", 8, "names a level"),
    ("google:gemini", "gogle:gemini", 8, "did you mean 'google'?"),
    ('thinking = { force = "off" }\nto', "# to", 5, "this rule does nothing"),
    ("cap = 4096 }", 'cap = 4096 }\nname = "a b"', 13, "invalid name 'a b'"),
    ("cap = 4096 }", 'cap = 4096 }\nname = "title"', 13, "an earlier rule is called 'title' too"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "cure"), MISTAKES)
def test_a_mistake_in_a_rule_names_its_line_and_its_cure(read, right, wrong, line, cure):
    with pytest.raises(BadConfig) as raised:
        read(FILE.replace(right, wrong, 1))
    assert f"gateway.toml:{line}: " in str(raised.value)
    assert cure in str(raised.value)
