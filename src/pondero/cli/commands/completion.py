"""``completion``: the script for a shell, and what it offers while a command is typed."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from ..command import examples
from ..output.echo import echo

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(complete: Callable[[str], Iterable[str | CompletionItem]]) -> Completer:
    def complete_for_click(
        _context: click.Context, _parameter: click.Parameter, typed: str
    ) -> list[CompletionItem]:
        found = complete(typed)
        return [CompletionItem(each) if isinstance(each, str) else each for each in found]

    return complete_for_click


@_completer
def model(typed: str) -> Iterable[str]:
    """Return the model strings that begin with this; for a whole name, its levels too."""
    from ...client import complete, level_choices

    found = complete(typed)
    if found == (typed,) and "/" not in typed.rpartition(":")[2]:
        return (typed, *(f"{typed}/{level}" for level in level_choices(typed)))
    return found


def first_model(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Return model strings for the first of several words; the others are the user's."""
    said: Any = context.params.get(parameter.name or "") or context.params.get("models")
    return [] if said else model(context, parameter, typed)


@_completer
def level(typed: str) -> Iterable[str]:
    """Return lists of levels that begin with this: the last of them completed."""
    from ...thinking import LEVELS

    before, comma, last = typed.rpartition(",")
    return (f"{before}{comma}{each}" for each in LEVELS if each.startswith(last))


@_completer
def template(typed: str) -> Iterable[str]:
    """Return the templates whose names begin with this."""
    from ...store import template_names

    return (each for each in template_names() if each.startswith(typed))


@_completer
def server(typed: str) -> Iterable[str]:
    """Return the MCP servers of config.toml whose names begin with this."""
    from ...errors import PonderoError
    from ...store import load_tool_servers

    try:
        return [each for each in load_tool_servers() if each.startswith(typed)]
    except PonderoError:
        return ()


@_completer
def thread(typed: str) -> Iterable[CompletionItem]:
    """Return the ids of threads that begin with this, each with its title."""
    from ...canon import escape_controls
    from ...errors import PonderoError
    from ...store import Threads

    try:
        with Threads.open() as threads:
            found = threads.list(limit=200)
    except PonderoError:
        return ()
    items = [CompletionItem(each.id, help=escape_controls(each.title)) for each in found]
    last = CompletionItem("last", help="the last used")
    return (each for each in (last, *items) if each.value.startswith(typed))


@_completer
def provider(typed: str) -> Iterable[CompletionItem]:
    """Return the providers that begin with this."""
    from ...client import load_catalog

    providers = load_catalog().catalog.providers.values()
    found = (each for each in providers if each.name.startswith(typed))
    return (CompletionItem(each.name, help=each.label) for each in found)


@_completer
def setting(typed: str) -> Iterable[str]:
    """Return the settings that begin with this."""
    from ...store import SETTINGS

    return (each for each in SETTINGS if each.startswith(typed))


@_completer
def policy(typed: str) -> Iterable[str]:
    """Return the policy choices that begin with this, each with its value."""
    from ...thinking import CHOICES, TOKENS

    choices = [f"{name}={value}" for name, values in CHOICES.items() for value in values]
    choices += [f"{name}={usual}" for name, usual in TOKENS.items()]
    return (each for each in choices if each.startswith(typed))


# bash takes provider:model and name=value for several words. Its own setting of that is everyone's
# (COMP_WORDBREAKS), so the words are put together here, and what bash has already is left off.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local response completion type value gap typed char i had="" rest="$COMP_LINE"
    local -a words=()

    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap="${rest%%%%[![:space:]]*}"
        rest="${rest#"$gap"}"
        rest="${rest#"${COMP_WORDS[i]}"}"
        if [[ $i -eq 0 || -z $COMP_LINE || -n $gap ]]; then
            words+=("${COMP_WORDS[i]}")
        else
            words[${#words[@]}-1]+="${COMP_WORDS[i]}"
        fi
    done
    typed="${words[${#words[@]}-1]}"
    for char in : = @; do
        if [[ $COMP_WORDBREAKS == *"$char"* && $typed == *"$char"* ]]; then
            gap="${typed%%"${typed##*"$char"}"}"
            [[ ${#gap} -gt ${#had} && -n $COMP_LINE ]] && had="$gap"
        fi
    done

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) \
        %(complete_var)s=bash_complete $1)

    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("${value#"$had"}")
        fi
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    source_template = _BASH


class _Fish(FishComplete):
    # A title may have a comma; click's own script would cut it off there.
    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $env:%(complete_var)s = "powershell_complete"
    $env:COMP_WORDS = ($commandAst.CommandElements | ForEach-Object { $_.ToString() }) -join "`n"
    $env:COMP_WORD = $wordToComplete
    try {
        %(prog_name)s | ForEach-Object {
            $type, $value = $_ -split ",", 2
            if ($type -eq "plain") {
                [System.Management.Automation.CompletionResult]::new(
                    $value, $value, "ParameterValue", $value)
            }
        }
    } finally {
        Remove-Item Env:%(complete_var)s, Env:COMP_WORDS, Env:COMP_WORD
    }
}
"""


class _PowerShell(ShellComplete):
    """PowerShell hands over the words of the line, and the one under the cursor."""

    name = "powershell"
    source_template = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one that is typed."""
        words = os.environ.get("COMP_WORDS", "").splitlines()[1:]
        typed = os.environ.get("COMP_WORD", "")
        return (words[:-1] if typed and words[-1:] == [typed] else words), typed

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line that the script reads."""
        return f"{item.type},{item.value}"


add_completion_class(_PowerShell)  # click has no class of its own for it
_SHELLS = {"bash": _Bash, "zsh": ZshComplete, "fish": _Fish, "powershell": _PowerShell}


@click.command(
    epilog=examples(
        'bash:  eval "$(pondero completion bash)"            in ~/.bashrc',
        'zsh:   eval "$(pondero completion zsh)"             in ~/.zshrc',
        "fish:  pondero completion fish > ~/.config/fish/completions/pondero.fish",
        "powershell, in $PROFILE:",
        "       pondero completion powershell | Out-String | Invoke-Expression",
    )
)
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    made = _SHELLS[shell](context.find_root().command, {}, "pondero", "_PONDERO_COMPLETE")
    echo(made.source())
