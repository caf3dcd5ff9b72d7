"""Phrases that are not plain English are counted, and a count above its limit fails."""

import pytest
from tools.prose_check import PHRASES, find_hits, load_limits, main

_SENTENCES = {
    "none-where": "Return the key, or None where it is not known.",
    "raises-where": "It raises KeyError where there is no such name.",
    "cannot-be": "steps=0 cannot be; a turn asks at least once",
    "that-is-none": "a level that is none",
    "what-of": "Return what of a lease was sent.",
    "whoever": "It goes to whoever asked for it.",
    "unsaid": "Left unsaid, it is the highest.",
    "unasked": "It is sent unasked with each request.",
    "so-many": "Wait for so many seconds between two.",
    "anew": "Record all the cassettes anew.",
    "on-no": "A model that is on no list has no price.",
    "may-come": "Says who may come and how often.",
    "ceiling": "A ceiling for all the keys.",
    "held-against": "Programs that our tests are held against.",
    "would-be": "Where the file is or would be.",
    "stands": "The key stands in the file.",
    "goes-on": "The turn goes on with the next model.",
    "beside": "The limits are beside the script.",
    "as-it-came": "The body is passed on as it came.",
    "for-people": "A table that is made for people.",
    "for-what": "An error for what is not in the table.",
    "somebody": "A file that somebody else wrote.",
    "came-of": "The log says what came of it.",
    "money": "It took money and tokens.",
}


def _plant(folder, **files):
    """Write files; ``a__b__md`` is the file ``a/b.md``."""
    for name, text in files.items():
        *parts, suffix = name.split("__")
        file = folder.joinpath(*parts).with_suffix(f".{suffix}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def _find(folder, **files):
    return [
        (hit.phrase, hit.line.place, hit.line.path, hit.line.number)
        for hit in find_hits(_plant(folder, **files))
    ]


def test_every_phrase_has_a_sentence_here():
    assert list(_SENTENCES) == list(PHRASES)


@pytest.mark.parametrize("name", _SENTENCES)
def test_each_phrase_is_found_and_only_it(tmp_path, name):
    assert _find(tmp_path, README__md=_SENTENCES[name]) == [(name, "docs", "README.md", 1)]


def test_docstrings_comments_and_messages_are_read_and_code_is_not(tmp_path):
    source = '''"""Says things.

Left unsaid, it is the highest.
"""

unsaid = {"unsaid": "anew unsaid"}  # noqa: A001  # unsaid here too
raise KeyError(f"{unsaid} was left unsaid")
# unsaid once more
'''
    assert sorted(_find(tmp_path, src__pondero__a__py=source)) == [
        ("unsaid", "src", "src/pondero/a.py", number) for number in (3, 7, 8)
    ]


def test_help_texts_errors_and_labels_are_read(tmp_path):
    source = """import click

@click.option("--level", help="The level; unsaid, the highest.")
def ask(level):
    raise ValueError(f"{level} is a level that is none")
"""
    files = {
        "src__pondero__cli__ask__py": source,
        "src__pondero__gateway__console__index__html": "<button>Come in</button>",
    }
    assert {(hit[0], hit[2]) for hit in _find(tmp_path, **files)} == {
        ("unsaid", "src/pondero/cli/ask.py"),
        ("that-is-none", "src/pondero/cli/ask.py"),
        ("ceiling", "src/pondero/gateway/console/index.html"),
    }


def test_blocks_and_quotes_of_code_in_a_page_are_not_read(tmp_path):
    page = "`unsaid`\n```\nunsaid\n```\nunsaid\n"
    assert _find(tmp_path, docs__page__md=page) == [("unsaid", "docs", "docs/page.md", 5)]


@pytest.mark.parametrize("name", ["levels", "disagreements", "catalog", "requirements"])
def test_pages_that_quote_vendors_are_not_read(tmp_path, name):
    assert _find(tmp_path, **{f"docs__{name}__md": "unsaid"}) == []


def test_pages_and_scripts_of_the_console_are_read(tmp_path):
    pages = {
        "src__pondero__gateway__console__index__html": "<p>\nunasked\n</p>",
        "src__pondero__gateway__console__app__js": "say('unasked')",
        "src__pondero__report__page__html": "unasked",
    }
    assert _find(tmp_path, **pages) == [
        ("unasked", "console", "src/pondero/gateway/console/index.html", 2),
        ("unasked", "console", "src/pondero/gateway/console/app.js", 1),
    ]


def test_a_count_above_its_limit_fails_and_its_hits_are_printed(tmp_path, capsys):
    root = _plant(tmp_path, README__md="Said anew.\nLeft unsaid.\nStill unsaid.\n")
    limits = tmp_path / "limits.toml"
    limits.write_text("[prose]\nunsaid = 1\nanew = 1\n")
    assert main([str(root), "--limits", str(limits)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "README.md:2: Left unsaid. [by default]",
        "README.md:3: Still unsaid. [by default]",
        "prose, tier 1, to reach 0:",
    ]
    assert "  unsaid           2  src   0  docs   2  console   0  limit    1  ABOVE" in lines
    assert "  anew             1  src   0  docs   1  console   0  limit    1" in lines


def test_counts_within_their_limits_pass_and_a_limit_that_can_go_down_is_named(tmp_path, capsys):
    root = _plant(tmp_path, README__md="Said anew.")
    limits = tmp_path / "limits.toml"
    limits.write_text("[prose]\nanew = 2\n")
    assert main([str(root), "--limits", str(limits), "--list", "anew"]) == 0
    out = capsys.readouterr().out
    assert "README.md:1: Said anew. [again]\n" in out
    assert "limit    2  lower it in tools/limits.toml\n" in out


def test_a_phrase_without_a_limit_may_not_appear(tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("")
    assert main([str(tmp_path), "--limits", str(limits)]) == 0
    assert main([str(_plant(tmp_path, README__md="anew")), "--limits", str(limits)]) == 1


def test_a_limit_for_an_unknown_phrase_is_named(tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("[prose]\nnonsense = 2\n")
    with pytest.raises(SystemExit, match="unknown phrase nonsense"):
        load_limits(limits)


def test_the_limits_of_this_checkout_name_every_phrase(request):
    """``make lint`` holds the whole tree to them."""
    limits = load_limits(request.config.rootpath / "tools" / "limits.toml")
    assert limits.keys() == PHRASES.keys()
    assert "tools/prose_check.py\n" in (request.config.rootpath / "Makefile").read_text("utf-8")
