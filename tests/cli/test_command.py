"""What ``--help`` lists, what a wrong command is told, and a reader that goes away."""

import os
import subprocess
import sys

import click
import pytest

from pondero.cli.app import app
from pondero.cli.command import describe_usage_error

_CONTEXT = click.Context(app)
_COMMANDS = [app.get_command(_CONTEXT, name) for name in app.list_commands(_CONTEXT)]
_GROUPS = [app, *(command for command in _COMMANDS if isinstance(command, click.Group))]
_ALL = [
    *_COMMANDS,
    *(group.get_command(_CONTEXT, name) for group in _GROUPS[1:] for name in group.commands),
]


def _help(command, width):
    return command.get_help(command.context_class(command, terminal_width=width))


@pytest.mark.parametrize("group", _GROUPS, ids=lambda group: group.name)
@pytest.mark.parametrize("width", [78, 58, 38])
def test_no_command_is_cut_short_in_a_list(group, width):
    listed = " ".join(_help(group, width).split())
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert f"{name} {command.get_short_help_str(10_000)}" in listed


@pytest.mark.parametrize("group", _GROUPS, ids=lambda group: group.name)
def test_on_eighty_columns_every_command_of_a_list_has_one_line(group):
    _, _, listed = _help(group, 78).partition("Commands:\n")
    rows, _, _ = listed.partition("\n\n")
    names = group.list_commands(click.Context(group))
    assert [row.split()[0] for row in rows.splitlines()] == names


@pytest.mark.parametrize("command", [app, *_ALL], ids=lambda command: command.name)
def test_no_help_is_wider_than_eighty_columns(command):
    assert [line for line in _help(command, 78).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", [app, *_ALL], ids=lambda command: command.name)
def test_help_fits_forty_columns_but_for_a_word_that_is_longer(command):
    wide = [line for line in _help(command, 38).splitlines() if len(line) > 40]
    assert [line for line in wide if len(line.split()) > 1] == []


@pytest.mark.parametrize(
    ("typed", "meant"), [(["plann"], "plan"), (["thread"], "threads"), (["threads", "lst"], "list")]
)
def test_a_command_that_is_none_is_told_the_nearest(call, typed, meant):
    code, out, err = call(*typed)
    assert (code, out) == (2, "")
    assert f"(did you mean '{meant}'" in err


def test_a_command_that_resembles_none_is_told_all_of_its_group(call):
    code, _, err = call("config", "list")
    assert code == 2
    assert "no such command 'list'; use edit, get, path, set or unset; see" in err
    assert "; see 'pondero --help'" in call("xyzzy")[2]


@pytest.mark.parametrize(
    ("typed", "guesses"),
    [
        (["ask", "--templat"], "'--template' or '--plain'"),
        (["ask", "--thinkng"], "'--thinking' or '--no-thinking'"),
        (["launhc"], "'launch' or 'plan'"),
        (["ask", "--jsn"], "'--json'"),
        (["ask", "--ofline"], "'--offline' or '--json-lines'"),  # --file is not in the help
    ],
)
def test_the_nearest_of_several_guesses_stands_first(call, typed, guesses):
    code, out, err = call(*typed)
    assert (code, out) == (2, "")
    help_of = " ".join(("pondero", *typed[:-1]))
    wrong = f"{typed[-1]!r} (did you mean {guesses}?)"
    assert err.startswith("pondero: no such ")
    assert err.endswith(f" {wrong}; see '{help_of} --help'\n")


@pytest.mark.parametrize("command", _ALL, ids=lambda command: command.name)
def test_a_flag_that_lacks_its_last_letter_is_guessed_first(command):
    flags = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    for flag in flags:
        typed = flag[:-1]
        if not flag.startswith("--") or typed in flags or len(typed) < 5:
            continue
        with pytest.raises(click.NoSuchOption) as wrong:
            command.make_context(command.name, [typed], resilient_parsing=False)
        _, _, guesses = describe_usage_error(wrong.value).partition("(did you mean ")
        assert guesses.startswith(f"'{typed}")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["ask", "-modle", "opus", "hi"], "--model"),
        (["ask", "opus", "-usage", "hi"], "--usage"),
        (["threads", "list", "-limt", "2"], "--limit"),
    ],
)
def test_a_long_option_with_one_dash_is_not_read_as_letters(call, typed, meant):
    code, out, err = call(*typed)
    wrong = next(word for word in typed if word.startswith("-"))
    assert (code, out) == (2, "")
    command = " ".join(("pondero", *typed[: 2 if typed[0] == "threads" else 1]))
    said = f"no such option {wrong!r} (did you mean {meant!r}?)"
    assert err == f"pondero: {said}; see '{command} --help'\n"


def test_a_level_as_an_option_says_where_it_belongs(call):
    code, _, err = call("chat", "--thinking", "high")
    assert code == 2
    assert "; write the level after the model: MODEL/high; see" in err


def test_letters_with_one_dash_and_words_after_two_are_as_they_are(call):
    assert call("ask", "--offline", "--no-save", "-mopus", "--", "-usage")[0] == 0


def test_an_answer_whose_reader_has_gone_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    pondero = [sys.executable, "-c", "from pondero.cli import main; main()"]
    done = subprocess.run(
        [*pondero, "ask", "--offline", "--no-save", "claude-opus-5/low", "What is 2 * 3?"],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
