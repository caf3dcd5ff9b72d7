"""Keys are planted wherever a gateway meets one; then all that it wrote and said is searched."""

import logging

import httpx2
import pytest

from pondero.emulator import Emulator, Fault
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ProviderOverride,
    ServerConfig,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.observers import open_observers
from pondero.gateway.server.run import run_gateway_in_thread

PROVIDERS = "sk-" + "planted-provider-0123456789abcdef"
CLIENTS = "pnd_" + "planted-client-0123456789abcdef0123456789"
STRANGERS = "pnd_" + "planted-stranger-0123456789abcdef01234567"
LEDGERS = "planted-ledger-password"
ASKED = {"max_tokens": 500, "messages": [{"role": "user", "content": "Hi"}]}


class Behind:
    """The emulator as a service that wants a key, and repeats it in its refusals."""

    needs_key = True

    def __init__(self) -> None:
        self.emulator = Emulator(any_model=True)
        self.seen: list[str] = []

    async def send(self, request, timeouts):
        self.seen += request.headers.values()
        return await self.emulator.send(request, timeouts)

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("ledger", ["sqlite", "away"])
def test_no_key_is_in_a_log_a_figure_the_ledger_the_console_or_an_error(
    ledger, data_dir, tmp_path, monkeypatch, caplog, capfd
):
    monkeypatch.setenv("PLANTED_KEY", PROVIDERS)
    monkeypatch.setenv("PLANTED_LEDGER", f"postgresql://me:{LEDGERS}@127.0.0.1:1/none")
    config = GatewayConfig(
        ServerConfig(
            port=0,
            ledger="env:PLANTED_LEDGER" if ledger == "away" else ledger,
            log=str(tmp_path / "access.log"),
        ),
        (GatewayRoute(match="opus", to=("anthropic:claude-opus-5",), retries=0),),
        {"anthropic": ProviderOverride(key="env:PLANTED_KEY")},
        (GatewayKey(name="ci", hash=hash_key(CLIENTS)),),
    )
    behind = Behind()
    said = []
    with caplog.at_level(logging.DEBUG), open_observers(config.server) as seen:
        assert isinstance(seen.metrics, Metrics)
        assert seen.ledger is not None
        database = seen.ledger.database
        with (
            run_gateway_in_thread(
                config, transport=behind, observers=seen.told, ledger=database
            ) as url,
            httpx2.Client() as client,
        ):

            def ask(model: str, key: str) -> int:
                came = client.post(
                    f"{url}/v1/messages?key={key}",
                    json={**ASKED, "model": model},
                    headers={"x-api-key": key, "authorization": f"Bearer {key}"},
                )
                said.append(came.text + str(came.headers))
                return came.status_code

            assert ask("opus", CLIENTS) == 200
            assert ask("opus", STRANGERS) == 401
            assert ask(f"no-model-{PROVIDERS}", CLIENTS) == 404
            behind.emulator.faults.append(
                Fault(kind="status", status=400, message=f"Incorrect key provided: {PROVIDERS}")
            )
            assert ask("opus", CLIENTS) == 400
            places = ("requests", "figures", "keys", "models", f"plan?model=opus/{PROVIDERS}")
            said += [client.get(f"{url}/admin/{place}").text for place in places]
            assert "claude-opus-5" in said[-5]
        said.append(seen.metrics.page().body.decode())
    assert any(PROVIDERS in value for value in behind.seen)
    files = [
        path for folder in (data_dir, tmp_path) for path in folder.rglob("*") if path.is_file()
    ]
    assert {path.name for path in files} >= {"access.log"}
    ours = [each.getMessage() for each in caplog.records if each.name.startswith("pondero")]
    texts = [*said, *ours, *capfd.readouterr(), *map(str, files)]
    texts += [path.read_bytes().decode("utf-8", "replace") for path in files]
    for planted in (PROVIDERS, CLIENTS, STRANGERS, LEDGERS):
        assert not [text for text in texts if planted in text]
