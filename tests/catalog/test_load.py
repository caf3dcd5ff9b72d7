"""A user's own models and providers, and how a broken file is reported."""

from pathlib import Path

import msgspec
import pytest
import tomlkit

import pondero
from pondero.catalog import (
    BatchTerms,
    Lookup,
    Provider,
    UrlVariable,
    add_user_files,
    compile_catalog,
    from_files,
    load_shipped,
)
from pondero.catalog.load import COMPILED
from pondero.client import dial, load_catalog
from pondero.dialects import NAMES, get_dialect
from pondero.errors import BadCatalog
from pondero.thinking import Capability


@pytest.fixture
def config(config_dir, monkeypatch):
    for cached in (load_catalog, dial.load_policy, dial._entry):
        cached.cache_clear()
    yield config_dir
    for cached in (load_catalog, dial.load_policy, dial._entry):
        cached.cache_clear()


def test_the_compiled_catalog_is_what_the_files_say():
    assert Path(COMPILED).read_bytes() == compile_catalog(), "run make catalog"


def test_a_model_like_another(config):
    (config / "models.toml").write_text(
        '[[model]]\nmatch = ["our-opus"]\nlike = "claude-opus-5"\nmax_output = 9000\n'
    )
    made = pondero.plan("our-opus-v3/xhigh")
    assert made.model == "anthropic:our-opus-v3"
    assert made.fields == {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "xhigh"},
        "max_tokens": 9000,
    }
    assert (made.facts.inferred, made.adjustments) == (False, ())
    assert made.facts.source.endswith("models.toml")


def test_a_model_with_facts_of_its_own_at_a_provider(config):
    (config / "models.toml").write_text(
        '[[model]]\nmatch = ["lab-1"]\nprovider = "openai"\nstyle = "effort"\n'
        'efforts = ["low", "ultra"]\ndefault = "off"\n'
    )
    assert pondero.plan("lab-1/ultra").fields == {"reasoning": {"effort": "ultra"}}
    assert pondero.plan("lab-1", "high").level == "ultra"
    assert [made.asked for made in pondero.levels("lab-1")][-1] == "ultra"


def test_a_users_row_wins_over_the_shipped_one(config):
    (config / "models.toml").write_text('[[model]]\nmatch = ["gpt-5"]\nlike = "gpt-5.1"\n')
    assert pondero.plan("gpt-5", "off").fields == {"reasoning": {"effort": "none"}}


def test_a_provider_is_one_file(config):
    (config / "providers").mkdir()
    (config / "providers" / "acme.toml").write_text(
        'like = "anthropic"\nlabel = "Acme"\nurl = "https://acme.example"\nkeys = ["ACME_KEY"]\n'
        'source = "us"\nchecked = "2026-11-15"\n'
    )
    made = pondero.plan("acme:claude-opus-5/low")
    assert (made.model, made.fields["output_config"]) == ("acme:claude-opus-5", {"effort": "low"})


def test_the_config_file_sets_the_policy(config):
    (config / "config.toml").write_text('[policy]\nbudgets = "fixed"\n')
    assert pondero.plan("gemini-2.5-pro", "low").budget == 1024
    assert pondero.plan("gemini-2.5-pro", "low", policy={}).budget == 11008


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ('[[model]]\nmatch = ["a"]\nlike = "nobody"\n', 3, "like"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\n\n[[model]]\nmatch = "b"\nlike = "gpt-5"\n', 6, "match"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\neforts = ["low"]\n', 4, "eforts"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nmax_output = "many"\n', 4, "max_output"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nbudget = { min = "x", max = 5 }\n', 4, "budget"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nprovider = "nowhere"\n', 4, "provider"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nprovider = "anthropic"\n', 3, "like"),
        ('[[model]]\nlike = "gpt-5"\n', 1, "match"),
        ("[models]\n", 1, "models"),
        ('[model]\nmatch = ["a"]\nlike = "gpt-5"\n', 1, "[[model]]"),
        ('\nmodel = ["a"]\n', 2, "[[model]]"),
        ('[[model]]\nmatch = [""]\nlike = "gpt-5"\n', 2, "match"),
        ('[[model]]\nmatch = ["*"]\nlike = "gpt-5"\n', 2, "match"),
        ('[[model]]\nmatch = []\nlike = "gpt-5"\n', 2, "match"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nmax_output = -5\n', 4, "max_output"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\ncontext = 0\n', 4, "context"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nefforts = [""]\n', 4, "efforts"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\ndefault = "of"\n', 4, "default"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nbudget = { min = 9, max = 5 }\n', 4, "budget"),
        ('[[model]]\nmatch = ["a"]\nlike = ["gpt-5"]\n', 3, "like"),
        ('[[model]]\nmatch = ["a"]\nlike = "gpt-5"\nprovider = []\n', 4, "provider"),
        ("x = " + "[" * 3_000 + "]" * 3_000, 1, "deep"),
        ("[" + ".".join("a" * 2_000) + "]\nb = 1\n", 1, "deep"),
        ("x = " + "1" * 9_000, 1, "not TOML"),
    ],
)  # fmt: skip
def test_a_broken_file_is_one_error_with_file_line_and_key(text, line, key):
    with pytest.raises(BadCatalog) as caught:
        add_user_files(load_shipped(), {"models.toml": text})
    assert f"models.toml:{line}: " in str(caught.value)
    assert key in str(caught.value)


def test_a_file_that_is_not_toml_names_the_line():
    with pytest.raises(BadCatalog, match=r"models\.toml:2: this is not TOML"):
        add_user_files(load_shipped(), {"models.toml": "[[model]]\nmatch = [\n"})


def test_a_broken_file_is_said_by_every_call_and_stays_as_it_is(config):
    text = '[[model]]\nmatch = ["a"]\nlike = "nobody"\n'
    (config / "models.toml").write_text(text)
    for _ in range(2):
        with pytest.raises(BadCatalog, match="nobody"):
            pondero.plan("gpt-5")
    assert (config / "models.toml").read_text() == text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"providers/a.toml": 'like = "b"\n'}, "no provider 'b' to be like"),
        ({"providers/a.toml": 'label = "A"\n'}, "providers/a.toml"),
        ({"families/x.toml": '[[family]]\nname = "x"\nmatch = ["x"]\n'}, "source"),
        ({"families/x.toml": 'hme = "x"\n'}, "hme"),
        ({"families/x.toml": '[[family]]\nname = "x"\nlike = "y"\nmatch = ["x"]\n'}, "x.toml:3: .* no family 'y' above"),
    ],
)  # fmt: skip
def test_shipped_files_are_checked_the_same_way(files, message):
    with pytest.raises(BadCatalog, match=message):
        from_files(files)


def test_a_family_like_one_above_it_has_its_facts_but_for_its_own():
    text = (
        '[[family]]\nname = "a"\nmatch = ["a"]\noff = true\nmax_output = 9\nsource = "s"\nchecked = "d"\n'
        '[[family]]\nname = "b"\nlike = "a"\nmatch = ["b"]\nmax_output = 7\nsource = "t"\nchecked = "d"\n'
    )
    first, second = from_files({"families/x.toml": text}).groups["x"].family
    assert second.capability == msgspec.structs.replace(first.capability, max_output=7, source="t")
    assert second.match == ("b",)


def names_of_quirks(name):
    return get_dialect(name).caller().quirks if name in NAMES else None


MINE = 'like = "compatible"\nlabel = "Mine"\nurl = "https://mine.test"\n'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[quirks]\nreplay_feild = "none"\n', 5, "unknown quirk 'replay_feild'; did you mean 'replay_field'?"),
        ('[quirks]\nreplay_field = "nowhere"\n', 5, "replay_field"),
        ("quirks = 3\n", 4, "write [quirks]"),
        ('dialect = "openai-chat"\n', 4, "there is no dialect 'openai-chat'"),
        ('families = ["claud"]\n', 4, "there are no families 'claud'; did you mean 'claude'?"),
        ('prefix = { nobody = "x/" }\n', 4, "there are no families 'nobody'"),
        ("parameters = 3\n", 4, "write [parameters]"),
        ("[override]\nany = 3\n", 5, "any"),
        ("[override.any]\nmax_output = 0\n", 5, "max_output"),
        ("output_buffer = -1\n", 4, "output_buffer"),
    ],
)  # fmt: skip
def test_a_providers_file_with_what_cannot_be_is_one_error_with_file_and_line(text, line, said):
    with pytest.raises(BadCatalog) as caught:
        add_user_files(load_shipped(), {"providers/mine.toml": MINE + text}, names_of_quirks)
    assert str(caught.value).startswith(f"providers/mine.toml:{line}: ")
    assert said in str(caught.value)


def test_providers_that_are_like_each_other_in_a_circle_are_one_error():
    files = {"providers/a.toml": 'like = "b"\n', "providers/b.toml": 'like = "a"\n'}
    with pytest.raises(BadCatalog, match="a is like b is like a; break the circle"):
        add_user_files(load_shipped(), files)


@pytest.mark.parametrize("provider", load_shipped().providers.values(), ids=lambda each: each.name)
def test_every_quirk_of_a_shipped_provider_is_one_that_its_dialect_reads(provider):
    msgspec.convert(provider.quirks, names_of_quirks(provider.dialect))
    assert set(provider.quirks) <= set(names_of_quirks(provider.dialect).__struct_fields__)


SHIPPED = load_shipped()
ODD: tuple[object, ...] = (
    -5,
    0,
    3.5,
    True,
    "",
    "nonsense",
    [],
    [""],
    [3],
    [[]],
    {},
    {"x": 3},
    {"x": {"y": []}},
)


def _files():
    """Whole files of each kind: whatever stands in them, something odd may stand there instead."""
    model = {"match": ["a"], "like": "claude-opus-5", "provider": "anthropic", "name": "a"}
    family = {"name": "mine", "match": ["mine"], "source": "x", "checked": "x", "newest_of": ["m"]}
    facts = msgspec.to_builtins(load_shipped().groups["claude"].family[0].capability)
    for key in Capability.__struct_fields__:
        yield "models.toml", {"model": [dict(model)]}, ("model", 0, key)
    for key in model:
        yield "models.toml", {"model": [dict(model)]}, ("model", 0, key)
    yield "models.toml", {"model": [dict(model)]}, ("model",)
    for key in family:
        yield "families/mine.toml", {"family": [{**facts, **family}]}, ("family", 0, key)
    for key in ("home", "family"):
        yield "families/mine.toml", {"home": "openai", "family": [{**facts, **family}]}, (key,)
    mine = {"like": "openrouter", "label": "Mine", "url": "https://mine.test"}
    for key in (*mine, *Provider.__struct_fields__):
        yield "providers/mine.toml", dict(mine), (key,)


@pytest.mark.parametrize(("name", "values", "path"), list(_files()), ids=str)
def test_whatever_stands_in_a_file_it_is_taken_or_it_is_one_error_of_ours(name, values, path):
    *above, key = path
    place = values
    for step in above:
        place = place[step]
    for odd in ODD:
        place[key] = odd
        text = tomlkit.dumps(values)
        said = _said_of(name, text)
        assert said.startswith(name) if said else odd != -5, f"{key} = {odd!r}: {said}"


def _said_of(name, text):
    try:
        finder = Lookup(add_user_files(SHIPPED, {name: text}, names_of_quirks))
        finder.entries("mine" if "mine" in finder.catalog.providers else "anthropic")
    except BadCatalog as error:
        return str(error)
    return ""


def test_the_folder_is_where_platformdirs_says(monkeypatch):
    from platformdirs import user_config_dir

    from pondero.store import config_folder

    monkeypatch.delenv("PONDERO_CONFIG_DIR")
    assert config_folder() == user_config_dir("pondero")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
    assert config_folder() == user_config_dir("pondero")


def test_a_provider_like_another_fills_the_blanks_of_its_address_the_same_way_but_for_its_own():
    mine = 'like = "vertex"\n[fill]\nproject = { default = "p" }\n'
    made = add_user_files(load_shipped(), {"providers/mine.toml": mine}).providers["mine"]
    there = load_shipped().providers["vertex"]
    assert made.fill == {**there.fill, "project": UrlVariable(default="p")}
    assert (made.url, made.path) == (there.url, there.path)


def test_a_provider_like_another_has_batches_only_if_it_says_so(config):
    known = load_catalog().catalog.providers
    assert known["openai"].batch == known["openai-chat"].batch is not None
    assert known["azure"].batch is known["azure-chat"].batch is None

    (config / "providers").mkdir()
    (config / "providers" / "ours.toml").write_text(
        'like = "openai"\nurl = "https://llm.example.com/v1"\nsource = "us"\nchecked = "2026-11-15"\n'
        '[batch]\nshape = "jobs"\nfactor = 0.25\n'
    )
    load_catalog.cache_clear()
    assert load_catalog().catalog.providers["ours"].batch == BatchTerms(shape="jobs", factor=0.25)


@pytest.mark.parametrize(
    ("quirk", "valid"),
    [
        ('think_tags = "yes"', "use no opened preopened"),
        ("replay_when = 3", "use always never tools"),
        ('thinking_fields = ["thoughts"]', "use reasoning reasoning_content"),
    ],
)
def test_an_invalid_quirk_names_the_valid_values(config, quirk, valid):
    (config / "providers").mkdir()
    text = f'like = "vllm"\nlabel = "Mine"\nurl = "http://localhost:9/v1"\n[quirks]\n{quirk}\n'
    (config / "providers" / "mine.toml").write_text(text)
    with pytest.raises(BadCatalog, match=f"mine.toml:5: .*; {valid}"):
        pondero.plan("mine:x")


def test_a_typical_depth_of_an_unknown_level_is_an_error_with_its_line(config):
    row = '[[model]]\nmatch = ["our-opus"]\nlike = "claude-opus-5"\n'
    (config / "models.toml").write_text(f"{row}typical = {{ high = 900 }}\ntypical_source = 'us'\n")
    assert (
        "900 tokens at high (us)"
        in pondero.plan("our-opus/high", max_tokens=500).adjustments[0].why
    )
    load_catalog.cache_clear()
    (config / "models.toml").write_text(f"{row}typical = {{ deep = 900 }}\n")
    with pytest.raises(BadCatalog, match=r"models\.toml:4: .*typical has no level 'deep'; use on"):
        pondero.plan("our-opus/high")
