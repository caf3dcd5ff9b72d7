"""``auto`` behind a name, over the whole catalog: names that end so stay names."""

import pytest
from tests.calibrations import adopt

from pondero.catalog import Lookup, add_user_files, load_shipped
from pondero.errors import BadThinking
from pondero.store import load_catalog
from pondero.thinking import parse_auto, parse_intent

ENTRIES = load_catalog().entries()
ENDING_SO = sorted({entry.id for entry in ENTRIES if entry.id.lower().endswith(("/auto", "@auto"))})


def test_the_catalog_has_names_that_end_so():
    assert "openrouter:openrouter/auto" in ENDING_SO


def test_no_catalogued_name_loses_its_end():
    for entry in ENTRIES:
        split = load_catalog().split(entry.id)
        assert (split.provider, split.model, split.level) == (
            entry.provider.name,
            entry.model,
            None,
        )


def test_auto_behind_any_catalogued_name_is_a_wish():
    for entry in ENTRIES:
        for wish in ("auto", "auto:sums", "auto#a kind", "auto:sums#kind"):
            assert load_catalog().apart(f"{entry.id}/{wish}") == (entry.id, wish)


@pytest.mark.parametrize("name", ENDING_SO)
def test_a_name_that_ends_so_is_asked_for_with_and_without_its_provider(name):
    bare = name.partition(":")[2]
    for said in (name, bare, name.upper().replace("OPENROUTER:", "openrouter:")):
        assert load_catalog().split(said).level is None
        assert load_catalog().entry(said).id.lower() == name
    assert load_catalog().split(f"{name}/high").level == "high"


def test_no_provider_and_no_level_is_called_auto():
    assert "auto" not in load_shipped().providers
    assert parse_auto("auto") is not None
    assert not any(parse_auto(word) for word in load_shipped().extra_words())


def test_a_name_of_the_users_own_that_ends_so_stays_a_name():
    text = (
        '[[model]]\nprovider = "ollama"\nmatch = ["team/auto"]\nefforts = ["low"]\nsource = "us"\n'
    )
    finder = Lookup(add_user_files(load_shipped(), {"models.toml": text}))
    assert finder.split("ollama:team/auto").level is None
    assert finder.split("ollama:team/auto/auto").level == "auto"
    assert load_catalog().split("ollama:team/auto").level == "auto"


def test_a_calibrations_name_alone_stands_for_its_model(config_dir):
    adopt("sums", model="gpt-5.5")
    split = load_catalog().split("auto:SUMS#kind")
    assert (split.provider, split.model, split.level) == ("openai", "gpt-5.5", "auto:SUMS#kind")
    assert load_catalog().entry("auto:sums").id == "openai:gpt-5.5"
    assert load_catalog().apart("auto:sums") == ("openai:gpt-5.5", "auto:sums")
    with pytest.raises(BadThinking, match="no calibration is called 'other'; use sums"):
        load_catalog().split("auto:other")


@pytest.mark.parametrize(
    "text",
    ["auto:", "auto:../x", "auto:a/b", "auto:a\x00", "auto:.hidden", "auto:" + "a" * 65, "auto#",
     "automatic", "auto:a#b#c", "auto#" + "k" * 65, "auto:a#\x1b[2J"],
)  # fmt: skip
def test_what_only_looks_like_auto_is_none(text):
    assert parse_auto(text) is None
    with pytest.raises(BadThinking):
        parse_intent(text)
