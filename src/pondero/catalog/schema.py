"""The types of a catalog: families (facts of models) and providers (deployments)."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from msgspec import Meta, Raw, Struct

from ..thinking import SAMPLING, Capability, ParameterRanges, Placement


class _Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A row of the data files."""


class Family(_Row, frozen=True, kw_only=True):
    """Models with the same capability; ``newest_of``: lines whose unknown members belong here."""

    name: str
    match: tuple[str, ...]
    newest_of: tuple[str, ...] = ()
    capability: Capability


class FamilyGroup(_Row, frozen=True, kw_only=True):
    """The families of one file; a bare model name means the provider ``home``.

    ``words``: words of several makers that mean a line of this group, as ``flash``. ``flagship``:
    the line that the group's first word alone means, if its newest family does not say it.
    """

    home: str | None = None
    words: tuple[str, ...] = ()
    flagship: str = ""
    family: tuple[Family, ...] = ()


class UrlVariable(_Row, frozen=True, kw_only=True):
    """A blank in a URL: the first set ``env``, else ``default``; ``words``: spellings.

    ``after``: if the model's own name is a path, what follows this part of it counts before all.
    """

    env: tuple[str, ...] = ()
    after: str = ""
    default: str | None = None
    words: Mapping[str, str] = {}


BatchShape = Literal["messages", "files", "operations", "jobs", "requests", "inline"]
"""How a batch is submitted, polled and read; several providers share a shape."""


class BatchTerms(_Row, frozen=True, kw_only=True):
    """A provider's terms for batches; ``factor`` is the share of the usual price.

    ``requests`` and ``bytes`` limit one batch. With ``one_model`` all requests must have the same
    model, whose name ends in ``suffix``. ``excludes`` has prefixes of models without batches.
    Nothing of a batch is left ``kept_days`` after its creation.
    """

    shape: BatchShape
    factor: Annotated[float, Meta(gt=0, le=1)] = 0.5
    requests: Annotated[int, Meta(ge=1)] | None = None
    bytes: Annotated[int, Meta(ge=1)] | None = None
    one_model: bool = False
    suffix: str = ""
    excludes: tuple[str, ...] = ()
    kept_days: Annotated[float, Meta(gt=0)] = 31.0


OutputMode = Literal["strict", "schema", "json", "prompt"]
"""How a JSON answer is asked for: an enforced schema, a schema, JSON mode, or in words alone."""


class OutputModes(_Row, frozen=True, kw_only=True):
    """Patterns of the models that take each way to ask for JSON; the longest that matches wins.

    ``alone``: models that take a format only without tools. ``inline``: definitions are written
    out where they are used.
    """

    strict: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    inline: bool = False

    def find(self, model: str) -> OutputMode | None:
        """Return the way for a model; None if nothing is known."""
        name = model.lower()
        ways: dict[OutputMode, tuple[str, ...]] = {
            "strict": self.strict,
            "schema": self.schema,
            "json": self.json,
            "prompt": self.prompt,
        }
        found = [
            (len(pattern), way)
            for way, patterns in ways.items()
            for pattern in patterns
            if fnmatchcase(name, pattern)
        ]
        return max(found)[1] if found else None

    def is_alone(self, model: str) -> bool:
        """Return whether a format and tools exclude each other on a model."""
        return any(fnmatchcase(model.lower(), each) for each in self.alone)


class ModelQuirks(_Row, frozen=True, kw_only=True):
    """Quirks of some of a provider's models; ``match`` has names and patterns, in small letters."""

    match: tuple[str, ...]
    quirks: Mapping[str, Any]
    source: str = ""


class RejectedFields(_Row, frozen=True, kw_only=True):
    """Fields of an API that some of a provider's models reject, with the names joined by dots.

    ``when``: always, only while the model thinks, or only if the answer is streamed.
    """

    fields: tuple[str, ...]
    match: tuple[str, ...] = ("*",)
    when: Literal["always", "thinking", "streaming"] = "always"
    source: str


class SharedLimits(_Row, frozen=True, kw_only=True):
    """Models whose requests a provider counts together; ``match`` has names and patterns.

    ``name`` is not that of a model.
    """

    name: str
    match: tuple[str, ...]
    source: str


BoundTo = Literal["organisation", "region", "cloud", "none"]
"""Who can use what a service signed: one organisation, one address, or every account."""


class SignatureBinding(_Row, frozen=True, kw_only=True):
    """What a provider's signatures are bound to, besides the model.

    ``organisation``: the account behind the key; ``region``: the address, such as an Azure
    resource; ``cloud``: the provider as a whole; ``none``: other providers of the maker take them
    too, or nothing is signed. Without a source it is not known, and treated as bound.
    """

    bound_to: BoundTo = "organisation"
    source: str = ""


class Provider(_Row, frozen=True, kw_only=True):
    """A deployment: its address, its key, and where thinking fields go in its requests.

    ``signers`` has variables of an account that signs requests if there is no key.
    ``claims`` has prefixes of bare names that mean this one. If ``spells``, a known name is sent in
    our spelling. ``strip`` has prefixes to remove before the search; ``prefix`` is added to names
    without their maker. ``absent`` has models it does not serve, ``unshown`` prefixes of models
    that cannot show thinking, ``on_suffixes`` endings of names that switch it on, ``siblings``
    prefixes of models that another of our providers serves. ``text_only`` has names and patterns of
    models that take neither images nor files, ``imageless`` of those that take no images,
    ``toolless`` of those that take no function tools. ``output_limits`` has the most tokens that
    models write here, ``tool_limits`` the most tools that they take: by pattern, the first that
    matches. If ``exact``, it accepts the same fields as
    its dialect's home. ``hosted`` has the tools that it runs itself. ``fill`` has the
    values of ``{blanks}`` in its address. ``override`` has facts of a family that differ here,
    ``ranges`` minimum and maximum of a parameter, ``fields`` further fields of its dialect that it
    takes (``*``: any; none: not known), ``rejects`` those that some models reject.
    ``in_band``: patterns of models that take a level inside the conversation; ``in_band_without``:
    fields of a request with which none does (``a.b``, or ``a.b=value``). ``prefix_bound``: patterns
    of models whose signatures cover everything before them.
    ``model_quirks`` are added to ``quirks`` for the models that they match, in
    their order. ``output_buffer`` is the number of output tokens to leave free. ``output`` says how
    each model takes a JSON answer's shape. ``signatures`` says which accounts can use what it
    signed, ``shared_limits`` which models share their rate limits. ``telemetry`` is its name in
    OpenTelemetry's conventions for generative AI, if they have one.
    """

    name: str
    label: str
    telemetry: str = ""
    dialect: str
    url: str
    exact: bool = False
    path: str = ""
    url_env: tuple[str, ...] = ()
    fill: Mapping[str, UrlVariable] = {}
    start: str = ""
    keys: tuple[str, ...] = ()
    signers: tuple[str, ...] = ()
    auth: Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "aws", "none"] = "bearer"
    families: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    spells: bool = False
    strip: tuple[str, ...] = ()
    prefix: Mapping[str, str] = {}
    absent: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    on_suffixes: tuple[str, ...] = ()
    text_only: tuple[str, ...] = ()
    imageless: tuple[str, ...] = ()
    toolless: tuple[str, ...] = ()
    output_limits: Mapping[str, Annotated[int, Meta(ge=1)]] = {}
    tool_limits: Mapping[str, Annotated[int, Meta(ge=1)]] = {}
    siblings: Mapping[str, str] = {}
    aliases: Mapping[str, str] = {}
    parameters: Mapping[str, tuple[str, ...]] = {}
    ranges: Mapping[str, tuple[int | float, ...]] = {}
    max_tokens_required: bool = False
    placement: Mapping[str, Placement] = {}
    override: Mapping[str, Capability] = {}
    quirks: Mapping[str, Any] = {}
    model_quirks: tuple[ModelQuirks, ...] = ()
    hosted: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    rejects: tuple[RejectedFields, ...] = ()
    in_band: tuple[str, ...] = ()
    in_band_without: tuple[str, ...] = ()
    prefix_bound: tuple[str, ...] = ()
    api: str = ""
    batch: BatchTerms | None = None
    output: OutputModes = OutputModes()
    shared_limits: tuple[SharedLimits, ...] = ()
    signatures: SignatureBinding = SignatureBinding()
    output_buffer: Annotated[int, Meta(ge=0)] | None = None
    source: str
    checked: str

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Return the variables that give access: of its keys, and of an account that signs."""
        return (*self.keys, *self.signers)

    def name_limits(self, model: str) -> str:
        """Return the name of a model's rate limits: its own, or that of all which share them."""
        if self.shared_limits:
            name = model.lower()
            for each in self.shared_limits:
                if any(fnmatchcase(name, pattern) for pattern in each.match):
                    return each.name
        return model

    @property
    def surface(self) -> ParameterRanges:
        """Return the API's parameter limits, whatever the model."""
        names = frozenset(name for name in ("max_tokens", *SAMPLING) if name in self.parameters)
        return ParameterRanges(names, self.max_tokens_required, self.ranges)


def own_group(provider: str) -> str:
    """Return the name of the group with the models that users added to a provider."""
    return f"{provider} (yours)"


class NamePatterns(_Row, frozen=True, kw_only=True):
    """Additions to a name that leave the model the same.

    ``marks`` and ``paths`` come before it, ``dates`` after it; ``#`` is a digit. ``statuses`` are
    words such as preview, ``tunings`` such as instruct, ``generic`` those that are no short name
    alone. ``defaults`` has a short name, or one of its own, for each provider: the model for users
    who have its key and name none.
    """

    marks: str = ""
    paths: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    unthinking: str = ""
    statuses: tuple[str, ...] = ()
    tunings: tuple[str, ...] = ()
    generic: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {}


class ListSnapshot(Struct, frozen=True, forbid_unknown_fields=True):
    """The name and the date of a public list."""

    name: str
    date: str


class Catalog(Struct, frozen=True, kw_only=True):
    """Families and providers by name; ``limits``: context and output, 0 if not ``listed``."""

    groups: Mapping[str, FamilyGroup]
    providers: Mapping[str, Provider]
    names: NamePatterns = NamePatterns()
    limits: Mapping[str, Raw] = {}
    listed: ListSnapshot | None = None

    def extra_words(self) -> frozenset[str]:
        """Return all levels of families beyond the common ones."""
        return frozenset(
            word
            for group in self.groups.values()
            for family in group.family
            for word in family.capability.extra_words
        )
