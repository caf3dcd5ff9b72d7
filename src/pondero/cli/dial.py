"""``plan``, ``levels`` and ``models``: the dial, on paper."""

from typing import Any

import click

from ..client import levels as ladder
from ..client import lookup
from ..client import models as catalogued
from ..client import plan as planned
from . import completing
from .examples import examples
from .policies import POLICY, policy_of
from .sheet import print_plan


@click.command(
    epilog=examples(
        "pondero plan claude-sonnet-4-5/high --temperature 0.2",
        "pondero plan gpt-5 --thinking off",
        "pondero plan openrouter:anthropic/claude-opus-5/8k --json",
        "pondero plan gemini-2.5-pro/medium --policy budgets=fixed",
    )
)
@click.argument("model", metavar="MODEL[/LEVEL]", shell_complete=completing.model)
@click.option(
    "--thinking", metavar="X", help="A level, on, off, a number such as 8000 or 8k, or JSON fields."
)
@click.option("--max-tokens", type=int, metavar="N", help="The cap you will send.")
@click.option("--temperature", type=float, metavar="T", help="The temperature you would send.")
@click.option("--top-p", type=float, metavar="P", help="The top_p you would send.")
@click.option("--top-k", type=int, metavar="K", help="The top_k you would send.")
@click.option("--tools", is_flag=True, help="The request will carry tools.")
@click.option(
    "--tool-choice",
    default="auto",
    show_default=True,
    metavar="X",
    help="auto, none, required, or a tool's name.",
)
@click.option("--policy", "policies", multiple=True, metavar="K=V", help=POLICY)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    model: str, *, thinking: str | None, policies: tuple[str, ...], as_json: bool, **asked: Any
) -> None:
    """Show what would be sent to MODEL for a level, and why."""
    made = planned(model, _wish(thinking), policy=policy_of(policies), **asked)
    if as_json:
        click.echo(_json(made.to_json()))
    else:
        print_plan(made)


@click.command(
    epilog=examples(
        "pondero levels claude-opus-5",
        "pondero levels gemini-2.5-flash --policy budgets=fixed",
        "pondero levels gpt-5.1 --json",
    )
)
@click.argument("model", shell_complete=completing.model)
@click.option("--max-tokens", type=int, metavar="N", help="The cap you will send.")
@click.option("--policy", "policies", multiple=True, metavar="K=V", help=POLICY)
@click.option("--json", "as_json", is_flag=True, help="Print the ladder as JSON.")
def levels(model: str, *, max_tokens: int | None, policies: tuple[str, ...], as_json: bool) -> None:
    """Show every level of MODEL, and what each becomes there."""
    plans = ladder(model, max_tokens=max_tokens, policy=policy_of(policies))
    if as_json:
        first = plans[0]
        head = {"model": first.model, "dialect": first.dialect, "family": first.family}
        click.echo(_json({**head, "levels": [made.to_json() for made in plans]}))
        return
    from .tables import print_ladder

    print_ladder(lookup().entry(model), plans)


@click.command(
    epilog=examples(
        "pondero models --provider anthropic",
        "pondero models --json | jq '.models[].id'",
        "pondero models --refresh https://models.dev/api.json    what is new there",
    )
)
@click.option(
    "--provider",
    metavar="P",
    help="Only this provider's models.",
    shell_complete=completing.provider,
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.option(
    "--refresh", metavar="URL|FILE", help="Compare with a list in the shape of models.dev."
)
@click.option("--write", is_flag=True, help="With --refresh: write your models.toml.")
@click.option("--yes", is_flag=True, help="With --write: do not ask.")
def models(
    *, provider: str | None, as_json: bool, refresh: str | None, write: bool, yes: bool
) -> None:
    """List the models the catalog knows, and what each can do."""
    if refresh is not None:
        from .refresh import refresh as compared

        compared(refresh, provider=provider, as_json=as_json, write=write, yes=yes)
        return
    if write or yes:
        message = "--write and --yes go with --refresh"
        raise click.UsageError(message)
    entries = catalogued(provider)
    if as_json:
        click.echo(_json({"models": [entry.to_json() for entry in entries]}))
        return
    if not entries:
        click.echo(f"no names are listed for {provider}: it takes any, {provider}:NAME", err=True)
        return
    from .tables import print_models

    print_models(entries)


def _wish(text: str | None) -> object:
    if text is None or not text.lstrip().startswith("{"):
        return text
    from msgspec.json import decode

    try:
        return decode(text)
    except ValueError as error:
        message = f"{text!r} is not JSON: {error}"
        raise click.BadParameter(message, param_hint="--thinking") from None


def _json(value: Any) -> str:
    from msgspec.json import encode
    from msgspec.json import format as pretty

    return pretty(encode(value), indent=2).decode()
