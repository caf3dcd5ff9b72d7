"""``config``: read and change config.toml; its comments stay."""

import os
import sys
from typing import Any

import click
from msgspec import json

from ...errors import BadConfig
from ...store import (
    check_config,
    check_setting,
    config_file,
    holds_secret,
    load_settings,
    set_config,
    unset_config,
    write_atomic,
)
from ..command import CommandGroup, examples, json_option, print_json
from ..output.echo import echo, say
from .completion import setting

_VARIABLES = {"model": "PONDERO_MODEL", "theme": "PONDERO_THEME"}
_FIRST = """\
# pondero's settings; 'pondero config set NAME VALUE' changes them too. Keep no key here: see
# 'pondero keys'.

# model = "claude-opus-5/high"     for ask and chat when none is named; PONDERO_MODEL wins
# thinking = "medium"              for a model named without a level
# save = true                      whether ask and chat keep threads

# [policy]
# unsupported = "adjust"
"""


@click.group(
    cls=CommandGroup,
    epilog=examples(
        "pondero config set thinking medium",
        "pondero config set policy.unsupported warn",
        "pondero config get",
        "pondero config edit",
    ),
)
def config() -> None:
    """Read and change the settings of config.toml."""


@config.command(epilog=examples("pondero config path", 'cat "$(pondero config path)"'))
def path() -> None:
    """Print the path of config.toml, even if there is none yet."""
    echo(str(config_file()), exact=True)


@config.command(
    epilog=examples(
        "pondero config get", "pondero config get thinking", "pondero config get --json"
    )
)
@click.argument("name", required=False, shell_complete=setting)
@json_option
def get(name: str | None, *, as_json: bool) -> int:
    """Print one setting, or all that are set.

    The exit code is 1 if it is not set.
    """
    if name is not None:
        check_setting(name)
    check_config()
    values = load_settings().values
    if name is None:
        if as_json:
            print_json({"path": str(config_file()), "settings": values})
        else:
            for each, value in values.items():
                echo(f"{each} = {_toml(value)}")
        return 0
    if as_json:
        print_json({"name": name, "value": values.get(name), "set": name in values})
    elif name in values:
        for line in _shell_lines(values[name]):
            echo(line, exact=True)
    else:
        echo(f"{name} is not set", err=True)
    return 0 if name in values else 1


@config.command(
    "set",
    epilog=examples(
        "pondero config set thinking medium",
        "pondero config set policy.answer_room 8192",
        "pondero config set save false",
    ),
)
@click.argument("name", shell_complete=setting)
@click.argument("value")
def set_(name: str, value: str) -> None:
    """Set NAME to VALUE. A model or a theme that does not exist is an error."""
    if check := _TRIED.get(name):
        check(value)
    echo(f"{name} = {_toml(set_config(name, value))}", err=True)
    _tell_of_variable(name)


@config.command(epilog=examples("pondero config unset thinking"))
@click.argument("name", shell_complete=setting)
def unset(name: str) -> None:
    """Remove NAME, so that its default applies again."""
    if not unset_config(name):
        echo(f"{name} is not set", err=True)
    _tell_of_variable(name)


@config.command(epilog=examples("pondero config edit", "EDITOR=nano pondero config edit"))
def edit() -> None:
    """Open config.toml in your editor, and check it afterwards."""
    file = config_file()
    if not sys.stdin.isatty():
        raise click.UsageError(f"an editor needs a terminal; the file is {file}")
    if not file.exists():
        write_atomic(file, _FIRST)
    click.edit(filename=str(file))
    check_config()


def _tell_of_variable(name: str) -> None:
    """Say that a variable takes precedence over a setting, if it is set."""
    variable = _VARIABLES.get(name, "")
    if found := os.environ.get(variable, "").strip():
        say(f"{variable} is set to {found!r}, and takes precedence; 'unset {variable}' ends that")


def _shell_lines(value: Any) -> list[str]:
    """Return a value as a shell wants it: true, false, a number, or one line for each word."""
    if isinstance(value, list):
        return [line for each in value for line in _shell_lines(each)]
    return [value if isinstance(value, str) else _toml(value)]


def _try_model(value: str) -> None:
    """Raise UnknownModel or BadThinking; say what a short or an unknown name is taken for."""
    from ...client import plan

    if holds_secret(value):
        return  # set_config rejects it, and nothing of it is printed
    for note in plan(value).adjustments:
        if note.what == "model":
            say(f"{note.why} ({note.code})")


def _try_theme(value: str) -> None:
    names = theme_names()
    if names and value not in names:
        raise BadConfig(f"unknown theme {value!r}; use {' '.join(names)}")


_TRIED = {"model": _try_model, "theme": _try_theme}


def theme_names() -> tuple[str, ...]:
    """Return the themes of the chat; none if it is not installed."""
    try:
        from textual.theme import BUILTIN_THEMES
    except ImportError:
        return ()
    from ...tui import theme_of

    ours = (theme_of({}), theme_of({"COLORFGBG": "0;15"}))
    return (*ours, *sorted(BUILTIN_THEMES))


def _toml(value: Any) -> str:
    return json.encode(value).decode()
