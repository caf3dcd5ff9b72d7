"""The types of a catalog: families (what a model can do) and providers (where it is served)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Raw, Struct

from ..thinking import SAMPLING, Capability, ParameterRanges, Placement


class Family(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """Models with the same thinking capability.

    ``match`` are beginnings of model names, ending at a boundary, ``*`` for anything between;
    ``newest_of`` are lines whose unknown members are taken for one of these.
    """

    name: str
    match: tuple[str, ...]
    newest_of: tuple[str, ...] = ()
    capability: Capability


class FamilyGroup(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """The families of one file; ``home`` is the provider a bare model name means."""

    home: str | None = None
    family: tuple[Family, ...] = ()


class UrlVariable(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """What fills one blank of an address: the first of ``env`` that is set, else ``default``.

    A default may have blanks of its own; ``words`` are values that are written in another way.
    """

    env: tuple[str, ...] = ()
    default: str | None = None
    words: Mapping[str, str] = {}


BatchShape = Literal["messages", "files", "operations", "jobs", "requests", "inline"]
"""How a batch is handed in, looked at and read; the same at several providers."""


class BatchTerms(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """How a provider takes many requests at once, and the share of the usual price they cost.

    ``requests`` and ``bytes`` are the most that one batch holds. ``one_model`` is whether all of
    them must be for the same model, ``suffix`` what its name ends in there. ``excludes`` are
    beginnings of names of models that are not taken.
    """

    shape: BatchShape
    factor: Annotated[float, Meta(gt=0, le=1)] = 0.5
    requests: Annotated[int, Meta(ge=1)] | None = None
    bytes: Annotated[int, Meta(ge=1)] | None = None
    one_model: bool = False
    suffix: str = ""
    excludes: tuple[str, ...] = ()


class Provider(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """A deployment: where it is, how it is reached, and where thinking stands in its bodies.

    Names: a bare model name that begins with one of ``claims`` (``*`` stands for anything between)
    means this provider. ``spells`` is whether its names are fixed, so that a known one is sent as
    we list it. ``strip`` are prefixes that are taken off a name before the families are searched;
    ``prefix`` is put before a name of that group which was given without its maker. ``absent`` are
    models of its families that it does not serve (``*`` for anything): their names are understood
    and never listed.
    ``unshown`` are beginnings of names of models that cannot be asked to show their thinking.
    ``siblings`` are beginnings of names of models that another deployment of ours serves.

    Wire: ``exact`` is whether it takes what the home of its dialect takes, field for field.

    Address: ``path`` is appended to ``url``, or to the caller's own base URL; ``fill`` says what
    goes into the ``{blanks}`` of both. ``api`` is what the provider calls this surface, where it
    has several. ``start``, for a server that users run themselves, is the hint how to start it and
    which variable holds its address.

    Tools: ``hosted`` are the kinds of tools that the service runs itself.

    Batches: ``batch`` is how they are handed in; None where there are none, or none that we know.

    Limits: ``override`` has the facts of a family that are different here. ``ranges`` are the
    least and the most of a parameter (of ``stop``: how many), the least alone where there is no
    most. ``output_buffer`` is how many tokens of output the provider advises to leave room for.
    """

    name: str
    label: str
    dialect: str
    url: str
    exact: bool = False
    path: str = ""
    url_env: tuple[str, ...] = ()
    fill: Mapping[str, UrlVariable] = {}
    start: str = ""
    keys: tuple[str, ...] = ()
    auth: Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "aws", "none"] = "bearer"
    families: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    spells: bool = False
    strip: tuple[str, ...] = ()
    prefix: Mapping[str, str] = {}
    absent: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    siblings: Mapping[str, str] = {}
    aliases: Mapping[str, str] = {}
    parameters: Mapping[str, tuple[str, ...]] = {}
    ranges: Mapping[str, tuple[int | float, ...]] = {}
    max_tokens_required: bool = False
    placement: Mapping[str, Placement] = {}
    override: Mapping[str, Capability] = {}
    quirks: Mapping[str, Any] = {}
    hosted: tuple[str, ...] = ()
    api: str = ""
    batch: BatchTerms | None = None
    output_buffer: Annotated[int, Meta(ge=0)] | None = None
    source: str
    checked: str

    @property
    def surface(self) -> ParameterRanges:
        """Return what this wire allows whatever the model."""
        names = frozenset(name for name in ("max_tokens", *SAMPLING) if name in self.parameters)
        return ParameterRanges(names, self.max_tokens_required, self.ranges)


class NamePatterns(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """What stands around a model's name at any provider and does not make it another model.

    ``marks`` are characters before it, ``paths`` what ends a path before it, ``dates`` are
    endings, with ``#`` for a digit. ``unthinking`` is the group of models that are told by a word
    in their name: embeddings, pictures, speech.
    """

    marks: str = ""
    paths: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    unthinking: str = ""


class ListSnapshot(Struct, frozen=True, forbid_unknown_fields=True):
    """A public list of models: its name, and the day it was taken."""

    name: str
    date: str


class Catalog(Struct, frozen=True, kw_only=True):
    """Everything known, by name.

    ``limits`` are the windows of models as a public list has them, provider by provider: a JSON
    object of names with the tokens of context and of output, 0 where the list does not say.
    ``listed`` is that list, with its date.
    """

    groups: Mapping[str, FamilyGroup]
    providers: Mapping[str, Provider]
    names: NamePatterns = NamePatterns()
    limits: Mapping[str, Raw] = {}
    listed: ListSnapshot | None = None

    def extra_words(self) -> frozenset[str]:
        """Return every level some family has beyond the common ones."""
        return frozenset(
            word
            for group in self.groups.values()
            for family in group.family
            for word in family.capability.extra_words
        )
