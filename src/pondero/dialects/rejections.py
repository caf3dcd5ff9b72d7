"""Why services reject requests: rules as data, each with its wording, source and date.

Each service's side has them in rejections.toml. A test refuses a request for every rule, and
docs/referee.md lists them.
"""

from functools import cache

from msgspec import Struct

from .tables import load_table


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reason for which a service rejects a request.

    ``text`` is its wording, with names in braces for the facts of a request. ``when`` says in plain
    words what is rejected, ``on`` for which models, providers or platforms if not for all.
    ``source`` and ``checked`` say how we know, and since when. ``code`` and ``kind`` are the finer
    names that some APIs give an error.
    """

    when: str
    text: str
    source: str
    checked: str
    on: str = ""
    status: int = 400
    code: str | None = None
    kind: str | None = None


class KnownGap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rejection that a service is known to make and the emulator does not, and why not."""

    when: str
    source: str
    checked: str
    why: str
    on: str = ""


class RuleBook(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in a rejections.toml: the rules by name, and the known gaps."""

    rule: dict[str, Rule]
    gap: tuple[KnownGap, ...] = ()


@cache
def load_rules(package: str) -> RuleBook:
    """Load the rules of a service's side; raises ValidationError if a row is wrong."""
    return load_table(package, "rejections.toml", RuleBook)
