"""The secrets of envelopes: made once, private, shared, and replaced without losing an envelope."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from pondero.canon import Origin
from pondero.catalog import Lookup, load_shipped
from pondero.cli import main
from pondero.errors import BadConfig, MissingKey
from pondero.gateway.config.model import GatewayConfig, ServerConfig
from pondero.gateway.config.reader import load, reload_config
from pondero.gateway.signatures.envelope import Envelope
from pondero.gateway.state.envelope_secrets import (
    FILE,
    EnvelopeSecrets,
    FileSecrets,
    LocalSecrets,
    RedisSecrets,
    make_secret,
)
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.shared_state import rotate_envelope_secret

ENVELOPE = Envelope(Origin("anthropic", "claude-opus-5"), "0123456789ab")
LOOKUP = Lookup(load_shipped())


def packed(secrets: EnvelopeSecrets, client: str = "c") -> str:
    return asyncio.run(secrets.make_envelopes(client, b"")).pack(ENVELOPE)


def opened(secrets: EnvelopeSecrets, text: str, client: str = "c") -> Envelope | None:
    return asyncio.run(secrets.make_envelopes(client, text.encode())).open(text)


def gateway(store, server: ServerConfig | None = None) -> EnvelopeSecrets:
    chosen = server or ServerConfig()
    return EnvelopeSecrets(lambda: chosen, store)


def test_many_first_starts_at_once_make_one_secret_in_a_private_file(tmp_path):
    path = tmp_path / "data" / FILE
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: asyncio.run(FileSecrets(path).create()), range(8)))
    assert len(made) == 1
    ((secret,),) = made
    assert len(secret) >= 43
    if sys.platform != "win32":
        assert {each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {0o600}


def test_a_new_secret_is_used_at_once_and_the_old_ones_still_open(tmp_path):
    path = tmp_path / FILE
    one, two = gateway(FileSecrets(path)), gateway(FileSecrets(path))
    old = packed(one)
    assert opened(two, old) == ENVELOPE
    asyncio.run(FileSecrets(path).add(make_secret()))
    one.forget()
    new = packed(one)
    assert new[:12] != old[:12]
    assert [opened(each, text) for each in (one, two) for text in (old, new)] == [ENVELOPE] * 4
    assert opened(gateway(LocalSecrets()), new) is None


def test_the_command_replaces_the_secret_of_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path / "config"))
    (before,) = asyncio.run(FileSecrets().create())
    monkeypatch.setattr(sys, "argv", ["pondero", "keys", "rotate"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    after = asyncio.run(FileSecrets().load())
    assert len(after) == 2
    assert after[1] == before
    config = GatewayConfig(ServerConfig(envelope_secret=("env:SECRET",)))
    with pytest.raises(BadConfig, match="envelope_secret"):
        asyncio.run(rotate_envelope_secret(config))


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_next_start(tmp_path):
    (tmp_path / "file").write_text("")
    one, two = (gateway(FileSecrets(tmp_path / "file" / FILE)) for _ in range(2))
    assert opened(two, packed(one)) == ENVELOPE


@pytest.fixture
def secrets(monkeypatch) -> list[str]:
    made = [make_secret() for _ in range(2)]
    monkeypatch.setenv("SECRET_0", made[0])
    monkeypatch.setenv("SECRET_1", made[1])
    return made


def test_configured_secrets_open_each_others_envelopes_and_those_of_the_store(secrets):
    store = LocalSecrets()
    automatic = gateway(store)
    first = gateway(store, ServerConfig(envelope_secret=("env:SECRET_0",)))
    both = gateway(LocalSecrets(), ServerConfig(envelope_secret=("env:SECRET_1", "env:SECRET_0")))
    oldest, old, new = packed(automatic), packed(first), packed(both)
    assert [opened(first, each) for each in (oldest, old, new)] == [ENVELOPE, ENVELOPE, None]
    assert [opened(both, each) for each in (oldest, old, new)] == [None, ENVELOPE, ENVELOPE]


def test_a_secret_in_the_file_or_a_short_one_is_rejected_and_not_quoted(tmp_path, monkeypatch):
    path = tmp_path / "gateway.toml"
    for written in ('"hunter2hunter2"', '["env:SECRET", "hunter2hunter2"]'):
        path.write_text(f"[server]\nenvelope_secret = {written}\n")
        with pytest.raises(BadConfig, match=r"gateway\.toml:2: .*env:NAME") as error:
            load(path, LOOKUP)
        assert "hunter2" not in str(error.value)
    monkeypatch.setenv("SECRET", "hunter2hunter2")
    with pytest.raises(MissingKey, match="too short") as short:
        packed(gateway(LocalSecrets(), ServerConfig(envelope_secret=("env:SECRET",))))
    assert "hunter2" not in str(short.value)


def test_a_reload_takes_another_secret_and_no_other_setting_of_the_server(tmp_path, secrets):
    path = tmp_path / "gateway.toml"
    path.write_text('[server]\nenvelope_secret = "env:SECRET_0"\nport = 1\n')
    before = load(path, LOOKUP)
    path.write_text('[server]\nenvelope_secret = ["env:SECRET_1", "env:SECRET_0"]\nport = 2\n')
    after = reload_config(before, LOOKUP).server
    assert after == replace(before.server, envelope_secret=("env:SECRET_1", "env:SECRET_0"))
    path.write_text('[server]\nenvelope_secret = "env:NOT_SET"\n')
    with pytest.raises(MissingKey):
        reload_config(before, LOOKUP)


# -- replicas ------------------------------------------------------------------------------------


def stored(url: str, folder: Path, act: str = "create") -> tuple[str, ...]:
    """Act on the secrets as one replica, with a data folder of its own; return all of them."""

    async def run() -> tuple[str, ...]:
        link = RedisLink(url)
        secrets = RedisSecrets(link, FileSecrets(folder / FILE))
        if act == "add":
            await secrets.add(make_secret())
        found = await (secrets.load() if act == "load" else secrets.create())
        await link.aclose()
        return found

    return asyncio.run(run())


def test_replicas_share_one_secret_and_each_rotation(redis, tmp_path):
    folders = [tmp_path / name for name in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        first = set(pool.map(lambda folder: stored(redis.url, folder), folders))
    assert [len(each) for each in first] == [1]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda folder: stored(redis.url, folder, "add"), folders))
    after = {stored(redis.url, folder) for folder in folders}
    assert [len(each) for each in after] == [5]
    assert after.pop()[-1:] == first.pop()


def test_an_emptied_redis_gets_the_secrets_back(redis, tmp_path):
    before = stored(redis.url, tmp_path / "a", "add")
    assert stored(redis.url, tmp_path / "b") == before
    redis.empty()
    assert stored(redis.url, tmp_path / "b") == before
    assert stored(redis.url, tmp_path / "a", "load") == before


def test_a_secret_made_without_redis_becomes_an_old_one(redis, tmp_path):
    (alone,) = stored("redis://127.0.0.1:1/0", tmp_path / "a")
    (shared,) = stored(redis.url, tmp_path / "b")
    assert stored(redis.url, tmp_path / "a") == (shared, alone)
    assert stored(redis.url, tmp_path / "b") == (shared, alone)
    assert stored("redis://127.0.0.1:1/0", tmp_path / "a")[0] == shared
