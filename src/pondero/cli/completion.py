"""``completion``: a script that teaches a shell our commands, models and levels."""

import click
from click.shell_completion import get_completion_class

from .examples import examples

# bash would take provider:model for three words.
_FIRST = {"bash": 'COMP_WORDBREAKS="${COMP_WORDBREAKS//:/}"\n'}


@click.command(
    epilog=examples(
        'bash:  eval "$(pondero completion bash)"            in ~/.bashrc',
        'zsh:   eval "$(pondero completion zsh)"             in ~/.zshrc',
        "fish:  pondero completion fish > ~/.config/fish/completions/pondero.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click has these three
    made = kind(context.find_root().command, {}, "pondero", "_PONDERO_COMPLETE")
    click.echo(f"{_FIRST.get(shell, '')}{made.source()}")
