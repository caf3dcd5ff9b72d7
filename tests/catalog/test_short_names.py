"""Short names: the newest model of a product line, by rule."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero import plan
from pondero.catalog import Lookup, from_files, load_shipped, search_models
from pondero.client import Client
from pondero.emulator import Emulator
from pondero.errors import BadParameter, BadThinking, UnknownModel, UsageError
from pondero.thinking import is_level_text

SHIPPED = Lookup(load_shipped())
SHORT = SHIPPED.short_names
FACTS = 'source = "a page"\nchecked = "2026-11-15"\n'
PROVIDER = """
label = "Acme"
dialect = "openai_chat"
url = "https://api.acme.test/v1"
keys = ["ACME_KEY"]
families = ["acme"]
source = "a page"
checked = "2026-11-15"
"""


def lookup_of(*names, newest_of=(), head="", patterns=""):
    rows = [f"[[family]]\nmatch = {[name]!r}\n{FACTS}" for name in names]
    if newest_of:
        rows[0] += f"newest_of = {list(newest_of)!r}\n"
    return Lookup(
        from_files(
            {
                "families/acme.toml": 'home = "acme"\n' + head + "\n".join(rows),
                "families/any.toml": f'[[family]]\nmatch = [""]\n{FACTS}',
                "providers/acme.toml": PROVIDER,
                "names.toml": f'paths = ["/"]\n{patterns}',
            }
        )
    )


@pytest.mark.parametrize(
    "word", ["opus", "sonnet", "haiku", "flash", "gpt", "gemini", "deepseek", "claude", "grok"]
)
def test_words_that_people_type_mean_a_model_of_that_name(word):
    entry = SHIPPED.entry(word)
    assert (entry.inferred, entry.short) == (False, word)
    assert word in entry.model


@pytest.mark.parametrize("name", SHORT)
def test_no_catalogued_model_of_a_line_is_above_the_chosen_unless_the_catalog_says_so(name):
    home, _, model = SHORT[name].id.partition(":")
    group = next(each for each in SHIPPED.catalog.groups.values() if each.home == home)
    family = next(each for each in group.family if model in each.match)
    if SHORT[name].line in family.newest_of:
        return
    higher = [
        other
        for each in group.family
        for other in each.match
        if _words(other) == _words(model) and _numbers(other) > _numbers(model)
    ]
    assert higher == []


def _words(name):
    return sorted(set(re.findall(r"[a-z]{2,}", name)) - {"preview", "latest", "beta", "exp"})


def _numbers(name):
    if re.search(r"\d[a-z]|\d{3}", name):  # a size, a date, or a dot spelt p
        return []
    return [int(number) for number in re.findall(r"\d+", name)]


def test_the_highest_version_is_the_newest_wherever_the_number_is():
    names = ("acme-3-rex", "acme-rex-4.10", "acme-rex-4.9", "acme-rex-5-preview")
    lookup = lookup_of(*names, patterns='statuses = ["preview"]\n')
    assert lookup.entry("rex").model == "acme-rex-5-preview"
    assert lookup_of("acme-rex-4.10", "acme-rex-4.9").entry("rex").model == "acme-rex-4.10"


def test_the_model_that_the_catalog_calls_newest_beats_a_higher_number():
    lookup = lookup_of("acme-4.7", "acme-4.20", newest_of=("acme",))
    assert lookup.entry("acme").model == "acme-4.7"


def test_a_settled_name_beats_its_preview_of_the_same_version():
    lookup = lookup_of("acme-rex-5-preview", "acme-rex-5", patterns='statuses = ["preview"]\n')
    assert lookup.entry("rex").model == "acme-rex-5"


def test_a_new_model_in_the_catalog_moves_its_short_name_without_any_list():
    assert lookup_of("acme-rex-1", "acme-rex-2").entry("rex/high").model == "acme-rex-2"
    assert lookup_of("acme-rex-1", "acme-rex-2", "acme-rex-3").entry("rex").model == "acme-rex-3"


def test_a_word_of_many_makers_is_no_short_name_unless_a_group_owns_it():
    with pytest.raises(UnknownModel, match="did you mean 'acme-pro'"):
        lookup_of("acme-pro-1", patterns='generic = ["pro"]\n').entry("pro")
    owned = lookup_of("acme-pro-1", head='words = ["pro"]\n', patterns='generic = ["pro"]\n')
    assert owned.entry("pro").model == "acme-pro-1"


def test_the_first_word_means_the_flagship_that_the_catalog_names():
    names = ("acme-rex-2", "acme-fido-3")
    assert lookup_of(*names).entry("acme").model == "acme-fido-3"
    assert lookup_of(*names, head='flagship = "acme-rex"\n').entry("acme").model == "acme-rex-2"


@given(st.sampled_from([(e.id, e.model) for e in SHIPPED.entries()]))
def test_a_name_in_full_never_means_another_model(names):
    id, model = names
    assert SHIPPED.entry(id).short == ""
    assert SHIPPED.pin(id) == id
    try:
        found = SHIPPED.entry(model)
    except UsageError:
        return
    assert found.short == "" or found.model != model


@pytest.mark.parametrize("provider", ["anthropic", "ollama"])
def test_after_the_name_of_a_provider_a_short_name_is_a_name_of_its_own(provider):
    entry = SHIPPED.entry(f"{provider}:opus")
    assert (entry.model, entry.short) == ("opus", "")


@pytest.mark.parametrize("name", SHORT)
def test_after_its_own_provider_a_short_name_is_a_hint_at_the_name_in_full(name):
    provider, _, model = SHORT[name].id.partition(":")
    entry = SHIPPED.entry(f"{provider}:{name}")
    assert entry.near == model or not entry.inferred


def test_a_question_to_a_short_name_after_its_provider_says_what_was_meant():
    meant = re.escape(SHORT["opus"].id.partition(":")[2])
    message = rf"'opus' is not in the catalog, .*needs max_tokens.*; did you mean '{meant}'\?"
    with Client(transport=Emulator()) as client, pytest.raises(BadParameter, match=message):
        client.ask("anthropic:opus/high", "hi")


def test_no_catalogued_name_is_a_short_name():
    homes = {group.home for group in SHIPPED.catalog.groups.values()}
    names = {
        entry.model for entry in SHIPPED.entries() if entry.provider.name in homes
    } & SHORT.keys()
    assert all(SHIPPED.entry(f"{SHORT[name].id}").model != name for name in names)
    for group in SHIPPED.catalog.groups.values():
        if group.home:
            assert not SHORT.keys() & {name for family in group.family for name in family.match}


@given(st.sampled_from(sorted(SHORT)), st.sampled_from(["", "/high", "@low", "/4000"]))
def test_a_short_name_is_pinned_to_the_model_it_means(name, level):
    pinned = SHIPPED.pin(name + level)
    assert SHIPPED.entry(pinned).id == SHIPPED.entry(name + level).id == SHORT[name].id
    assert SHIPPED.entry(pinned).short == ""
    assert SHIPPED.split(pinned).level == SHIPPED.split(name + level).level
    assert SHIPPED.entry(name.upper()).id == SHORT[name].id
    assert not is_level_text(name)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("opsu", "opus"), ("sonet", "sonnet"), ("flahs", "flash"), ("gmini", "gemini")],
)
def test_a_misspelt_short_name_gets_the_nearest(typed, meant):
    with pytest.raises(UnknownModel, match=f"did you mean .*'{meant}'"):
        SHIPPED.entry(typed)


@pytest.mark.parametrize("provider", SHIPPED.catalog.names.defaults)
def test_every_default_is_a_model_that_its_provider_serves(provider):
    entry = SHIPPED.entry(SHIPPED.default_of(provider))
    assert (entry.provider.name, entry.inferred) == (provider, False)


def test_a_provider_without_a_default_has_none():
    assert SHIPPED.default_of("ollama") is None
    assert SHIPPED.default_of("nobody") is None


# -- search ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["opus", "flash", "gpt", "codex"])
def test_what_a_short_name_means_is_found_first(name):
    found = search_models(SHIPPED, [name])
    assert found[0].id == SHORT[name].id
    assert len(found) > 1


def test_every_word_must_fit():
    found = search_models(SHIPPED, ["opus", "openrouter"])
    assert {entry.provider.name for entry in found} == {"openrouter"}
    assert all("opus" in f"{entry.model} {entry.family}" for entry in found)
    assert search_models(SHIPPED, ["opus", "nonsense"]) == []


def test_newer_models_of_the_maker_come_first():
    models = [entry.id for entry in search_models(SHIPPED, ["claude-opus"])]
    assert models.index("anthropic:claude-opus-5") < models.index("anthropic:claude-opus-4-1")
    assert models.index("anthropic:claude-opus-4-1") < models.index(
        "openrouter:anthropic/claude-opus-4.1"
    )


def test_words_for_what_a_model_offers_filter():
    local = search_models(SHIPPED, ["local", "qwen3"])
    assert local
    assert {entry.provider.auth for entry in local} == {"none"}
    free = search_models(SHIPPED, ["free", "openrouter"])
    assert free
    assert all(entry.model.endswith(":free") for entry in free)
    assert all(entry.takes_tools for entry in search_models(SHIPPED, ["tools", "groq"]))


@pytest.mark.parametrize("text", ["opus/hgih", "flash@medim", "Opus/xhihg"])
def test_a_misspelt_level_after_a_short_name_is_told_as_after_a_full_one(text):
    name, _, level = text.replace("@", "/").partition("/")
    with pytest.raises(BadThinking, match=f"unknown level '{level}'"):
        SHIPPED.entry(text)
    with pytest.raises(BadThinking, match=f"unknown level '{level}'"):
        SHIPPED.entry(f"{SHIPPED.entry(name).id}/{level}")


@pytest.mark.parametrize("text", ["claude-opus-5 /high", " claude-opus-5 @high ", "opus /high"])
def test_a_space_before_the_level_is_no_part_of_the_name(text):
    model, level = SHIPPED.apart(text)
    assert (model, level) == (model.strip(), "high")
    assert SHIPPED.split(text).model == model
    assert not SHIPPED.entry(text).inferred


@pytest.mark.parametrize(
    ("text", "near"),
    [("openrouter:opus", "anthropic/claude-"), ("bedrock:opus", "anthropic.claude-opus-")],
)
def test_a_short_name_after_a_provider_that_spells_it_otherwise_is_a_hint_at_that_spelling(
    text, near
):
    found = SHIPPED.entry(text).near
    assert found is not None
    assert found.startswith(near)
    assert not SHIPPED.entry(f"{text.partition(':')[0]}:{found}").inferred


def test_a_name_that_only_the_row_for_all_others_has_is_of_no_line():
    assert SHIPPED.entry("openrouter:nobody/anything").why == "any"
    why = " ".join(note.why for note in plan("openrouter:nobody/anything").adjustments)
    assert "of its line" not in why


@pytest.mark.parametrize(
    ("name", "line"),
    [("mistral", "mistral-large"), ("magistral", "magistral-medium"), ("gemini-pro", "gemini-pro")],
)
def test_the_first_word_of_a_maker_means_its_best_line_and_never_a_retired_model(name, line):
    assert SHORT[name].line == line
    assert SHIPPED.entry(name).capability.thinks


def test_models_are_ranked_by_version_only_in_one_line():
    first = search_models(SHIPPED, ["thinks"])[0]
    assert first.id in {short.id for short in SHORT.values()}  # the newest of its line, no date
    found = search_models(SHIPPED, ["flash", "google"])
    flashes = [each.model for each in found if each.provider.name == "google"]
    assert flashes[0] == SHORT["flash"].id.partition(":")[2]
    plain = [name for name in flashes if re.fullmatch(r"gemini-\d\.\d-flash", name)]
    assert plain == sorted(plain, reverse=True)
    for words in (["local"], ["free", "tools"]):
        best = search_models(SHIPPED, words)[0].model
        assert not re.search(r"\d+b\b|\d{4}", best), best
