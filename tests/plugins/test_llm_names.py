"""Which names the plugin of llm takes and lists, asked of the real, installed ``llm`` command."""

import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

llm = pytest.importorskip("llm")

import llm_pondero  # noqa: E402 - needs llm
from tests.plugins.fields import within  # noqa: E402 - see above

import pondero  # noqa: E402 - see above
from pondero.store import load_catalog  # noqa: E402 - see above

pytestmark = [pytest.mark.judge, pytest.mark.filterwarnings("ignore")]
FOLDER = Path(__file__).parents[2] / "plugins" / "llm"
ACME = """
like = "openai-chat"
label = "Acme"
url = "https://api.acme.test/v1"
keys = ["ACME_API_KEY"]
families = ["any"]
[override]
any = { efforts = ["low", "high"] }
[placement.any]
level = { reasoning_effort = "$effort" }
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder with the plugin as pip installs it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=FOLDER, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def user(tmp_path):
    (tmp_path / "config" / "providers").mkdir(parents=True)
    (tmp_path / "config" / "providers" / "acme.toml").write_text(ACME, "utf-8")
    return tmp_path


@pytest.fixture
def run(site, user):
    """Run a Python process with the plugin installed, and return what it printed."""
    known = {name for each in load_catalog().catalog.providers.values() for name in each.keys}
    kept = {name: value for name, value in os.environ.items() if name not in known}
    ours = str(Path(pondero.__file__).parents[1])
    environment = {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(site), ours]),
        "LLM_USER_PATH": str(user / "llm"),
        "PONDERO_CONFIG_DIR": str(user / "config"),
    }

    def start(*words, code=0, given="", **variables):
        ran = subprocess.run(
            [sys.executable, *words],
            env={**environment, **variables},
            input=given,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert ran.returncode == code, ran.stderr
        return ran.stdout if code == 0 else ran.stderr

    return start


@pytest.fixture
def call(run):
    return lambda *words, **more: run("-m", "llm", *words, **more)


OFFLINE = ("-o", "offline", "1")


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("claude-opus-5", {}),
        ("claude-opus-5/high", {"output_config": {"effort": "high"}}),
        ("anthropic:claude-opus-5/max", {"output_config": {"effort": "max"}}),
        ("llamacpp:x", {}),
        ("llamacpp:my/own-model.gguf/low", {"reasoning_effort": "low"}),
        ("acme:rocket-1/high", {"reasoning_effort": "high"}),
        ("openrouter:nobody/has-this/medium", {"reasoning": {"effort": "medium"}}),
    ],
)
def test_any_name_is_a_model_and_its_level_is_sent(call, name, sent):
    answer = call("-m", f"pondero/{name}", *OFFLINE, "-R", "What is 17 * 23?")
    assert answer == "17 * 23 = 391\n"
    (logged,) = json.loads(call("logs", "list", "--json", "-m", f"pondero/{name}"))
    assert logged["model"] == f"pondero/{name}"
    assert within(sent, recorded(logged)["sent"])


def recorded(logged):
    kept = logged["response_json"]
    return json.loads(kept) if isinstance(kept, str) else kept


def test_the_option_wins_over_the_level_in_the_name(call):
    call("-m", "pondero/claude-opus-5/max", *OFFLINE, "-o", "think", "low", "What is 17 * 23?")
    (logged,) = json.loads(call("logs", "list", "--json"))
    assert recorded(logged)["sent"]["output_config"] == {"effort": "low"}


def test_few_models_are_listed_those_of_the_providers_with_a_key(call):
    def listed(**variables):
        lines = call("models", **variables).splitlines()
        return [line.split()[1] for line in lines if line.startswith("pondero: ")]

    none = listed()
    assert 10 < len(none) < 40
    assert {name.split(":")[0] for name in none} > {"pondero/anthropic", "pondero/google"}
    one = listed(ANTHROPIC_API_KEY="k")
    assert one
    assert {name.split(":")[0] for name in one} == {"pondero/anthropic"}
    call("keys", "set", "openai", "--value", "k")
    assert {name.split(":")[0] for name in listed()} == {"pondero/openai"}


def test_a_listed_name_is_catalogued_and_thinks():
    entries = {entry.id: entry for entry in pondero.models()}
    names = llm_pondero.listed_names()
    assert len(names) == len({*names})
    assert all(entries[name].capability.thinks for name in names)


def test_a_conversation_with_an_unlisted_model_goes_on_in_another_process(call, user):
    assert call("-m", "pondero/claude-opus-5/high", *OFFLINE, "What is 17 * 23?") == (
        "17 * 23 = 391\n"
    )
    assert call("-c", *OFFLINE, "And what is 391 - 1?") == "391 - 1 = 390\n"
    kept = sqlite3.connect(user / "llm" / "logs.db").execute("select count(*) from turns")
    assert kept.fetchone() == (2,)
    kept.connection.close()


def test_an_alias_a_default_a_template_and_their_options_take_any_name(call):
    name = "pondero/acme:rocket-1/high"
    call("aliases", "set", "rocket", name)
    assert call("-m", "rocket", *OFFLINE, "-R", "What is 17 * 23?") == "17 * 23 = 391\n"
    assert "rocket" in call("models", "list", "-q", "acme")
    assert name in call("models", "list", "-m", name)
    assert "think" in call("models", "list", "-m", name, "--options")
    call("models", "options", "set", name, "offline", "1")
    call("models", "default", name)
    assert call("What is 17 * 23?") == "17 * 23 = 391\n"
    call("-m", name, "--system", "Be brief.", "--save", "brief")
    assert call("-t", "brief", "What is 17 * 23?") == "17 * 23 = 391\n"


def test_a_mistake_in_a_file_of_ours_is_said_and_stops_no_other_model(run, user):
    (user / "config" / "providers" / "acme.toml").write_text("dialect = 7", "utf-8")
    code = "import llm; print(llm.get_model('gpt-4o').model_id, llm.get_models() != [])"
    assert run("-c", code) == "gpt-4o True\n"


@pytest.mark.parametrize(
    ("name", "said"), [("pondero/", "Unknown model"), ("pondro/x", "Unknown model")]
)
def test_a_name_that_is_not_ours_is_unknown_as_ever(call, name, said):
    assert said in call("-m", name, *OFFLINE, "hello", code=1)


def test_a_name_that_pondero_refuses_is_one_line(call):
    said = call("-m", "pondero/nobody-knows-this", *OFFLINE, "hello", code=1)
    assert said.startswith("Error: ")
    assert len(said.splitlines()) == 1


def test_a_program_takes_any_name_too(run):
    code = """
import asyncio, llm, llm_pondero
print(llm.get_model("pondero/llamacpp:x/high").prompt("What is 17 * 23?", offline=True).text())
print(llm_pondero.Pondero("llamacpp:x/high").prompt("What is 17 * 23?", offline=True).text())
async def ask():
    model = llm.get_async_model("pondero/claude-opus-5/low")
    return await model.prompt("What is 17 * 23?", offline=True).text()
print(asyncio.run(ask()))
"""
    assert run("-c", code) == "17 * 23 = 391\n" * 3
