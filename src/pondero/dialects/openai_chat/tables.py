"""The services that speak this wire, from their tables: what each takes and gives back."""

import re
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from ...canon import Json

_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4}|latest)$")


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one line of models takes.

    ``thinks``: no, off (unless asked), on (unless told not to), always. ``tools``: whether
    function tools go with thinking. ``elsewhere``: known, and not on this surface.
    """

    match: tuple[str, ...] = ()
    thinks: Literal["no", "off", "on", "always"] = "no"
    efforts: tuple[str, ...] = ()
    default: str | None = None
    max_output: int | None = None
    tools: bool = True
    refuses: tuple[str, ...] = ()
    elsewhere: bool = False


class Knob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to ask for thinking: where it stands, and what its values mean."""

    path: tuple[str, ...]
    kind: Literal["effort", "toggle", "budget"]
    on: tuple[Json, ...] = ()
    off: tuple[Json, ...] = ()


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One service. ``words`` are the fields of the clones that a strict one knows all the same.

    ``other`` is any model without a row; where there is none, such a model is not found.
    ``sampling``: while thinking, any value or only the default. ``outside``: thinking is counted
    beside the completion. ``must_replay``: what it says to a call that lost its thinking.
    ``error``: the shape of its errors. ``keyless``: deployments that ask for no key.
    """

    key_missing: str
    thinking: Literal[
        "none",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "content_chunks",
        "think_tags",
    ]
    names: tuple[str, ...] = ()
    strict: bool = False
    words: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    knob: tuple[Knob, ...] = ()
    model: tuple[Model, ...] = ()
    other: Model | None = None
    sampling: Literal["any", "default"] = "any"
    must_replay: str | None = None
    bad_seal: str = "The signature of a thought that was sent back is not valid."
    outside: bool = False
    obfuscation: bool = False
    usage: Literal["asked", "always"] = "asked"
    error: Literal["nested", "flat", "string"] = "nested"
    keyless: tuple[str, ...] = ()

    def find(self, name: str) -> Model | None:
        """Return the row of a model; a dated snapshot or a fine-tune is its model."""
        name = name.split(":")[1] if name.startswith("ft:") and name.count(":") > 1 else name
        for candidate in (name, _SNAPSHOT.sub("", name)):
            for model in self.model:
                if candidate in model.match:
                    return model
        return self.other


@cache
def _services() -> dict[str, Service]:
    text = files(__package__).joinpath("service.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=dict[str, Service])


@cache
def service(name: str) -> Service:
    """Return a service's table; one nobody described is a compatible one."""
    tables = _services()
    for key, table in tables.items():
        if name == key or name in table.names:
            return table
    return tables["compatible"]
