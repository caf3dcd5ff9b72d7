"""``auto`` at the gate: in a client's name, a route, a header and a default, under floor and cap."""

import json
from pathlib import Path

import anyio
import pytest
from tests.calibrations import adopt, finding
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import BadConfig, BadParameter, BadThinking
from pondero.gateway.admin.preview import preview
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, LevelRules
from pondero.gateway.config.reader import default_config, load
from pondero.gateway.config.routing import Routing, allows
from pondero.gateway.levels.level_rules import parse_requested_level
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.keys import _build_key
from pondero.store import load_catalog
from pondero.thinking import UNSET

OPUS = "anthropic:claude-opus-5"
OPEN = default_config(GatewayConfig(), load_catalog(), offline=True)


@pytest.fixture(autouse=True)
def _own_config(config_dir):
    return config_dir


class Gateway:
    """A gateway before an emulator, and what it sent to it last."""

    def __init__(self, *routes: GatewayRoute) -> None:
        self.emulator = Emulator()
        config = GatewayConfig(routes=routes) if routes else OPEN
        self._app = App(GatewayContext(config, self.emulator))

    def ask(self, model, *, status=200, text="hi", **headers):
        """Ask over the Chat wire; return the effort that was sent, and what the answer says."""
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        url = "http://here/v1/chat/completions"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        http = HttpRequest("POST", url, named, json.dumps(body).encode())
        answer = anyio.run(came, self._app, http)
        assert answer.status == status, answer.body
        if status != 200:
            return json.loads(answer.body)["error"]["message"]
        sent = self.emulator.log.entries[-1].body
        return sent.get("output_config", {}).get("effort"), answer.headers


def test_a_clients_auto_is_sent_as_the_level_that_was_adopted():
    adopt("sums", "low")
    for name in ("claude-opus-5/auto", "claude-opus-5/auto:sums", "auto:sums", f"{OPUS}@auto"):
        effort, headers = Gateway().ask(name)
        assert effort == "low"
        said = name.rpartition("/")[2].rpartition("@")[2]
        assert headers["x-pondero-thinking"] == f"asked={said}; sent=low; why=calibrated"
        assert headers["x-pondero-model"] == OPUS
        assert "calibrated" in headers["x-pondero-adjustments"]


def test_without_a_calibration_nothing_is_sent_and_the_answer_says_so():
    effort, headers = Gateway().ask("claude-opus-5/auto")
    assert effort is None
    assert headers["x-pondero-thinking"] == "asked=auto; sent=nothing; why=no_calibration"
    assert "no calibration is called 'sums'" in Gateway().ask("auto:sums", status=400)


def test_another_calibration_counts_from_the_next_request_on():
    adopt("sums", "low")
    gateway = Gateway()
    assert [gateway.ask(name)[0] for name in ("auto:sums", f"{OPUS}/auto")] == ["low", "low"]
    adopt("sums", "high", "claude-opus-4-8")
    effort, headers = gateway.ask("auto:sums")
    assert (effort, headers["x-pondero-model"]) == ("high", "anthropic:claude-opus-4-8")
    assert gateway.ask(f"{OPUS}/auto")[0] is None


@pytest.mark.parametrize("dial", [LevelRules(default="auto"), LevelRules(force="auto:sums")])
def test_another_calibration_counts_for_questions_in_a_known_frame_too(dial):
    adopt("sums", "low")
    gateway = Gateway(GatewayRoute("opus", (OPUS,), thinking=dial))
    before = [gateway.ask("opus", text=f"Is it {n} o clock?")[0] for n in range(4)]
    adopt("sums", "high")
    after = [gateway.ask("opus", text=f"Is it {n} o clock?")[0] for n in range(4, 8)]
    assert (before, after) == (["low"] * 4, ["high"] * 4)


@pytest.mark.parametrize(
    ("dial", "header", "effort", "why"),
    [
        (LevelRules(default="auto"), None, "medium", "default"),
        (LevelRules(default="auto:sums"), None, "medium", "default"),
        (LevelRules(force="auto"), "max", "medium", "force"),
        (LevelRules(default="auto", cap="low"), None, "low", "cap"),
        (LevelRules(default="auto", floor="high"), None, "high", "floor"),
        (LevelRules(default="low"), "auto", "medium", "calibrated"),
        (LevelRules(cap="low"), "auto", "low", "cap"),
    ],
)
def test_a_routes_rules_hold_for_what_auto_becomes(dial, header, effort, why):
    adopt("sums", "medium")
    headers = {"x_pondero_thinking": header} if header else {}
    sent, told = Gateway(GatewayRoute("opus", (OPUS,), thinking=dial)).ask("opus", **headers)
    assert sent == effort
    assert told["x-pondero-thinking"].endswith(f"; why={why}")


def test_the_kind_of_a_question_is_said_in_a_header_or_in_the_level():
    adopt("sums", "low", kinds={"proofs": finding("high")})
    route = GatewayRoute("opus", (OPUS,), thinking=LevelRules(default="auto"))
    assert Gateway(route).ask("opus")[0] == "low"
    assert Gateway(route).ask("opus", x_pondero_kind="proofs")[0] == "high"
    assert Gateway(route).ask("opus/auto#proofs", x_pondero_kind="other")[0] == "high"
    assert Gateway(route).ask("opus/max", x_pondero_kind="proofs")[0] == "max"
    with pytest.raises(BadThinking, match="invalid kind"):
        parse_requested_level(header=None, suffix=None, body=UNSET, words=(), kind="a/b")


def test_a_key_is_held_to_the_model_that_a_calibration_stands_for():
    adopt("sums")
    routing = Routing(OPEN, load_catalog())
    assert routing.resolve("auto:sums").name == "claude-opus-5"
    assert allows(GatewayKey("k", "h", models=("claude-*",)), routing.resolve("auto:sums"))
    assert not allows(
        GatewayKey("k", "h", models=("gpt-*", "auto:*")), routing.resolve("auto:sums")
    )
    route = GatewayRoute("claude-*", (OPUS,))
    assert (
        Routing(GatewayConfig(routes=(route,)), load_catalog()).resolve("auto:sums").route == route
    )


def test_names_that_end_so_and_routes_that_are_called_so_stay_names():
    routing = Routing(OPEN, load_catalog())
    assert routing.resolve("openrouter:openrouter/auto").level is None
    team = GatewayRoute("team/auto", (OPUS,))
    resolved = Routing(GatewayConfig(routes=(team,)), load_catalog()).resolve("team/auto")
    assert (resolved.route, resolved.level) == (team, None)


def written(tmp_path: Path, text: str) -> GatewayConfig:
    path = tmp_path / "gateway.toml"
    path.write_text(f'[[route]]\nmatch = "opus"\n{text}\n')
    return load(path, load_catalog())


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ('to = "claude-opus-5/auto"', "auto"),
        ('to = "anthropic:claude-opus-5/auto:sums#proofs"', "auto:sums#proofs"),
        ('to = ["claude-opus-5/auto", "gpt-5.5"]', "auto"),
        ('to = "auto:sums"', "auto:sums"),
        ('to = "claude-opus-5"\nthinking = { default = "auto" }', "auto"),
        ('to = "claude-opus-5/auto"\nthinking = { default = "auto", cap = "high" }', "auto"),
    ],
)
def test_auto_behind_a_routes_model_is_its_default(tmp_path, text, default):
    adopt("sums")
    (route,) = written(tmp_path, text).routes
    assert load_catalog().entry(route.to[0]).id == OPUS
    assert load_catalog().split(route.to[0]).level is None
    assert route.thinking.default == default


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('to = "claude-opus-5/high"', "names a level"),
        ('to = "auto:nope"', "no calibration is called 'nope'"),
        ('to = ["claude-opus-5/auto", "gpt-5.5/auto:x"]', "several defaults"),
        ('to = "claude-opus-5/auto"\nthinking = { default = "low" }', "several defaults"),
        ('to = "claude-opus-5"\nthinking = { cap = "auto" }', "invalid cap 'auto'"),
        ('to = "claude-opus-5"\nthinking = { floor = "auto:x" }', "invalid floor 'auto:x'"),
    ],
)
def test_a_route_that_cannot_be_meant_so_is_refused_with_its_line(tmp_path, text, why):
    with pytest.raises(BadConfig, match=rf"gateway\.toml:\d+: .*{why}"):
        written(tmp_path, text)


def test_a_key_made_at_run_time_has_no_auto_as_its_bound():
    row = {"name": "k", "hash": "sha256:" + "0" * 64}
    assert _build_key({**row, "thinking": {"default": "auto"}}).thinking.default == "auto"
    for bound in ("floor", "cap"):
        with pytest.raises(BadParameter, match="use a level"):
            _build_key({**row, "thinking": {bound: "auto"}})


def test_the_consoles_preview_shows_what_auto_becomes():
    adopt("sums", "low")
    shown = preview(OPEN, Routing(OPEN, load_catalog()), "claude-opus-5", "auto")
    assert shown.said == "asked=auto; sent=low; why=calibrated"
    assert shown.body["output_config"] == {"effort": "low"}
