"""What commands and signals change is in the gateway's audit log, with who did it."""

import getpass
import json
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import httpx2
import pytest

from pondero.gateway import hash_key
from pondero.gateway.observability.audit_log import AuditEntry
from pondero.gateway.observability.audit_pages import AuditFilter, load_audit_page
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import FILE, SqliteDatabase
from pondero.store import data_folder

ROUTE = '[[route]]\nmatch = "opus"\nto = "anthropic:claude-opus-5"\n'
KEY = f'[[key]]\nname = "ci"\nhash = "{hash_key("a-key")}"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "gate.toml").write_text(f"{ROUTE}{KEY}")
    return str(tmp_path / "gate.toml")


def entries() -> list[AuditEntry]:
    database = SqliteDatabase(Path(data_folder()) / FILE)
    found = load_audit_page(database, AuditFilter()).entries
    database.close()
    return found[::-1]


def test_each_command_that_changes_keys_is_recorded_with_the_user_of_this_machine(call, file):
    assert call("keys", "block", "ci", "--config", file)[0] == 0
    assert call("keys", "unblock", "ci", "--config", file)[0] == 0
    assert call("keys", "rotate", "--config", file)[0] == 0
    made = call("keys", "create", "--gateway", "guest", "--admin", "--config", file)
    assert made[0] == 0

    found = entries()

    assert [(each.action, each.subject) for each in found] == [
        ("key.block", "ci"),
        ("key.unblock", "ci"),
        ("secret.rotate", "envelope_secret"),
        ("key.create", "guest"),
    ]
    for each in found:
        assert (each.actor, each.role, each.how) == (getpass.getuser(), "admin", "local")
        assert each.outcome == "done"
    assert (found[0].before["blocked"], found[0].after["blocked"]) == (False, True)
    assert found[3].after["admin"] is True
    key = made[2].split()[-1]
    assert key.startswith("pnd_")
    assert key not in str(found)
    assert hash_key(key) not in str(found)


def test_a_command_that_is_rejected_is_recorded_too(call, file):
    code, _, err = call("keys", "remove", "--gateway", "ci", "--config", file)

    assert code == 2
    (entry,) = entries()
    assert (entry.action, entry.outcome) == ("key.remove", "rejected")
    assert entry.reason in err


def test_without_a_ledger_a_command_is_in_the_log(call, file, caplog):
    Path(file).write_text(f'[server]\nledger = "off"\n{ROUTE}{KEY}')
    assert call("keys", "block", "ci", "--config", file)[0] == 0
    assert '"action":"key.block"' in caplog.text


def test_what_a_command_did_waits_on_disk_for_a_ledger_that_is_away(call, file, tmp_path):
    Path(file).write_text(f'[server]\nledger = "postgresql://127.0.0.1:1/nowhere"\n{ROUTE}{KEY}')
    assert call("keys", "block", "ci", "--config", file)[0] == 0

    database = SqliteDatabase(tmp_path / "later.db")
    ledger = Ledger(database)  # as the next gateway on this machine does
    for _ in range(600):
        if found := load_audit_page(database, AuditFilter()).entries:
            break
        sleep(0.05)
    ledger.close()
    (entry,) = found
    assert (entry.action, entry.subject) == ("key.block", "ci")


def test_a_configuration_that_cannot_be_read_does_not_keep_a_key_from_being_made(call, file):
    Path(file).write_text("[[route]]\nmatch =")
    code, out, err = call("keys", "create", "--gateway", "ci", "--config", file)
    assert code == 0
    assert "[[key]]" in out
    assert "not in the audit log" in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_running_gateway_records_what_sighup_changed_and_what_it_rejected(file):
    Path(file).write_text(ROUTE)
    command = (sys.executable, "-m", "pondero", "serve", "--offline", "--port", "0")
    with subprocess.Popen(
        [*command, "--config", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2]

        def wait_for(count: int) -> list[dict]:
            for _ in range(600):
                found = httpx2.get(f"{url}/admin/audit").json()["entries"]
                if len(found) == count:
                    return found
                sleep(0.05)
            raise AssertionError("it never came")

        try:
            Path(file).write_text(ROUTE.replace('"opus"', '"sonnet"'))
            process.send_signal(signal.SIGHUP)
            (changed,) = wait_for(1)
            Path(file).write_text("[[route]]\nmatch =")
            process.send_signal(signal.SIGHUP)
            rejected = wait_for(2)[0]
        finally:
            process.kill()
    assert (changed["action"], changed["outcome"]) == ("config.reload", "done")
    assert changed["before"].keys() == {"routes opus"}
    assert changed["after"].keys() == {"routes sonnet"}
    assert (rejected["action"], rejected["outcome"]) == ("config.reload", "rejected")
    assert "gate.toml" in rejected["reason"]
    assert json.dumps(rejected["after"]) == "null"
