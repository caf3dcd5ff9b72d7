"""Hooks are found by entry point or import path; a mistake names file and line."""

import os
from importlib.metadata import EntryPoint

import pytest
from tests.gateway.upstream import Upstream

from pondero.errors import BadConfig
from pondero.gateway import Hook
from pondero.gateway.config.checks import check_start
from pondero.gateway.config.reader import load
from pondero.gateway.config.routing import Routing
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.server.run import _reload
from pondero.store import load_catalog

CLOSED: list[str] = []


class Fine(Hook):
    def __init__(self, settings) -> None:
        self.said = settings.get("say")

    def close(self) -> None:
        CLOSED.append(str(self.said))


class Picky(Hook):
    def __init__(self, settings) -> None:
        message = "say is missing"
        raise ValueError(message)


class Eager(Hook):
    def __init__(self, settings) -> None:
        self.said = settings["say"]


class NoHook:
    pass


def _check(tmp_path, text: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(f'[[route]]\nmatch = "a"\nto = "claude-opus-5"\n\n{text}')
    config = load(path, load_catalog())
    check_start(config, Routing(config, load_catalog()), offline=True)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('[[hook]]\nuse = "nobody"', 6, "no hook 'nobody'"),
        (
            '[[hook]]\nuse = "no_such_module:Mask"',
            6,
            "Python does not find 'no_such_module'; start the gateway with PYTHONPATH=FOLDER",
        ),
        (
            '[[hook]]\nuse = "no_such_package.masks:Mask"',
            6,
            "Python does not find 'no_such_package'; start the gateway with PYTHONPATH=FOLDER",
        ),
        (f'[[hook]]\nuse = "{__name__}:Nothing"', 6, "has no attribute 'Nothing'"),
        (
            f'[[hook]]\nuse = "{__name__}:NoHook"',
            6,
            "is no class derived from pondero.gateway.Hook",
        ),
        (f'[[hook]]\nuse = "{__name__}:Picky"\nname = "p"', 6, "cannot be made: say is missing"),
        (f'[[hook]]\nuse = "{__name__}:Eager"', 6, "cannot be made: KeyError: 'say'"),
        (f'[[hook]]\nuse = "{__name__}:Fine"\nseconds = 0', 7, "seconds: Expected"),
        (f'[[hook]]\nuse = "{__name__}:Fine"\non_failure = "x"', 7, "on_failure: Invalid"),
        (f'[[hook]]\nuse = "{__name__}:Fine"\nname = "a b"', 7, "invalid name 'a b'"),
        (f'[[hook]]\nuse = "{__name__}:Fine"\nsetings = {{}}', 7, "unknown setting 'setings'"),
        ("[[hook]]\nname = 'x'", 5, "use"),
        (f'[[hook]]\nuse = "{__name__}:Fine"\n' * 2, 8, "an earlier hook is called"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, text, line, problem):
    with pytest.raises(BadConfig) as told:
        _check(tmp_path, text)

    assert problem in str(told.value)
    assert f"gateway.toml:{line}: " in str(told.value)


def test_a_module_that_lacks_another_is_not_said_to_be_missing_itself(tmp_path, monkeypatch):
    (tmp_path / "needy_hooks.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(BadConfig) as told:
        _check(tmp_path, '[[hook]]\nuse = "needy_hooks:Mask"')

    assert str(told.value).endswith("no hook 'needy_hooks:Mask': No module named 'no_such_library'")


def test_a_call_has_one_second_and_a_failure_rejects_unless_the_file_says_otherwise(tmp_path):
    path = tmp_path / "gateway.toml"
    path.write_text(f'[[hook]]\nuse = "{__name__}:Fine"')

    (hook,) = load(path, load_catalog()).hooks

    assert (hook.seconds, hook.on_failure) == (1, "reject")


def test_a_hook_is_made_with_its_settings_and_closed(tmp_path):
    _check(tmp_path, f'[[hook]]\nuse = "{__name__}:Fine"\nsettings = {{ say = "hello" }}')

    assert CLOSED == ["hello"]


def test_an_installed_package_offers_hooks_by_name(tmp_path, monkeypatch):
    point = EntryPoint("fine", f"{__name__}:Fine", "pondero.gateway")
    monkeypatch.setattr("pondero.gateway.hooks.loader.entry_points", lambda **_: (point,))

    _check(tmp_path, '[[hook]]\nuse = "fine"')


def test_a_reload_says_that_changed_code_needs_a_restart(tmp_path, monkeypatch, caplog):
    monkeypatch.syspath_prepend(tmp_path)
    code = tmp_path / "hooks_of_a_test.py"
    code.write_text("from pondero.gateway import Hook\n\n\nclass First(Hook):\n    pass\n")
    path = tmp_path / "gateway.toml"
    text = (
        '[[route]]\nmatch = "a"\nto = "claude-opus-5"\n\n[[hook]]\nuse = "hooks_of_a_test:First"\n'
    )
    path.write_text(text)
    gateway = GatewayContext(load(path, load_catalog()), Upstream())

    _reload(gateway, reports=True)
    assert "configuration reloaded; nothing changed" in caplog.messages
    os.utime(code, ns=(1, 1))
    _reload(gateway, reports=True)
    path.write_text(f'{text}name = "mine"\n')
    _reload(gateway, reports=True)

    code_needs = "the code of {} changed, and needs a restart"
    _, quiet, named = [each for each in caplog.messages if each.startswith("configuration")]
    assert quiet.endswith(f"nothing changed yet: {code_needs.format('hooks_of_a_test:First')}")
    assert named.endswith(f"; {code_needs.format('mine')}")
