"""A policy as it is said on the command line: choices, one an option."""

from ..errors import BadPolicy
from ..thinking import CHOICES, TOKENS

POLICY = f"A policy choice ({' '.join((*CHOICES, *TOKENS))}); may be repeated."


def policy_of(choices: tuple[str, ...]) -> dict[str, str] | None:
    """Return the choices by name; None where there are none."""
    pairs = [choice.partition("=") for choice in choices]
    for name, equals, _ in pairs:
        if not equals:
            message = f"policy {name!r} has no value; write {name}=VALUE"
            raise BadPolicy(message)
    return {name: value for name, _, value in pairs} or None
