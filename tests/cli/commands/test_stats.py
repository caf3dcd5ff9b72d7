"""``pondero stats``: what thinking took."""

import json
import xml.etree.ElementTree as ET
from decimal import Decimal
from time import time

import pytest
from msgspec.structs import replace

from pondero.canon import Message, Origin, Text, Usage
from pondero.cli.commands.stats import chart, load_rows
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.extras import install_hint
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import ledger_database
from pondero.gateway.observability.receipt import Receipt
from pondero.store import StoredMessage, Threads, UsageTotal


@pytest.fixture
def stats(call, data_dir):
    return lambda *arguments: call("stats", *arguments)


@pytest.fixture
def asked(data_dir):
    """Two models at three levels; one of them free of charge, one without a count of thinking."""

    def reply(model, level, usage, **known):
        return StoredMessage(
            Message("assistant", (Text("a"),), Origin("somewhere", model, level)),
            usage=usage,
            **known,
        )

    with Threads.open() as threads:
        id = threads.start(model="m").id
        threads.add(id, [reply("one", "high", Usage(10, 5, None, 20, 80), cost="0.10", seconds=2)])
        threads.add(id, [reply("one", "high", Usage(10, None, None, 20, 80), seconds=1)])
        threads.add(id, [reply("one", None, Usage(1, output=2), cost="0.05")])
        threads.add(id, [reply("two", "high", Usage(1, None, None, 3, 4))])


def test_tokens_money_and_seconds_by_model_and_level(stats, asked):
    rows = json.loads(stats("--json")[1])["rows"]
    assert [(row["model"], row["level"]) for row in rows] == [
        ("somewhere:one", "high"),
        ("somewhere:two", "high"),
        ("somewhere:one", "unset"),
    ]
    assert rows[0] == {
        "model": "somewhere:one",
        "level": "high",
        "turns": 2,
        "replies": 2,
        "input": 20,
        "cached": 5,
        "thinking": 160,
        "output": 40,
        "cost": "0.10",
        "priced": 1,
        "seconds": 3.0,
        "timed": 2,
    }
    assert (rows[1]["cost"], rows[2]["thinking"]) == (None, None)


def test_rows_are_added_up_by_one_of_the_two(stats, asked):
    by_model = json.loads(stats("--by", "model", "--json")[1])["rows"]
    assert [(row["model"], row["level"], row["turns"], row["cost"]) for row in by_model] == [
        ("somewhere:one", None, 3, "0.15"),
        ("somewhere:two", None, 1, None),
    ]
    by_level = json.loads(stats("--by", "level", "--json")[1])["rows"]
    assert [(row["model"], row["level"], row["thinking"]) for row in by_level] == [
        (None, "high", 164),
        (None, "unset", None),
    ]


def test_the_table_says_what_is_not_known(stats, asked, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    code, out, err = stats()
    assert (code, err) == (0, "")
    one, two, unset = (line.split() for line in out.splitlines() if "somewhere" in line)
    assert one[1:] == ["2", "25", "160", "40", "80%", "at", "least", "$0.1", "3.0"]
    assert two[1:] == ["1", "1", "4", "3", "57%", "unknown"]
    assert unset[1:] == ["1", "1", "unknown", "2", "$0.05"]


@pytest.mark.parametrize("width", [120, 80, 60])
def test_on_a_narrow_screen_names_and_figures_stay_whole(stats, data_dir, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    origin = Origin("anthropic", "claude-sonnet-4-5", "medium")
    usage = Usage(1_234_567, None, None, 22_222, 333_333)
    with Threads.open() as threads:
        id = threads.start(model="m").id
        threads.add(id, [StoredMessage(Message("assistant", (Text("a"),), origin), usage=usage)])
    out = stats()[1]
    for word in ("claude-sonnet-4-5/medium", "thinking", "333,333", "answer", "22,222", "unknown"):
        assert word in out
    assert max(map(len, out.splitlines())) <= width


def test_at_80_columns_names_are_whole_turns_are_counted_and_the_rest_is_said(
    stats, data_dir, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    origin = Origin("google", "gemini-3-flash-preview", "high")
    with Threads.open() as threads:
        id = threads.start(model="m").id
        stored = StoredMessage(Message("assistant", (Text("a"),), origin), usage=Usage(9, output=8))
        threads.add(id, [stored])
    _, out, err = stats()
    assert "google:gemini-3-flash-preview/high" in out
    assert "turns" in out
    assert "a wider terminal also shows: " in err
    assert not set(err.partition("shows: ")[2].strip().split(", ")) & set(out.split())


def test_nothing_was_paid_for_offline_runs_and_what_they_would_have_cost_is_shown(
    call, stats, served, data_dir
):
    ledger = Ledger(ledger_database("sqlite"))
    usage = Usage(10, None, None, 20, 80)
    ledger.note(
        Receipt(
            id="9",
            at=time(),
            key="ci",
            front="chat",
            provider="p",
            model="two",
            usage=usage,
            cost=Decimal("0.5"),
            offline=True,
        )
    )
    ledger.close()
    _, out, err = stats("--offline")
    assert ("p:two" in out, "would have cost" in out, "$0.5" in out) == (True, True, True)
    assert "nothing is paid" in err
    (row,) = json.loads(stats("--offline", "--json")[1])["rows"]
    assert (row["cost"], row["would_have_cost"]) == (None, "0.5")
    _, out, err = stats()
    assert ("cost" in out, "nothing is paid" in err) == (True, False)
    assert "would have" not in out + stats("--json")[1]

    call("ask", "--offline", "claude-opus-5/high", "What is 17 * 23?")
    out = stats("--offline", "--only", "threads")[1]
    assert ("claude" in out, "cost" in out, "$" in out) == (True, False, False)


def test_nothing_asked_is_said(stats):
    assert stats() == (0, "", "no answers of services yet\n")
    assert stats("--days", "7") == (0, "", "no answers of services in 7 days\n")
    assert json.loads(stats("--json")[1]) == {"days": None, "by": None, "rows": []}
    assert stats("--days", "0")[0] == 2


def test_days_are_counted_from_now(stats, asked):
    assert len(json.loads(stats("--days", "1", "--json")[1])["rows"]) == 3
    assert json.loads(stats("--days", "1e-9", "--json")[1])["rows"] == []


def test_a_chart_is_written(stats, asked, tmp_path):
    file = tmp_path / "thinking.svg"
    code, out, err = stats("--svg", str(file))
    assert (code, out) == (0, "")
    assert str(file) in err
    picture = ET.fromstring(file.read_text())
    space = "{http://www.w3.org/2000/svg}"
    bars = [bar for bar in picture.iter(f"{space}rect") if bar.get("height") == "16"]
    assert len(bars) == 6
    widths = [float(bar.get("width")) for bar in bars]
    assert widths[0] == pytest.approx(4 * widths[1], abs=0.3)
    right = max(float(bar.get("x")) + float(bar.get("width")) for bar in bars)
    assert right <= float(picture.get("width"))


def test_a_chart_overwrites_nothing_without_force(stats, asked, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    code, out, err = stats("--svg", str(file))
    assert (code, out) == (2, "")
    assert f"{file} exists; add --force to overwrite it" in err
    assert file.read_text() == "mine"
    assert stats("--svg", str(file), "--force")[0] == 0
    assert file.read_text().startswith("<svg")


@pytest.mark.parametrize("name", ["<&\"'>", "x" * 200, "Zürich"])
def test_a_chart_is_well_formed_whatever_the_names(name):
    row = UsageTotal(name, name, 1, 1, 1, 1, 1, 1, "1", 1, 1.0, 1)
    ET.fromstring(chart(load_rows([row], by=None), name))
    ET.fromstring(chart([], name))


def test_a_plot_is_drawn_on_a_terminal_and_nowhere_else(stats, asked, monkeypatch, capsys):
    pytest.importorskip("plotext")
    from pondero.cli.commands.stats import print_plot

    with Threads.open() as threads:
        rows = load_rows(threads.stats(), by=None)
    print_plot(rows, "Tokens")
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_plot(rows, "Tokens")
    out = capsys.readouterr().out
    assert "█ thinking  ▒ answer" in out
    first = next(line for line in out.splitlines() if "somewhere:one/high" in line)
    assert first.count("█") > first.count("▒") > 0
    assert "\x1b" not in out


def test_without_plotext_the_table_is_all_there_is(asked, monkeypatch, capsys):
    from pondero.cli.commands.stats import print_plot

    monkeypatch.setitem(__import__("sys").modules, "plotext", None)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_plot([], "Tokens")
    assert install_hint("tui") in capsys.readouterr().err


def test_offline_runs_are_left_out_and_said_to_be_and_shown_when_asked_for(call, stats, asked):
    before = stats("--json")[1]
    call("ask", "--offline", "claude-opus-5/high", "What is 17 * 23?")
    assert stats("--json")[1] == before
    code, out, err = stats()
    assert (code, "claude" in out) == (0, False)
    assert "1 offline answer is not counted (--offline shows them)" in err
    (row,) = json.loads(stats("--offline", "--json")[1])["rows"]
    assert (row["model"], row["level"], row["replies"]) == ("anthropic:claude-opus-5", "high", 1)
    assert "offline" in call("threads", "show", "last")[1]


def test_an_offline_run_stays_one_through_export_import_and_fork(call, stats, data_dir, tmp_path):
    call("ask", "--offline", "claude-opus-5/high", "What is 17 * 23?")
    file = tmp_path / "talk.jsonl"
    call("threads", "export", "last", "--to", str(file))
    call("threads", "delete", "last", "--yes")
    call("threads", "import", str(file))
    assert json.loads(stats("--json")[1])["rows"] == []
    assert len(json.loads(stats("--offline", "--json")[1])["rows"]) == 1


def test_an_answer_of_a_service_counts(call, stats, data_dir, monkeypatch):
    with run_emulator_in_thread(Emulator()) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
        call("ask", "claude-opus-5/high", "What is 17 * 23?")
    assert len(json.loads(stats("--json")[1])["rows"]) == 1
    assert json.loads(stats("--offline", "--json")[1])["rows"] == []


@pytest.fixture
def served(data_dir):
    """Two requests of one key through a gateway, and one that nobody answered."""
    receipt = Receipt(
        id="1",
        at=time(),
        key="ci",
        front="chat",
        provider="somewhere",
        model="one",
        sent="high",
        usage=Usage(10, None, None, 20, 80),
        cost=Decimal("0.25"),
        seconds=2.0,
    )
    ledger = Ledger(ledger_database("sqlite"))
    ledger.note(receipt)
    ledger.note(replace(receipt, id="2", key="you", sent="low"))
    ledger.note(replace(receipt, id="3", end="failed", usage=Usage()))
    ledger.close()


def test_the_ledger_of_the_gateway_is_counted_beside_the_threads(stats, asked, served):
    both, threads, gateway = (
        {(row["model"], row["level"]): row for row in json.loads(stats("--json", *only)[1])["rows"]}
        for only in ((), ("--only", "threads"), ("--only", "gateway"))
    )
    here = ("somewhere:one", "high")
    assert (threads[here]["thinking"], threads[here]["cost"]) == (160, "0.10")
    assert (gateway[here]["thinking"], gateway[here]["cost"]) == (80, "0.25")
    assert (both[here]["thinking"], both[here]["cost"], both[here]["replies"]) == (240, "0.35", 3)
    assert set(gateway) == {here, ("somewhere:one", "low")}


def test_who_asked_is_a_line_of_its_own(stats, asked, served):
    rows = json.loads(stats("--json", "--by", "key")[1])["rows"]
    assert {row["key"]: row["replies"] for row in rows} == {"threads": 4, "ci": 1, "you": 1}
    assert "ci" in stats("--by", "key")[1]


def test_the_group_of_a_key_is_a_line_of_its_own(stats, asked, served):
    ledger = Ledger(ledger_database("sqlite"))
    receipt = Receipt(id="4", at=time(), key="ci", front="chat", provider="somewhere", model="one")
    for number, key in enumerate(("ci", "you", "another")):
        usage, cost = Usage(10, None, None, 2, 8), Decimal("0.5")
        more = {"id": f"4{number}", "key": key, "group": "research", "usage": usage, "cost": cost}
        ledger.note(replace(receipt, **more))
    ledger.close()

    rows = json.loads(stats("--json", "--by", "group")[1])["rows"]

    found = {row["group"]: (row["replies"], row["cost"]) for row in rows}
    assert found == {"threads": (4, "0.15"), "no group": (2, "0.50"), "research": (3, "1.5")}
    assert "research" in stats("--by", "group")[1]
    assert all("group" not in row for row in json.loads(stats("--json", "--by", "key")[1])["rows"])


def test_a_ledger_that_is_away_is_said_and_the_threads_are_shown(stats, asked, config_dir):
    (config_dir / "gateway.toml").write_text('[server]\nledger = "postgresql://127.0.0.1:1/none"\n')
    code, out, err = stats()
    assert code == 0
    assert "one/high" in out
    assert "without the gateway's ledger: the ledger in PostgreSQL failed" in err
    assert stats("--config", str(config_dir / "gateway.toml"))[0] != 0


def test_reading_begins_no_ledger(stats, asked, data_dir):
    assert stats()[0] == 0
    assert not (data_dir / "gateway.db").exists()
