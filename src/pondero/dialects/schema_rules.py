"""What each service takes of JSON Schema, for answers and for functions, as values."""

from typing import Literal

from msgspec import Struct

_STRINGS = ("minLength", "maxLength", "pattern")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ARRAYS = ("uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems")
_OBJECTS = ("minProperties", "maxProperties", "propertyNames", "unevaluatedProperties")
_LOGIC = ("not", "if", "then", "else", "dependentRequired", "dependentSchemas")
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")


class SchemaRules(Struct, frozen=True, kw_only=True):
    """The schemas that a service takes; the exchange fits others to them.

    ``strict`` is the value of the API's flag (None: it has none). ``wraps``: the root must be an
    object. ``closed``: objects list all their keys. ``all_required``: optional keys are required
    and may be null. ``any_value``, ``tuples``, ``all_of``, ``one_of``, ``const``: these are taken.
    ``enum_types``: the JSON types of enum values (empty: all). ``recursion``: where a schema may
    contain itself. ``ref_word`` holds a reference that has other keywords with it (empty: they
    may be in one schema). ``described``: keywords that go into the description. ``formats``: those
    taken (empty: all). ``max_...``: limits of the whole schema (None: no limit).
    """

    strict: bool | None = None
    wraps: bool = True
    closed: bool = False
    all_required: bool = False
    any_value: bool = True
    tuples: bool = True
    all_of: bool = True
    one_of: bool = True
    const: bool = True
    enum_types: frozenset[type] = frozenset()
    recursion: Literal["anywhere", "optional", "nowhere"] = "anywhere"
    ref_word: Literal["", "anyOf", "allOf"] = ""
    described: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()
    max_min_items: int | None = None
    max_levels: int | None = None
    max_properties: int | None = None
    max_optional: int | None = None
    max_unions: int | None = None


class OutputSupport(Struct, frozen=True, kw_only=True):
    """How a dialect asks for JSON; the catalog says which way each model takes.

    ``strict`` are the rules of an enforced schema, ``plain`` of another; ``json_mode``: any JSON
    may be asked for without a schema. ``json_word``: where the prompt must then name JSON.
    ``prefill``: a format may be combined with an answer begun for the model.
    """

    strict: SchemaRules | None = None
    plain: SchemaRules | None = None
    json_mode: bool = True
    json_word: Literal["", "prompt", "messages"] = ""
    prefill: bool = True


class ToolRules(Struct, frozen=True, kw_only=True):
    """The functions that a service takes; the exchange fits others to them.

    A name has at most ``name_length`` letters of the class ``name_letters``, and begins with one
    of ``name_begins``; empty: any name. ``strict`` are the rules of an enforced schema (None: the
    service checks none), ``most_strict`` how many tools may be enforced at once, and ``loose`` is
    the flag of a tool that is not. ``root_unions``: the root of a schema may be a union.
    ``text_tools``: the service has tools that take a text (a quirk of this name overrides it).
    ``complete``: also in a schema that is not enforced, arrays need ``items``, or these and the
    root ``properties``. ``valid``: it must be one of draft 2020-12. ``keys``: the pattern of the
    root's keys; empty: any.
    """

    name_letters: str = "A-Za-z0-9_-"
    name_begins: str = "A-Za-z0-9_-"
    name_length: int = 64
    strict: SchemaRules | None = None
    most_strict: int | None = None
    loose: bool | None = None
    root_unions: bool = False
    text_tools: bool = False
    complete: Literal["", "arrays", "root"] = ""
    valid: bool = False
    keys: str = ""


CLAUDE_KEYS = "[a-zA-Z0-9_.-]{1,64}"  # the error's own words; see property_keys in the rejections

# pydantic-ai 2.66.0 profiles/openai.py, and probes of 2026-09-10: wires/strict-schemas, section 3
OPENAI_STRICT = SchemaRules(
    strict=True,
    closed=True,
    all_required=True,
    any_value=False,
    tuples=False,
    all_of=False,
    one_of=False,
    const=False,
    ref_word="anyOf",
    described=frozenset((*("minLength", "maxLength", "default"), *_ARRAYS, *_OBJECTS, *_LOGIC)),
    formats=frozenset(_FORMATS),
    max_levels=10,
    max_properties=5_000,
)
# A schema that is not strict is taken as it is, if its root is an object: section 3
OPENAI_PLAIN = SchemaRules(strict=False)
# Hosts that speak like OpenAI: some reject the flag's value, so none is sent: section 6
HOST_PLAIN = SchemaRules()

# anthropic 2.8.0 transform_schema, and recordings of its limits: section 4
CLAUDE = SchemaRules(
    closed=True,
    any_value=False,
    tuples=False,
    one_of=False,
    recursion="nowhere",
    ref_word="allOf",
    described=frozenset(
        (*_STRINGS, *_NUMBERS, *_ARRAYS, *_OBJECTS, *_LOGIC, "maxItems", "default", "examples")
    ),
    formats=frozenset((*_FORMATS, "uri")),
    max_min_items=1,
    max_optional=24,
    max_unions=16,
)

# Google, GenerationConfig.responseJsonSchema: other keywords are ignored: section 5
GEMINI = SchemaRules(
    wraps=False,
    all_of=False,
    one_of=False,
    const=False,
    enum_types=frozenset((str, int, float)),
    recursion="optional",
    ref_word="anyOf",
    described=frozenset(
        (
            *_STRINGS,
            *_ARRAYS,
            *_OBJECTS,
            *_LOGIC,
            *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "default", "examples"),
            "patternProperties",
        )
    ),
)

# Ollama turns any schema into a grammar: section 6
GRAMMAR = SchemaRules(wraps=False)
