"""A model's name to its facts: nothing guessed from parts of words."""

import tomllib
from datetime import date
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import pytest
from msgspec import structs

import pondero
from pondero.catalog import Lookup, load_shipped
from pondero.catalog.load import DATA
from pondero.emulator import Emulator
from pondero.errors import BadThinking, UnknownModel, UnknownProvider
from pondero.thinking import Evidence

SHIPPED = Lookup(load_shipped())


@pytest.fixture(scope="module")
def finder():
    return SHIPPED


@pytest.mark.parametrize(
    ("text", "provider", "model", "wish"),
    [
        (
            "openrouter:anthropic/claude-opus-5/high",
            "openrouter",
            "anthropic/claude-opus-5",
            "high",
        ),
        ("ollama:qwen3:8b/low", "ollama", "qwen3:8b", "low"),
        ("claude-sonnet-4-5/8k", None, "claude-sonnet-4-5", "8k"),
        ("claude-sonnet-4-5@high", None, "claude-sonnet-4-5", "high"),
        ("anthropic/claude-opus-5", None, "anthropic/claude-opus-5", None),
        ("claude-sonnet-4-5@20250929", None, "claude-sonnet-4-5@20250929", None),
        ("vertex:gemini-2.0-flash@001", "vertex", "gemini-2.0-flash@001", None),
        ("qwen3:8b", None, "qwen3:8b", None),
        ("OpenAI:gpt-5/NONE", "openai", "gpt-5", "NONE"),
        ("gpt-5/12,000", None, "gpt-5", "12,000"),
        ("gpt-5/0", None, "gpt-5", "0"),
        ("claude-sonnet-4-5@20250929/high", None, "claude-sonnet-4-5@20250929", "high"),
        ("vertex:gemini-2.0-flash@001/low", "vertex", "gemini-2.0-flash@001", "low"),
        ("openrouter:acme/max/high", "openrouter", "acme/max", "high"),
    ],
)
def test_a_model_string_is_taken_apart_at_the_last_slash_only_if_a_wish_follows(
    finder, text, provider, model, wish
):
    name = finder.split(text)
    assert (name.provider, name.model, name.level) == (provider, model, wish)


@pytest.mark.parametrize(
    ("text", "found", "family"),
    [
        ("claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5"),
        ("claude-opus-4-20250514", "anthropic", "claude-opus-4"),
        ("claude-opus-4-1-20250805", "anthropic", "claude-opus-4-1"),
        ("claude-opus-5-5", "anthropic", "claude-opus-5-5"),
        ("o3-mini-2025-01-31", "openai", "o-series"),
        ("gpt-5-2025-08-07", "openai", "gpt-5"),
        ("gpt-5.1-2025-11-13", "openai", "gpt-5.1"),
        ("gpt-5.1-codex-max", "openai", "gpt-5.1-codex-max"),
        ("gpt-5-chat-latest", "openai", "gpt-5-chat"),
        ("gpt-4o-mini", "openai", "gpt-4o"),
        ("gemini-2.5-flash-lite-preview-09-2025", "google", "gemini-2.5-flash-lite"),
        ("gemini-2.5-flash-preview-09-2025", "google", "gemini-2.5-flash"),
        ("gemini-2.0-flash-001", "google", "gemini-2"),
        ("models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("gemini-3.0-flash", "google", "gemini-3-flash"),
        ("gemini-3.0-pro", "google", "gemini-3-pro"),
        ("openrouter:anthropic/claude-opus-5:free", "openrouter", None),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", "claude-sonnet-4-5"),
        ("anthropic/claude-opus-5", "openrouter", None),
    ],
)
def test_dates_revisions_regions_and_makers_do_not_matter(finder, text, found, family):
    entry = finder.entry(text)
    assert (entry.provider.name, entry.inferred) == (found, False)
    assert family in (None, entry.family)


@pytest.mark.parametrize(
    ("text", "family"),
    [("gpt-5.9", "gpt-5.6"), ("claude-opus-5-7", "claude-opus-5-5"), ("o5-mini", "o3"),
     ("claude-haiku-7", "claude-haiku-5-5"), ("gemini-5-pro", "gemini-4-argon")],
)  # fmt: skip
def test_a_newer_version_is_not_its_older_namesake(finder, text, family):
    entry = finder.entry(text)
    assert (entry.family, entry.inferred) == (family, True)


def test_a_longer_name_is_not_a_shorter_one_inside_it(finder):
    assert finder.entry("o3-mini").family == "o-series"
    with pytest.raises(UnknownModel):
        finder.entry("o3x")


@pytest.mark.parametrize(
    ("text", "family", "thinks"),
    [
        ("gemini-1.5-flash", "gemini-2", False),
        ("gemini-2.0-flash", "gemini-2", False),
        ("gemini-2.5-flash", "gemini-2.5-flash", True),
        ("gemini-2.5-flash-lite", "gemini-2.5-flash-lite", True),
        ("gemini-2.5-pro", "gemini-2.5-pro", True),
        ("gpt-4o", "gpt-4o", False),
        ("gpt-5", "gpt-5", True),
        ("gpt-5.1", "gpt-5.1", True),
        ("claude-3-5-sonnet-20241022", "claude-3-5", False),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", True),
    ],
)
def test_a_family_is_found_by_its_own_name(finder, text, family, thinks):
    entry = finder.entry(text)
    assert (entry.family, entry.inferred, entry.capability.thinks) == (family, False, thinks)


def test_the_order_of_families_does_not_matter(finder):
    """A longer name wins, wherever it stands in its file: flash-lite before flash or after it."""
    catalog = load_shipped()
    turned = {
        name: structs.replace(group, family=group.family[::-1])
        for name, group in catalog.groups.items()
    }
    backwards = Lookup(structs.replace(catalog, groups=turned))
    for entry in finder.entries():
        assert backwards.entry(entry.id).family == entry.family, entry.id


@pytest.mark.parametrize(
    ("text", "thinks", "off", "unasked"),
    [
        ("gpt-4o", False, False, False),
        ("o3", True, False, True),
        ("gpt-5.1", True, True, False),
        ("claude-opus-5", True, True, True),
        ("claude-sonnet-4-5", True, True, False),
        ("gemini-2.5-pro", True, False, None),
        ("gemini-2.5-flash", True, True, None),
        ("fireworks:minimax-m3", True, False, True),  # where the service has other facts
    ],
)
def test_whether_a_model_thinks_and_can_be_off_is_a_fact_of_its_family(
    finder, text, thinks, off, unasked
):
    entry = finder.entry(text)
    facts = entry.capability
    assert (facts.thinks, facts.off, facts.thinks_unasked) == (thinks, off, unasked)
    told = entry.to_json()
    assert (told["thinks"], told["off"]) == (thinks, off or not thinks)


def test_that_a_model_is_adaptive_is_a_fact_and_not_a_matter_of_its_name(finder):
    adaptive = finder.entry("claude-opus-5")
    budgeted = finder.entry("claude-sonnet-4-5")
    assert adaptive.capability.style != budgeted.capability.style
    catalog = load_shipped()
    swapped = {
        name: structs.replace(group, family=tuple(map(_swapped, group.family)))
        for name, group in catalog.groups.items()
    }
    other = Lookup(structs.replace(catalog, groups=swapped)).entry("claude-opus-5")
    assert other.placement == budgeted.placement


def _swapped(family):
    if family.name != "claude-opus-5":
        return family
    facts = Lookup(load_shipped()).entry("claude-sonnet-4-5").capability
    return structs.replace(family, capability=facts)


@pytest.mark.parametrize(
    ("text", "guess"),
    [("claude-sonet-4-5", "claude-sonnet-4-5"), ("gemni-2.5-pro", "gemini-2.5-pro"),
     ("claude-opsu-5", "claude-opus-5")],
)  # fmt: skip
def test_a_misspelt_model_gets_a_suggestion(finder, text, guess):
    with pytest.raises(UnknownModel, match=f"did you mean .*{guess}"):
        finder.entry(text)


@pytest.mark.parametrize(("text", "names"), [("llama3", 1), ("llama4", 2)])
def test_a_model_without_a_default_provider_is_named_with_each_that_has_it(finder, text, names):
    with pytest.raises(UnknownModel, match="needs the name of its provider: ") as caught:
        finder.entry(text)
    said = str(caught.value).rpartition("provider: ")[2].split(" or ")
    assert len(said) == names
    assert all(each.endswith(f":{text}") for each in said)


@pytest.mark.parametrize(
    "text",
    [
        "claude-opus-5/high/low",
        "claude-opus-5@high/low",
        "anthropic:claude-opus-5/8k/low",
        "openrouter:anthropic/claude-opus-5/low/max",
        "claude-opus-9/low/high",
        "opus/high/low",
        "opus@8k/low",
    ],
)
def test_two_levels_after_one_model_are_an_error_that_names_both(finder, text):
    with pytest.raises(BadThinking, match=r"names two levels, '.*' and '.*'; give one"):
        finder.entry(text)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("anthropic:claude-opus5", "claude-opus-5"),
        ("openai:gpt-51", "gpt-5.1"),
        ("anthropic:claude-sonet-4-5", "claude-sonnet-4-5"),
        ("claude-opus-9", None),
        ("gpt-9", None),
        ("claude-opus", None),
        ("claude-opus-5", None),
    ],
)
def test_a_name_with_the_numbers_of_a_known_one_is_questioned_where_it_goes_on(finder, text, near):
    entry = finder.entry(text)
    assert entry.near == near
    asked = "".join(note.why for note in pondero.plan(text).adjustments)
    assert ("did you mean" in asked, f"did you mean {near!r}?" in asked) == (bool(near), bool(near))


def test_a_provider_said_outright_is_trusted(finder):
    assert finder.entry("anthropic:claude-sonet-4-5").inferred


@pytest.mark.parametrize(
    "text", ["google:\udc00", "claude-\ud800/high", "ollama:a\ud83d", "\ud800"]
)
def test_half_a_character_is_no_part_of_a_name(finder, text):
    with pytest.raises(UnknownModel, match="half a character") as raised:
        finder.entry(text)
    str(raised.value).encode()


@pytest.mark.parametrize(
    "text",
    [
        "gemini-3-flash-previewAnd what is 23 * 3?",
        "gpt-9x foo",
        "ollama:my model",
        "ollama: qwen3",
        "claude opus 5/high",
        "google:gemini 3",
    ],
)
def test_a_name_has_no_spaces(finder, text):
    with pytest.raises(UnknownModel, match="a name has no spaces") as raised:
        finder.entry(text)
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize("text", ["claude-opus-5\n", " claude-opus-5", "claude-opus-5 /high"])
def test_spaces_around_a_name_are_no_part_of_it(finder, text):
    assert finder.entry(text).model == "claude-opus-5"


def test_a_level_after_a_space_is_guessed(finder):
    with pytest.raises(UnknownModel, match=r"did you mean 'gpt-5\.5/high'"):
        finder.entry("gpt-5.5 high")


@pytest.mark.parametrize(
    ("text", "like", "near"),
    [
        ("gemini-3-flash-preview2", "gemini-3-flash", "gemini-3-flash-preview"),
        ("google:gemini-3-flash-preview2", "gemini-3-flash", "gemini-3-flash-preview"),
        ("gpt-5.5-foo", "gpt-5.5", "gpt-5.5"),
        ("claude-opus-5-x/high", "claude-opus-5", "claude-opus-5"),
    ],
)
def test_a_name_that_only_begins_like_a_known_one_says_so(finder, text, like, near):
    entry = finder.entry(text)
    assert (entry.begins_like, entry.near, entry.inferred) == (like, near, False)
    (note,) = pondero.plan(text).adjustments
    why = f"not in the catalog; treated like {like}, with which it begins; did you mean {near!r}?"
    assert (note.code, note.why) == ("unknown_model", why)
    with pytest.raises(UnknownModel):
        pondero.plan(text, policy={"unknown": "error"})
    assert pondero.plan(text, "high", policy={"unknown": "omit"}).fields == {}


@pytest.mark.parametrize(
    "text",
    [
        "claude-opus-5-20260101",
        "gpt-5.5-2026-04-01",
        "claude-sonnet-4-5-latest",
        "gemini-2.5-pro-preview-06-05",
        "mistral:ministral-14b-2512",
        "dashscope:qwen3-30b-a3b",
        "google:gemma-3n-e4b-it",
        "ollama:qwen3:8b-q4",
        "openrouter:openai/gpt-5.5-foo",
        "vllm:qwen3-8b-our-finetune",
    ],
)
def test_a_date_a_size_or_the_name_of_a_host_is_no_unknown_model(finder, text):
    assert finder.entry(text).begins_like == ""


def test_no_name_of_the_catalog_or_of_a_public_list_is_unknown(finder):
    listed = [f"{at}:{name}" for at in finder.catalog.limits for name in finder._list_windows(at)]
    names = (*listed, *(entry.id for entry in finder.entries()))
    assert not [name for name in names if finder.entry(name).begins_like]


def test_a_misspelt_provider_gets_a_suggestion(finder):
    with pytest.raises(UnknownProvider, match="did you mean 'anthropic'"):
        finder.entry("antropic:claude-opus-5")
    with pytest.raises(UnknownProvider, match="did you mean 'google'"):
        finder.entries("gogle")


def test_every_catalogued_name_finds_its_own_row(finder):
    entries = finder.entries()
    assert len(entries) > 300
    assert not [entry.id for entry in entries if entry.inferred]
    for provider in finder.catalog.providers.values():
        served = [f for group in provider.families for f in finder.catalog.groups[group].family]
        for name in {name for family in served for name in family.match if "*" not in name}:
            owners = {family.name for family in served if name in family.match}
            assert finder.entry(f"{provider.name}:{name or 'anything'}").family in owners, name


def test_a_sibling_is_served_beside_the_model_and_thinks_the_other_way(finder):
    pairs = [
        (each, each.capability.sibling) for each in finder.entries() if each.capability.sibling
    ]
    assert pairs
    for entry, name in pairs:
        sibling = finder.entry(f"{entry.provider.name}:{name}")
        assert name in {each.model for each in finder.entries(entry.provider.name)}
        assert sibling.capability.thinks != entry.capability.thinks


def test_every_style_a_family_names_is_placed_by_every_provider_that_serves_it(finder):
    catalog = finder.catalog
    for provider in catalog.providers.values():
        for group in provider.families:
            for family in catalog.groups[group].family:
                facts = provider.override.get(family.name, family.capability)
                assert facts.style is None or facts.style in provider.placement, (
                    provider.name,
                    family.name,
                )


def test_every_fact_has_a_source_and_a_date(finder):
    catalog = finder.catalog
    facts = [f.capability for g in catalog.groups.values() for f in g.family]
    for fact in (*facts, *catalog.providers.values()):
        assert fact.source
        assert date(2025, 1, 1) < date.fromisoformat(fact.checked) <= date(2026, 11, 17)


def test_every_shipped_row_says_how_it_is_known():
    """A row that is written without evidence would be called inferred, and nobody would see it."""
    rows = [
        (path.name, row["name"], row.get("evidence"))
        for path in sorted(Path(DATA, "families").glob("*.toml"))
        for row in tomllib.loads(path.read_text("utf-8"))["family"]
    ]
    assert [row for row in rows if row[2] not in get_args(Evidence)] == []


def test_a_plan_says_how_its_facts_are_known_and_a_guess_says_from_whom():
    known = pondero.plan("gpt-5.6").facts
    assert (known.evidence, known.inferred, known.like) == ("recorded", False, None)
    guess = pondero.plan("gpt-5.9").facts
    assert (guess.evidence, guess.inferred, guess.like) == ("inferred", True, "gpt-5.6")


@pytest.mark.parametrize(
    ("named", "sent"),
    [
        ("azure:claude-opus-5", "azure-anthropic:claude-opus-5"),
        ("azure-chat:claude-sonnet-4-5", "azure-anthropic:claude-sonnet-4-5"),
        ("azure-anthropic:gpt-5.4", "azure:gpt-5.4"),
        ("vertex:claude-haiku-4-5@20251001", "vertex-anthropic:claude-haiku-4-5@20251001"),
        ("vertex:claude-opus-5@default", "vertex-anthropic:claude-opus-5@default"),
        ("vertex-anthropic:gemini-2.5-pro", "vertex:gemini-2.5-pro"),
    ],
)
def test_a_model_of_a_sibling_deployment_goes_there_and_says_so(named, sent):
    made = pondero.plan(named, "high")
    direct = pondero.plan(sent, "high")
    assert (made.model, made.fields, made.facts) == (sent, direct.fields, direct.facts)
    moved, *rest = made.adjustments
    assert (moved.code, moved.asked, moved.got) == ("model_spelt", named, sent)
    assert tuple(rest) == direct.adjustments


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("bedrock:ca.anthropic.claude-opus-5", "claude-opus-5"),
        ("bedrock:arn:aws:bedrock:ca-central-1:1:inference-profile/ca.anthropic.claude-opus-5", "claude-opus-5"),
        ("openrouter:qwen/qwen3.5-flash-02-23", "openrouter-qwen3"),
        ("google:gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("fireworks:accounts/fireworks/models/gpt-oss-120b", "gpt-oss"),
    ],
)  # fmt: skip
def test_regions_dates_and_paths_are_taken_off_by_data(finder, text, family):
    entry = finder.entry(text)
    assert (entry.family, entry.inferred) == (family, False)


@pytest.mark.parametrize(
    "text",
    [
        "openai:text-embedding-3-large", "google:gemini-embedding-002", "openai:gpt-image-3", "openai:gpt-7-transcribe",
        "openai:gpt-realtime-3", "google:gemini-5-flash-live", "google:gemini-5-flash-tts", "mistral:mistral-ocr-2612",
        "openai:omni-moderation-2027", "openrouter:acme/whisper-9", "cohere:rerank-v9", "vllm:acme/embedder-large",
    ],
)  # fmt: skip
def test_a_model_that_its_name_says_does_not_think_is_no_thinker(finder, text):
    entry = finder.entry(text)
    assert (entry.capability.thinks, entry.inferred, entry.why) == (False, True, "word")
    assert pondero.plan(text, "high").fields == {}


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("bedrock:claude-opus-5", "anthropic.claude-opus-5"),
        ("bedrock:anthropic.claude-opus-5", "anthropic.claude-opus-5"),
        ("bedrock:us.anthropic.claude-opus-5", "us.anthropic.claude-opus-5"),
        ("bedrock:amazon.nova-2-lite-v1:0", "amazon.nova-2-lite-v1:0"),
        ("vertex-anthropic:claude-opus-5", "claude-opus-5"),
    ],
)
def test_a_model_without_its_maker_gets_it_where_the_provider_wants_one(finder, text, model):
    assert finder.entry(text).model == model


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("us-gov.anthropic.claude-opus-5", "never"),
        ("arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/us-gov.anthropic.claude-opus-5", "never"),
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "summary"),
        ("us.anthropic.claude-opus-5", "ask"),
    ],
)  # fmt: skip
def test_thinking_is_not_asked_to_be_shown_where_that_is_refused(finder, text, shown):
    assert finder.entry(f"bedrock:{text}").capability.shown == shown


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("GPT-5", "openai:gpt-5"),
        ("Claude-Sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "anthropic:claude-sonnet-4-5"),
        ("Claude-Sonnet-4-5-20250929", "anthropic:claude-sonnet-4-5-20250929"),
        ("claude-4-opus", "anthropic:claude-opus-4-0"),
        ("Claude-4.5-Sonnet", "anthropic:claude-sonnet-4-5"),
        ("Gemini-2.5-Pro", "google:gemini-2.5-pro"),
        ("gemini-2-5-pro", "google:gemini-2.5-pro"),
        ("openai:GPT-5-Mini-2025-08-07", "openai:gpt-5-mini-2025-08-07"),
        ("vertex:Gemini-2.5-Pro", "vertex:gemini-2.5-pro"),
    ],
)
def test_a_recognised_name_is_sent_in_the_services_spelling_and_said(typed, sent):
    made = pondero.plan(typed, policy={"unsupported": "strict"})
    assert made.model == sent
    assert [(note.code, note.asked, note.got) for note in made.adjustments] == [
        ("model_spelt", typed.partition(":")[2] or typed, sent.partition(":")[2])
    ]


@pytest.mark.parametrize(
    "named", ["azure:GPT-5", "vllm:Qwen3-8B", "openai:ft:gpt-4o:My-Org::AbC", "openai:gpt-5"]
)
def test_a_name_of_ones_own_or_spelt_right_is_sent_as_it_is(named):
    made = pondero.plan(named)
    assert made.model == named
    assert "model_spelt" not in [note.code for note in made.adjustments]


@pytest.mark.parametrize(
    ("named", "version"),
    [
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "v1beta1"),
        ("vertex:projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "v1beta1"),
        ("vertex:projects/p/locations/l/endpoints/4611686018427387904", "v1beta1"),
        ("projects/p/locations/l/publishers/anthropic/models/claude-opus-5", "v1"),
    ],
)
def test_a_resource_name_goes_where_it_belongs_and_stands_there_once(named, version):
    client = pondero.Client(transport=Emulator())
    address = urlsplit(client.prepare(named, "hi").request.url)
    assert address.path.rpartition(":")[0] == f"/{version}/{named.removeprefix('vertex:')}"
    assert address.netloc.endswith("aiplatform.googleapis.com")


@pytest.mark.parametrize("named", ["grok-4.6", "grok-latest", "grok-3-mini"])
def test_a_bare_grok_is_asked_where_its_thinking_goes_back_to_it(named):
    assert pondero.plan(named).model == f"xai-responses:{named}"


def test_a_model_that_is_guessed_keeps_the_tools_that_its_relative_refuses():
    assert pondero.plan("openai-chat:gpt-6-astra", "high", tools=True).dropped == ("tools",)
    assert pondero.plan("openai-chat:gpt-9", "high", tools=True).dropped == ()


@pytest.mark.parametrize("text", ["claude-opus-9/hihg", "anthropic:claude-opus-9@medum"])
def test_a_misspelt_level_behind_a_model_that_is_only_like_a_known_one_is_refused(finder, text):
    with pytest.raises(BadThinking, match="did you mean"):
        finder.entry(text)
    assert finder.entry("openrouter:acme/mini").model == "acme/mini"


@pytest.mark.parametrize("mark", ["/", "@"])
def test_a_misspelt_level_after_any_known_model_is_never_part_of_its_name(mark):
    lookup = Lookup(load_shipped())
    for entry in lookup.entries():
        with pytest.raises(BadThinking, match="did you mean 'high'"):
            lookup.entry(f"{entry.id}{mark}hihg")


@pytest.mark.parametrize("word", ["command", "embed", "whisper", "labs", "rerank", "whisper-1"])
def test_a_word_that_no_maker_owns_is_no_model_without_its_provider(word):
    with pytest.raises(UnknownModel, match=f"unknown model '{word}'"):
        SHIPPED.entry(word)


def test_a_word_for_embeddings_or_speech_after_a_line_is_a_model_of_the_maker_of_that_line():
    entry = SHIPPED.entry("gpt-99-realtime")
    assert (entry.provider.name, entry.why, entry.capability.thinks) == ("openai", "word", False)


@pytest.mark.parametrize("provider", SHIPPED.catalog.names.defaults)
def test_every_default_model_is_one_that_its_provider_serves(provider):
    name = SHIPPED.default_of(provider)
    assert name is not None
    entry = SHIPPED.entry(name)
    assert (entry.id, entry.provider.name) == (name, provider)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("gpt5", "gpt-5"), ("claude-opus5", "claude-opus-5"), ("grok4/high", "grok-4")],
)
def test_a_name_whose_words_are_only_joined_otherwise_is_a_misspelt_one(finder, text, meant):
    with pytest.raises(UnknownModel, match=f"did you mean '{meant}'"):
        finder.entry(text)


@pytest.mark.parametrize("text", ["gpt-5.1x", "openai:gpt-5.1codex", "qwen3.5x", "gpt-4.1mini"])
def test_a_version_with_letters_after_it_is_another_model(finder, text):
    entry = finder.entry(text)
    assert entry.inferred
    assert "unknown_model" in [note.code for note in pondero.plan(text).adjustments]


@pytest.mark.parametrize(
    "text", ["gpt-4-32k", "together:llama-3-8b", "together:mistralai/mixtral-8x7b"]
)
def test_a_size_after_a_name_is_the_same_model(finder, text):
    assert not finder.entry(text).inferred


@pytest.mark.parametrize("entry", [each for each in SHIPPED.entries() if each.to_json()["budget"]])
def test_a_model_with_a_range_of_tokens_takes_a_number_of_them(entry):
    codes = [note.code for note in pondero.plan(entry.id, 5000).adjustments]
    assert "budget_as_level" not in codes


def test_a_model_whose_budget_is_of_old_has_no_range_of_tokens():
    entry = SHIPPED.entry("gemini-3.8-flash")
    assert (entry.capability.levels, entry.to_json()["budget"]) == (("low", "medium", "high"), None)
