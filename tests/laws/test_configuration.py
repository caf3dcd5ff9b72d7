"""One configuration, one plan: ``plan``, ``levels``, ``ask``, ``chat`` and the library agree."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.calibrations import adopt

import pondero
from pondero.cli.app import run
from pondero.cli.commands.chat import start_state
from pondero.cli.start import NO_MODEL
from pondero.client import dial, load_catalog
from pondero.emulator import Emulator
from pondero.store import config, load_settings
from pondero.thinking import CHOICES, LEVELS, TOKENS

MODELS = (
    *("claude-opus-5", "claude-sonnet-4-5", "gpt-5.5", "gpt-5", "gemini-2.5-flash"),
    *("gemini-3-flash-preview", "moonshot:kimi-k2.5", "deepseek:deepseek-chat", "our-opus"),
)
OWN_MODEL = '[[model]]\nmatch = ["our-opus"]\nlike = "claude-opus-5"\nmax_output = 9000\n'
LEVEL_TEXTS = st.sampled_from((*LEVELS, "on", "8k", "auto", "auto:sums"))
NAMES = st.builds(
    lambda model, level: model if level is None else f"{model}/{level}",
    st.sampled_from(MODELS),
    st.none() | st.sampled_from((*LEVELS, "on", "8k", "auto")),
)
LEVEL_VALUES = LEVEL_TEXTS | st.booleans() | st.sampled_from((0, 2000, 20_000))
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.sampled_from(values) for name, values in CHOICES.items()},
        **{name: st.sampled_from((0, 512, 8192)) for name in TOKENS},
    },
)
CONFIGS = st.fixed_dictionaries(
    {}, optional={"model": NAMES, "thinking": LEVEL_VALUES, "policy": POLICIES}
)
TEMPLATES = st.fixed_dictionaries(
    {"prompt": st.just("Say $input")},
    optional={
        "model": NAMES,
        "thinking": LEVEL_VALUES,
        "options": st.fixed_dictionaries(
            {},
            optional={
                "max_tokens": st.sampled_from((900, 6000)),
                "temperature": st.sampled_from((0.2, 1.0)),
            },
        ),
    },
)
ARGUMENTS = st.lists(
    st.sampled_from(
        (("--max-tokens", "2000"), ("--policy", "off=floor"), ("--policy", "show=none"))
    ),
    unique=True,
    max_size=3,
)


@contextmanager
def configured(written: dict, template: dict | None, environment: str | None) -> Iterator[None]:
    """A user with this configuration, and a sweep that was adopted."""
    with TemporaryDirectory() as folder:
        there = Path(folder)
        (there / "config.toml").write_text(tomlkit.dumps(written))
        (there / "models.toml").write_text(OWN_MODEL)
        if template is not None:
            (there / "templates").mkdir()
            (there / "templates" / "mine.toml").write_text(tomlkit.dumps(template))
        names = {"PONDERO_CONFIG_DIR": folder, "PONDERO_DATA_DIR": folder}
        with patch.dict(
            os.environ, names | ({"PONDERO_MODEL": environment} if environment else {})
        ):
            forget()
            adopt("sums", "low", "claude-opus-5")
            yield


def forget() -> None:
    for cached in (dial.load_policy, config._report_unknown):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def _own_models() -> Iterator[None]:
    """Every configuration has the same models.toml, so one catalog is enough for all."""
    for cached in (load_catalog, dial._entry):
        cached.cache_clear()
    yield
    for cached in (load_catalog, dial._entry):
        cached.cache_clear()
    dial.load_policy.cache_clear()


def call(*arguments: str) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch("sys.stdin", TextIOWrapper(BytesIO())):
        code = run(list(arguments))
    return code, out.getvalue(), err.getvalue()


def sent(err: str) -> dict:
    """The body of the request that ``ask --wire`` prints."""
    return json.loads(next(line for line in err.splitlines() if line.startswith("{")))


def holds(whole: object, part: object) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and holds(whole[name], value) for name, value in part.items())
    return whole == part


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    written=CONFIGS,
    template=st.none() | TEMPLATES,
    environment=st.none() | NAMES,
    named=st.none() | NAMES,
    arguments=ARGUMENTS,
)
def test_plan_prints_what_ask_sends_chat_shows_and_the_library_uses(
    written, template, environment, named, arguments
):
    flags = [word for pair in arguments for word in pair]
    by_template = [] if template is None else ["--template", "mine"]
    names = [] if named is None else [named]
    with configured(written, template, environment):
        code, printed, complaint = call("plan", *names, *by_template, *flags, "--json")
        model = [] if named is None else ["-m", named]
        question = ["What is 2 + 2?", "--offline", "--no-save", "--no-thinking"]
        asked, _, err = call("ask", *model, *by_template, *flags, *question, "--wire")
        if NO_MODEL in complaint:
            return  # offline, 'ask' has a model for those who name none
        if code:
            assert asked == code
            assert complaint.splitlines()[-1].split(";")[0] in err
            return
        plan = json.loads(printed)
        assert asked == 0, err
        assert holds(sent(err), plan["fields"])
        levels = plan["model"], plan["asked"], plan["level"], plan["budget"]
        if template is None:
            check_levels(names, levels, flags)
        if template is None and "--max-tokens" not in flags:
            check_chat(named, levels, [value for flag, value in arguments if flag == "--policy"])
        check_library(plan, template, arguments)


def check_levels(names: list[str], levels: tuple, flags: list[str]) -> None:
    code, printed, _ = call("levels", *names, *flags, "--json")
    ladder = json.loads(printed)
    rungs = {
        (ladder["model"], each["asked"], each["level"], each["budget"]) for each in ladder["levels"]
    }
    assert code == 0
    if levels[1] in LEVELS or str(levels[1]).startswith("auto"):
        assert levels in rungs


def check_chat(named: str | None, levels: tuple, policies: list[str]) -> None:
    if named is None and load_settings().model is None:
        return  # the chat has a model of its own then, and plan has none
    shown = start_state(named, tuple(policies))[1].plan
    assert (shown.model, shown.asked, shown.level, shown.budget) == levels


def check_library(plan: dict, template: dict | None, arguments: list) -> None:
    """The library reads the policy, models, providers, calibrations; the level is its caller's."""
    options: dict = dict((template or {}).get("options", {}))
    options |= {"max_tokens": 2000} if ("--max-tokens", "2000") in arguments else {}
    choices = dict(value.split("=") for flag, value in arguments if flag == "--policy")
    if choices:
        options["policy"] = dial.load_policy().but(**choices)
    with pondero.Client(transport=Emulator(any_model=True)) as client:
        made = client.prepare(plan["model"], "hi", plan["asked"], **options).plan
    assert made.fields == plan["fields"]
    assert (made.level, made.budget) == (plan["level"], plan["budget"])
