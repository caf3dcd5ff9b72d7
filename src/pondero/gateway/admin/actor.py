"""Who acts in the admin API, and one request of theirs."""

from typing import Literal

from msgspec import Struct

from ...canon import HttpRequest

Role = Literal["admin", "viewer"]
"""A viewer sees what an admin sees, and changes nothing."""
How = Literal["key", "local", "oidc"]
"""How an actor is known: by a key, by using this machine, or by signing in."""


class Actor(Struct, frozen=True):
    """Who acts: a readable name, what they may do, and how that is known."""

    name: str
    role: Role
    how: How

    @property
    def changes(self) -> bool:
        """Return whether the actor may change anything."""
        return self.role == "admin"


LOCAL = Actor("local", "admin", "local")
"""The user of this machine, while no admin key exists."""


class AdminCall(Struct, frozen=True):
    """A request that was let in; ``name`` is the last part of its path, ``address`` its client."""

    http: HttpRequest
    actor: Actor
    name: str = ""
    address: str = ""
