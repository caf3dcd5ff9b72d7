"""The recipes of docs/plugins.md, run as printed against a gateway on the emulator."""

import re
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

import pondero
from pondero.emulator import Emulator
from pondero.gateway import load_config, run_gateway_in_thread
from pondero.gateway.config.model import ServerConfig
from pondero.store import load_catalog

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "plugins.md").read_text("utf-8")
RECIPES = [
    pytest.param(block, id=f"{title}-{number}")
    for title, section in re.findall(r"^##+ (\S+)\n(.*?)(?=^##|\Z)", TEXT, re.DOTALL | re.MULTILINE)
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", section, re.DOTALL))
]
PRINTED = "http://127.0.0.1:8787"


@pytest.fixture(scope="module")
def gateway():
    config = replace(load_config(None, load_catalog(), offline=True), server=ServerConfig(port=0))
    with run_gateway_in_thread(config, transport=Emulator()) as where:
        yield where


@pytest.mark.judge
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_runs_as_printed(recipe, gateway, capsys, monkeypatch):
    for package in re.findall(r"^(?:from|import) (\w+)", recipe, re.MULTILINE):
        pytest.importorskip(package)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key that is not one")
    exec(compile(recipe.replace(PRINTED, gateway), "plugins.md", "exec"), {})
    if PRINTED in recipe:
        assert "391" in capsys.readouterr().out


def test_every_plugin_has_a_readme_a_project_and_its_place_on_the_page():
    folders = [path for path in sorted((ROOT / "plugins").iterdir()) if path.is_dir()]
    assert [folder.name for folder in folders] == ["gateway-hooks", "inspect", "llm", "pydantic-ai"]
    for folder in folders:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        assert project["version"] == pondero.__version__
        needs = {each.replace("[gateway]", "") for each in project["dependencies"]}
        assert f"pondero>={pondero.__version__}" in needs
        assert f"../plugins/{folder.name}/README.md" in TEXT
        assert len(list(folder.glob("*.py"))) == (2 if folder.name == "gateway-hooks" else 1)
        assert (folder / "README.md").exists()
