"""``pondero serve``: what would be served, what to type next, and what must not start."""

import json
import os
import shlex
import signal
import subprocess
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from time import sleep, time

import httpx2
import pytest
from tests.gateway.redis_server import redis_server

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.extras import install_hint
from pondero.gateway import GatewayConfig, Routing, hash_key
from pondero.gateway.requests.model_list import answer_model_list
from pondero.store import load_catalog
from pondero.transport import aws_signing

ROUTES = """\
[server]
port = 9123

[[route]]
match = "opus"
to = ["anthropic:claude-opus-5", "bedrock:anthropic.claude-opus-5-v1:0"]
thinking = { default = "medium", floor = "low", cap = "high" }

[[route]]
match = "claude-*"
to = "google:gemini-3-flash-preview"
"""
KEY = f'\n[[key]]\nname = "ci"\nhash = "{hash_key("a-key")}"\nmodels = ["opus"]\n'


@pytest.fixture(autouse=True)
def _no_cloud(monkeypatch, tmp_path):
    """No credentials but those a test sets."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    aws_signing._session.cache_clear()
    yield
    aws_signing._session.cache_clear()


@pytest.fixture
def served(monkeypatch, tmp_path):
    """Return what would be served, without serving it."""
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))
    calls: list[tuple[GatewayConfig, object]] = []

    def stand_in(config, *, transport=None, ready=None):
        calls.append((config, transport))
        ready(f"http://{config.server.host}:{config.server.port}")

    monkeypatch.setattr("pondero.gateway.run", stand_in)
    return calls


def written(tmp_path: Path, text: str) -> str:
    (tmp_path / "gate.toml").write_text(text)
    return str(tmp_path / "gate.toml")


def test_the_first_screen_says_what_to_type_next(call, served):
    code, out, _ = call("serve", "--offline")

    assert code == 0
    assert "Serving at http://127.0.0.1:8787" in out
    for line in (
        "  export ANTHROPIC_BASE_URL=http://127.0.0.1:8787 ANTHROPIC_AUTH_TOKEN=any",
        "    -c model_providers.pondero.base_url=http://127.0.0.1:8787/v1 \\",
        "  export OPENAI_BASE_URL=http://127.0.0.1:8787/v1 OPENAI_API_KEY=any",
    ):
        assert line in out.splitlines()
    assert max(map(len, out.splitlines())) <= 80


def test_the_first_screen_names_the_process_that_a_signal_goes_to(call, served, tmp_path):
    line = f"Process id {os.getpid()}"
    out = call("serve", "--offline", "--config", written(tmp_path, ROUTES))[1]

    if hasattr(signal, "SIGHUP"):
        assert f"{line}: 'kill -HUP {os.getpid()}' reads the file again." in out.splitlines()
    assert f"{line}." in call("serve", "--offline")[1].splitlines(), "there is no file to read"


def test_the_launch_that_it_names_finds_the_same_models(call, tmp_path, served, monkeypatch):
    file = written(tmp_path, ROUTES)
    monkeypatch.chdir(tmp_path)
    _, out, _ = call("serve", "--offline", "--config", "gate.toml")
    line = next(line for line in out.splitlines() if line.startswith("  pondero launch"))

    assert shlex.split(line) == [
        *("pondero", "launch", "claude", "-m", "opus/high"),
        *("--config", file, "--offline"),
    ]
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-mine")  # without one it names no launch
    _, out, _ = call("serve")
    line = next(line for line in out.splitlines() if line.startswith("  pondero launch"))
    assert "--" not in line


def test_a_check_shows_each_group_its_keys_and_what_they_may_take_together(call, tmp_path, served):
    group = '\n[[group]]\nname = "research"\nthinking = { cap = "low" }\n'
    group += "budget = { cost = 200 }\nlimit = { requests = 9 }\n"
    file = written(tmp_path, f'{ROUTES}{KEY}group = "research"\n{group}')

    code, out, _ = call("serve", "--offline", "--check", "--config", file)

    assert code == 0
    said = (
        "group research: ci; thinking: at most low; together at most 9 requests per minute, "
        "$200.00 per month"
    )
    assert said in " ".join(out.split())
    assert "key ci of group research: opus" in " ".join(out.split())


def test_the_list_that_codex_is_told_to_fetch_describes_the_model_it_is_told_to_ask(call, served):
    _, out, _ = call("serve", "--offline")
    lines = out.replace("\\\n", "").splitlines()
    curl = next(line for line in lines if line.startswith("  curl"))
    codex = shlex.split(next(line for line in lines if line.startswith("  codex")))
    said = dict(value.split("=", 1) for flag, value in pairwise(codex) if flag == "-c")
    words = shlex.split(curl)

    assert said["model_catalog_json"] == f"$PWD/{words[words.index('-o') + 1]}"
    url = next(word for word in words if word.startswith("http"))
    routing = Routing(served[0][0], load_catalog())
    found = answer_model_list(HttpRequest("GET", url, {"authorization": "Bearer any"}), routing)
    known = {model["slug"]: model for model in json.loads(found.body)["models"]}
    assert known[said["model"]]["supported_reasoning_levels"]


def test_offline_puts_the_emulator_behind_and_opens_every_provider(call, served):
    call("serve", "--offline")
    config, transport = served[0]

    assert isinstance(transport, Emulator)
    assert {"anthropic", "google", "ollama"} <= config.open


def test_without_a_file_those_that_have_a_key_are_served(call, served, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-mine")
    code, _, err = call("serve", "--port", "9")
    config, transport = served[0]

    assert (code, err, transport) == (0, "", None)
    assert config.server.port == 9
    assert "google" in config.open
    assert "anthropic" not in config.open


def test_without_any_key_it_says_so(call, served):
    _, out, err = call("serve")
    assert "no provider has a key here" in err
    assert "'pondero keys set anthropic' keeps a key" in " ".join(out.split())
    assert "claude --model" not in out  # no client can be answered


def test_the_file_is_found_and_the_command_line_wins(call, served, tmp_path):
    (tmp_path / "gateway.toml").write_text(ROUTES)
    code, out, err = call("serve", "--workers", "3", "--host", "::1")
    config = served[0][0]

    assert code == 0
    assert (config.server.port, config.server.workers, config.server.host) == (9123, 3, "::1")
    assert "claude --model opus" in out
    assert "Anthropic needs a key" in err


def test_a_key_that_is_asked_for_is_named_on_the_first_screen(call, served, tmp_path):
    out = call("serve", "--offline", "--config", written(tmp_path, ROUTES + KEY))[1]

    assert "ANTHROPIC_AUTH_TOKEN=YOUR_KEY" in out


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_a_wrong_file_starts_nothing(call, served, tmp_path, check):
    path = written(tmp_path, ROUTES.replace('"high"', '"hihg"'))
    code, out, err = call("serve", "--config", path, *check)

    assert (code, out, served) == (2, "", [])
    assert err.startswith(f"pondero: {path}:7: unknown level 'hihg'; did you mean 'high'?")


@pytest.mark.parametrize("rule", ["default", "force"])
@pytest.mark.parametrize("check", [(), ("--check",)])
def test_a_calibration_that_is_not_there_starts_nothing(
    call, served, tmp_path, config_dir, check, rule
):
    route = (
        f'[[route]]\nmatch = "x"\nto = "claude-opus-5"\nthinking = {{ {rule} = "auto:nosuch" }}\n'
    )
    path = written(tmp_path, route)
    code, out, err = call("serve", "--offline", "--config", path, *check)

    assert (code, out, served) == (2, "", [])
    assert err.startswith(f"pondero: {path}:4: no calibration is called 'nosuch'")


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_other_machines_come_in_only_with_a_key(call, served, tmp_path, check):
    code, _, err = call("serve", "--offline", "--host", "0.0.0.0", *check)
    assert code == 2
    assert "any machine could use this gateway without a key" in err
    assert "provider keys" not in err  # offline, none is used
    assert "pondero keys create --gateway" in err
    assert served == []

    path = written(tmp_path, ROUTES + KEY)
    assert call("serve", "--offline", "--host", "0.0.0.0", "--config", path, *check)[0] == 0


def test_a_gateway_that_would_ask_itself_does_not_start(call, served, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:9123")
    code, _, err = call("serve", "--config", written(tmp_path, ROUTES))

    assert (code, served) == (2, [])
    assert "the address of Anthropic is this gateway's own; unset ANTHROPIC_BASE_URL" in err


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_a_redis_that_evicts_is_told(call, served, tmp_path, check):
    """In one line; a Redis that does not say it, or is not there, is no reason to talk."""
    with redis_server(tmp_path) as redis:
        state = f'state = "{redis.url}"\nport = 9123'
        path = written(tmp_path, ROUTES.replace("port = 9123", state) + KEY)
        asked = ("serve", "--offline", "--config", path, *check)
        assert call(*asked)[2] == ""
        redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        code, _, err = call(*asked)
        assert code == 0
        (line,) = err.splitlines()
        assert "maxmemory-policy allkeys-lru and may remove counts; set it to noeviction" in line
        redis.command("ACL", "SETUSER", "default", "-config")
        assert call(*asked)[2] == ""
    assert call(*asked)[2] == ""


def test_check_prints_what_would_be_served_and_ends(call, served, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-mine")
    path = written(tmp_path, ROUTES + KEY)
    code, out, err = call("serve", "--config", path, "--check")

    assert served == []
    assert out.splitlines() == [
        f"{path} is right, but cannot serve everything yet. On http://127.0.0.1:9123 it serves:",
        "  opus      anthropic:claude-opus-5, then bedrock:anthropic.claude-opus-5-v1:0",
        "            thinking: default medium, at least low, at most high",
        "  claude-*  google:gemini-3-flash-preview",
        "  key ci: opus",
    ]
    assert "Google needs a key: set GEMINI_API_KEY" in err
    assert "Amazon Bedrock needs a key or credentials: set AWS_BEARER_TOKEN_BEDROCK" in err
    assert "a-key-of-mine" not in out + err
    assert code == 1, "a provider of it has no key"

    monkeypatch.setenv("GEMINI_API_KEY", "another-key")
    assert call("serve", "--config", path, "--check")[0] == 1, "nor has Bedrock"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    code, out, err = call("serve", "--config", path, "--check")
    assert (code, err) == (0, "")
    assert out.startswith(f"{path} is right. On ")


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (
            "cost = 0.02",
            "is too small for requests to anthropic:claude-opus-5 that ask for more than",
        ),
        ("cost = 0.5", "covers answers of 20,000 tokens on anthropic:claude-opus-5: longer ones"),
        ("thinking_tokens = 3000", "covers 3,000 thinking tokens: a request that may think more"),
    ],
)
def test_check_says_what_a_small_budget_does_to_requests(call, served, tmp_path, budget, said):
    path = written(tmp_path, f"{ROUTES}{KEY}budget = {{ {budget} }}\n")
    out = call("serve", "--config", path, "--check", "--offline")[1]

    assert f"its budget {said}" in out


DEPLOYED = """\
[[deployment]]
name = "eu"
provider = "anthropic"
limit = { tokens = 80_000 }

[[route]]
match = "opus"
to = "eu:claude-opus-5"
"""
LONE = "may take all {} tokens of a minute: a request without a lower max_tokens runs alone"


@pytest.mark.parametrize(
    ("rows", "limit"),
    [
        (f"{ROUTES}{KEY}limit = {{ tokens = 50_000 }}\n", "50,000"),
        (
            f'{ROUTES}{KEY}group = "g"\n[[group]]\nname = "g"\nlimit = {{ tokens = 60_000 }}\n',
            "60,000",
        ),
        (
            '[[route]]\nmatch = "opus"\nto = "anthropic:claude-opus-5"\nlimit = { tokens = 70_000 }\n',
            "70,000",
        ),
        (
            DEPLOYED,
            "80,000",
        ),
    ],
)
def test_check_says_of_which_models_one_answer_may_take_a_whole_limit(
    call, served, tmp_path, rows, limit
):
    out = call("serve", "--config", written(tmp_path, rows), "--check", "--offline")[1]

    assert f"one answer of anthropic:claude-opus-5 {LONE.format(limit)}" in " ".join(out.split())


def test_check_says_nothing_of_a_limit_that_covers_every_answer(call, served, tmp_path):
    path = written(tmp_path, f"{ROUTES}{KEY}limit = {{ tokens = 5_000_000 }}\n")
    assert "runs alone" not in call("serve", "--config", path, "--check", "--offline")[1]


def test_check_lists_keys_also_without_routes(call, served, tmp_path):
    path = written(tmp_path, KEY.replace('["opus"]', "[]"))

    assert "key ci: no model" in call("serve", "--config", path, "--check", "--offline")[1]


def test_check_lists_the_hooks_in_their_order(call, served, tmp_path):
    hooks = (
        '[[hook]]\nuse = "pondero.gateway:Hook"\nname = "mask"\n'
        '[[hook]]\nuse = "pondero.gateway:Hook"\nname = "cache"\nroutes = ["opus", "claude-*"]\n'
        'keys = ["ci"]\non_failure = "skip"\n'
    )
    path = written(tmp_path, f"{ROUTES}{KEY}{hooks}")
    out = call("serve", "--config", path, "--check", "--offline")[1]

    assert out.splitlines()[-2:] == [
        "  hook mask: all routes; all keys",
        "  hook cache: routes opus, claude-*; keys ci; skipped if it fails",
    ]


def test_budgets_that_a_restart_forgets_are_told(call, served, tmp_path):
    text = ROUTES + KEY + 'budget = { cost = 5, per = "month" }\n'
    for start in (("--check", "--offline"), ("--offline",)):
        code, _, err = call("serve", "--config", written(tmp_path, text), *start)
        assert (code, err) == (0, ""), "the ledger keeps them"
        forgetful = text.replace("port = 9123", 'port = 9123\nledger = "off"')
        code, _, err = call("serve", "--config", written(tmp_path, forgetful), *start)
        assert code == 0
        assert "the budgets of key ci begin again with each start" in " ".join(err.split())
        unbound = forgetful.replace("budget = { cost = 5, per", "limit = { requests = 5, per")
        path = written(tmp_path, unbound.replace('"month"', '"minute"'))
        assert call("serve", "--config", path, *start)[2] == ""


def test_workers_that_do_not_share_the_homes_of_conversations_are_told(call, served, tmp_path):
    accounts = "".join(
        f'[[deployment]]\nname = "{name}"\nprovider = "anthropic"\nkey = "env:{name.upper()}_KEY"\n'
        for name in ("eu", "us")
    )
    pool = '[[route]]\nmatch = "pool"\nto = ["eu:claude-opus-5", "us:claude-opus-5"]\n'

    def warn(text: str, *more: str) -> str:
        code, _, err = call(
            "serve", "--config", written(tmp_path, text), "--check", "--offline", *more
        )
        assert code == 0, err
        return " ".join(err.split())

    told = "warning: conversations of pool change their account when they reach another worker"
    assert told in warn(ROUTES + accounts + pool, "--workers", "2")
    assert warn(ROUTES + accounts + pool) == ""
    assert warn(ROUTES + accounts + pool + 'balance = "spread"\n', "--workers", "2") == ""
    assert warn(ROUTES, "--workers", "2") == ""
    shared = ROUTES.replace("port = 9123", 'port = 9123\nstate = "redis://127.0.0.1:1/0"')
    assert told not in warn(shared + accounts + pool, "--workers", "2")


def test_check_names_the_extra_that_a_route_needs(call, served, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-mine")
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    path = written(tmp_path, ROUTES[: ROUTES.rindex("[[route]]")])
    code, _, err = call("serve", "--config", path, "--check")

    assert (code, served) == (1, [])
    assert install_hint("bedrock") in err
    assert call("serve", "--config", path, "--check", "--offline")[0] == 0


def test_check_without_a_file_lists_the_providers(call, served, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-mine")
    code, out, _ = call("serve", "--check")

    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert "as ollama:NAME, if that server is running" in rows["ollama"]
    column = rows["ollama"].index("as ollama")
    for name in ("google", "google-interactions"):
        assert rows[name].index("such as") == column
    assert "gemini-3" in rows["google"]
    assert "tts" not in rows["google"]  # models that talk and think come first


@pytest.mark.parametrize("library", ["uvicorn", "aiohttp"])
def test_a_missing_extra_gets_the_line_that_installs_it(library):
    code = f"import sys; sys.modules['{library}'] = None\nfrom pondero.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--offline", "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert install_hint("gateway") in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.fixture
def running(tmp_path):
    """A gateway in a process of its own: where it is, and the process."""
    path = written(tmp_path, ROUTES)
    main = "from pondero.cli import main; main()"
    command = [sys.executable, "-c", main, "serve", "--offline", "--port", "0", "--config", path]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process.stdout.readline().split()[2], process
        process.kill()


def names_at(url: str) -> list[str]:
    with httpx2.Client() as client:
        return [each["id"] for each in client.get(f"{url}/v1/models").json()["data"]]


def until(true) -> None:
    for _ in range(600):
        if true():
            return
        sleep(0.05)
    raise AssertionError("it never came true")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_changed_file_is_read_on_sighup_and_a_wrong_one_changes_nothing(running, tmp_path):
    url, process = running
    assert "sonnet" not in names_at(url)

    written(tmp_path, ROUTES.replace('"opus"', '"sonnet"'))
    process.send_signal(signal.SIGHUP)
    until(lambda: "sonnet" in names_at(url))
    told = next(line for line in process.stderr if not line.startswith("{"))  # no access log
    at, _, told = told.partition(" ")
    assert abs(datetime.fromisoformat(at).timestamp() - time()) < 60  # in UTC, as in the access log
    assert told == "configuration reloaded; changed: routes opus, routes sonnet\n"

    alerts = "\n[alerts]\nerror_share = 0.3\n"
    said_of = {"": "nothing changed yet: ", alerts: "changed: alerts.error_share; "}
    for more, said in said_of.items():
        other = ROUTES.replace('"opus"', '"sonnet"') + more
        written(tmp_path, other.replace("port = 9123", 'port = 9124\nlog = "off"'))
        process.send_signal(signal.SIGHUP)
        told = next(line for line in process.stderr if not line.startswith("{"))
        # The port is from the command line, so the file's is no change.
        assert told.endswith(f" configuration reloaded; {said}server.log needs a restart\n")

    written(tmp_path, ROUTES.replace('"opus"', '"opsu"').replace('"high"', '"hihg"'))
    process.send_signal(signal.SIGHUP)
    told = next(line for line in process.stderr if not line.startswith("{"))  # no access log
    assert "the configuration stays as it was" in told
    assert ":7: unknown level 'hihg'" in told
    assert "sonnet" in names_at(url)

    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    assert process.stderr.read().endswith("stopped; open answers were finished\n")


# -- --check and the start agree -------------------------------------------------------------------

_LIMITED = '[[route]]\nmatch = "opus"\nto = "anthropic:claude-opus-5"\nlimit = { requests = 3 }\n'
_KEYED = f'[server]\nhost = "0.0.0.0"\nstate = "env:NO_STATE"\n{KEY.replace("opus", "*")}'
_DEPLOYED = (Path(__file__).parents[3] / "deploy" / "gateway.toml").read_text("utf-8")

# Each: the file, the variables, the options, and the line and words of the error.
BAD = {
    "not_toml": ("[server", {}, (), 1, "gate.toml"),
    "unknown_setting": ("[server]\nprot = 1\n", {}, (), 2, "unknown setting 'prot'"),
    "exposed": ('[server]\nhost = "0.0.0.0"\n', {}, (), 2, "any machine could use"),
    "exposed_by_option": (_LIMITED, {}, ("--host", "0.0.0.0"), None, "any machine could use"),
    "itself_in_the_file": (
        '[provider.anthropic]\nurl = "http://127.0.0.1:8787"\n' + _LIMITED,
        {},
        (),
        2,
        "is this gateway's own; write that of the service",
    ),
    "itself_by_a_variable": (
        _LIMITED,
        {"ANTHROPIC_BASE_URL": "http://localhost:8787"},
        (),
        None,
        "unset ANTHROPIC_BASE_URL",
    ),
    "itself_by_an_option": (
        _LIMITED,
        {"ANTHROPIC_BASE_URL": "http://localhost:9999"},
        ("--port", "9999"),
        None,
        "unset ANTHROPIC_BASE_URL",
    ),
    "no_port": (_LIMITED, {"ANTHROPIC_BASE_URL": "http://a.test:port"}, (), None, "invalid"),
    "workers": ("[server]\nworkers = 2\n" + _LIMITED, {}, (), 6, "would count the limit of"),
    "workers_by_option": (_LIMITED, {}, ("--workers", "2"), 4, "would count the limit of"),
    "state_unset": (_KEYED, {}, (), 3, "state: env:NO_STATE is not set"),
    "state_of_words": (_KEYED, {"NO_STATE": "memory"}, (), 3, "is not an address"),
    "state_elsewhere": (_KEYED, {"NO_STATE": "http://me:pw@a.test"}, (), 3, "is not an address"),
    "state_without_a_host": (_KEYED, {"NO_STATE": "redis://"}, (), 3, "is not an address"),
    "ledger_unset": ('[server]\nledger = "env:NO_LEDGER"\n', {}, (), 2, "env:NO_LEDGER is not set"),
    "ledger_elsewhere": (
        '[server]\nledger = "env:NO_LEDGER"\n',
        {"NO_LEDGER": "mysql://me:pw@a.test/b"},
        (),
        2,
        "is not an address that begins with postgresql:// or postgres://",
    ),
    "ledger_with_a_slash_in_the_password": (
        '[server]\nledger = "env:NO_LEDGER"\n',
        {"NO_LEDGER": "postgresql://me:a/pw@a.test/b"},
        (),
        2,
        "; a password in it needs %2F for /",
    ),
    "deployed_without_variables": (_DEPLOYED, {}, (), 4, "env:PONDERO_STATE is not set"),
    "deployed_without_a_ledger": (
        _DEPLOYED,
        {"PONDERO_STATE": "redis://:pw@redis:6379/0"},
        (),
        5,
        "env:PONDERO_LEDGER is not set",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_check_says_what_the_start_says(name, call, tmp_path, monkeypatch):
    text, variables, options, line, words = BAD[name]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)

    def bind(*_):
        pytest.fail("the gateway started")

    monkeypatch.setattr("pondero.gateway.server.run.bind", bind)
    serve = ("serve", "--config", written(tmp_path, text), *options)
    started = call(*serve)
    checked = call(*serve, "--check")
    assert checked == started
    code, out, err = checked
    assert (code, out) == (2, "")
    assert words in err
    assert "pw@" not in err
    if line is not None:
        assert f"gate.toml:{line}: " in err


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        (_LIMITED, {}),
        (_KEYED, {"NO_STATE": "rediss://:pw@a.test:6379/0"}),
        (_KEYED, {"NO_STATE": "unix:///run/redis.sock"}),
        ('[server]\nledger = "env:NO_LEDGER"\n', {"NO_LEDGER": "off"}),
        (
            _DEPLOYED,
            {"PONDERO_STATE": "redis://redis:6379/0", "PONDERO_LEDGER": "postgresql:///db?host=a"},
        ),
    ],
)
def test_a_right_configuration_passes_both(text, variables, call, tmp_path, monkeypatch):
    for variable, value in {**variables, "ANTHROPIC_API_KEY": "a", "GEMINI_API_KEY": "b"}.items():
        monkeypatch.setenv(variable, value)

    class Started(Exception):
        pass

    def bind(*_):
        raise Started

    monkeypatch.setattr("pondero.gateway.server.run.bind", bind)
    serve = ("serve", "--config", written(tmp_path, text))
    assert call(*serve, "--check")[0] == 0
    assert "Started" in call(*serve)[2]


def test_check_says_which_accounts_are_equal_and_which_one_comes_next(call, served, tmp_path):
    rows = "".join(
        f'[[deployment]]\nname = "{name}"\nprovider = "anthropic"\nweight = {weight}\n'
        for name, weight in (("eu", 3), ("us", 1))
    )
    models = '["eu:claude-opus-5", "bedrock:anthropic.claude-opus-5-v1:0", "us:claude-opus-5"]'
    routes = "".join(
        f'[[route]]\nmatch = "{balance}"\nto = {models}\nbalance = "{balance}"\n'
        for balance in ("sticky", "spread", "order")
    )
    path = written(tmp_path, rows + routes)
    out = call("serve", "--config", path, "--check", "--offline")[1].splitlines()

    last = ", then bedrock:anthropic.claude-opus-5-v1:0"
    for balance in ("sticky", "spread"):
        assert f"  {balance}  eu:claude-opus-5 (3) or us:claude-opus-5 (1){last}" in out
    assert f"  order   eu:claude-opus-5, then us:claude-opus-5{last}" in out


def test_a_gateway_for_all_addresses_names_one_that_clients_can_use(call, served, tmp_path):
    code, out, _ = call(
        "serve", "--offline", "--config", written(tmp_path, ROUTES + KEY), "--host", "0.0.0.0"
    )
    assert code == 0
    assert "0.0.0.0" not in out
    assert "export OPENAI_BASE_URL=http://127.0.0.1:9123/v1" in out
    assert "Other machines use the name of this one" in out
    assert "with an admin key: http://127.0.0.1:9123/console" in out
    assert "pondero keys create --gateway --admin NAME" in out


def test_check_names_the_deployment_whose_key_is_missing(call, served, tmp_path, monkeypatch):
    rows = "".join(
        f'[[deployment]]\nname = "{name}"\nprovider = "openai"\nkey = "env:KEY_{name.upper()}"\n'
        for name in ("north", "south")
    )
    route = '[[route]]\nmatch = "pool"\nto = ["north:gpt-5.5", "south:gpt-5.5"]\n'
    monkeypatch.setenv("KEY_SOUTH", "the-key-of-south")
    code, out, err = call("serve", "--config", written(tmp_path, rows + route), "--check")

    assert (code, served) == (1, [])
    assert "deployment north: openai, weight 1" in out
    assert f"{tmp_path / 'gate.toml'}:4: deployment north: env:KEY_NORTH is not set" in err
    assert "KEY_SOUTH" not in err
    assert "the-key-of-south" not in out + err


def test_check_says_where_a_variable_that_is_missing_is_named(call, served, tmp_path, monkeypatch):
    own = '[provider.anthropic]\nkey = "env:NOPE"\n'
    path = written(tmp_path, own + _LIMITED)
    code, out, err = call("serve", "--config", path, "--check")

    assert code == 1
    assert f"{path} is right, but cannot serve anything yet" in out
    assert f"{path}:2: env:NOPE is not set; set that variable" in " ".join(err.split())
    monkeypatch.setenv("NOPE", "")
    assert f"{path}:2: env:NOPE is empty" in call("serve", "--config", path, "--check")[2]
    assert f"{path}:2: env:NOPE is empty" in call("serve", "--config", path)[2]


@pytest.mark.parametrize("start", [("--check",), ()])
def test_a_model_that_the_catalog_does_not_have_is_told_with_what_follows(
    call, served, tmp_path, start
):
    text = _LIMITED.replace("limit = { requests = 3 }", 'thinking = { cap = "high" }')
    told = {
        "claude-opus-five": "it is asked like claude-opus-5-5, and its cost is unknown",
        "clod-opus-5": "under the level rules of route opus every request to it gets 403",
    }
    for model, effect in told.items():
        path = written(tmp_path, text.replace("claude-opus-5", model))
        code, _, err = call("serve", "--config", path, "--offline", *start)
        assert code == 0
        said = " ".join(err.split())
        name = f"{path}:3: 'anthropic:{model}' is not in the catalog"
        assert f"{name}; did you mean 'anthropic:claude-opus-5'? {effect}" in said
    path = written(tmp_path, text)
    assert call("serve", "--config", path, "--offline", *start)[2] == ""


def test_a_model_that_looks_misspelt_starts_nothing(call, served, tmp_path):
    path = written(tmp_path, _LIMITED.replace("claude-opus-5", "claude-opsu-5"))
    code, _, err = call("serve", "--config", path, "--offline")

    assert (code, served) == (2, [])
    assert f"{path}:3: unknown model 'anthropic:claude-opsu-5'; did you mean" in err


def test_a_model_that_is_like_no_other_gets_no_guess(call, served, tmp_path):
    path = written(tmp_path, _LIMITED.replace("claude-opus-5", "foo"))
    code, _, err = call("serve", "--config", path, "--offline", "--check")

    assert code == 0
    assert "'anthropic:foo' is not in the catalog; it is asked" in " ".join(err.split())
    assert err.startswith(f"pondero: warning: {path}:")


def test_an_unknown_model_is_not_told_of_a_server_of_ones_own(call, served, tmp_path):
    path = written(tmp_path, _LIMITED.replace("anthropic:claude-opus-5", "ollama:mine"))
    assert call("serve", "--config", path, "--check", "--offline")[2] == ""
