"""Names that break a rule are counted, and a count above its limit fails."""

import pytest
from tools.names_check import INFORMATION, KINDS, find_hits, load_limits, load_sources, main


def _plant(folder, **files):
    """Write files of a package; ``a__b`` is the file ``a/b.py``."""
    for name, text in files.items():
        file = folder / "src" / "pondero" / (name.replace("__", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def _find(folder, **files):
    hits = find_hits(load_sources(_plant(folder, **files) / "src" / "pondero"))
    return [(hit.kind, hit.name) for hit in hits]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def _settled(): ...", [("participle", "_settled")]),
        ("def kept(): ...", [("participle", "kept"), ("participle-public", "kept")]),
        ("class A:\n    async def _kept_in(self): ...", [("participle", "_kept_in")]),
        ("def saved_key(): ...", [("adjective", "saved_key")]),
        ("def writing(): ...", [("gerund", "writing")]),
        ("def beside(): ...", [("preposition", "beside")]),
        ("class Settled: ...", [("class-participle", "Settled")]),
        ("def parse(it, *, k): ...", [("param", "parse(it)"), ("param", "parse(k)")]),
    ],
)
def test_each_kind_is_found_in_a_file(tmp_path, source, found):
    assert _find(tmp_path, room__noun=source) == found


@pytest.mark.parametrize(
    "source",
    [
        "def parse_seed(text): ...",
        "def embed(text): ...",
        "def thinking(): ...",
        "def sorted(rows): ...",
        "class A:\n    def __init_subclass__(cls): ...",
        "class A:\n    @property\n    def finished(self): ...",
        "class A:\n    @finished.setter\n    def finished(self, value): ...",
        "class TrialResult: ...",
    ],
)
def test_good_names_and_idioms_are_no_hits(tmp_path, source):
    assert _find(tmp_path, room__noun=source) == []


@pytest.mark.parametrize("stem", ["returned", "passing", "within", "incoming"])
def test_a_module_that_is_not_a_noun_is_found(tmp_path, stem):
    assert _find(tmp_path, **{f"room__{stem}": ""}) == [("module", stem)]


def test_single_letters_are_the_words_of_statistics(tmp_path):
    assert _find(tmp_path, sweep__statistics__looks="def bound(n, it): ...") == [
        ("participle", "bound"),
        ("participle-public", "bound"),
        ("param", "bound(it)"),
    ]


def test_a_class_name_in_two_rooms_is_found_once(tmp_path):
    same = "class Turn: ..."
    assert _find(tmp_path, client__chat=same, tui__chat=same, tui__tab=same) == [
        ("class-rooms", "Turn, also in src/pondero/tui/chat.py:1")
    ]


def test_a_function_name_in_two_rooms_is_found_if_the_parameters_differ(tmp_path):
    one, two = "def find_key(provider): ...", "def find_key(name): ..."
    assert _find(tmp_path, store__keys=one, client__keys=one) == []
    assert _find(tmp_path, tui__keys=two) == [
        (
            "function-rooms",
            "find_key, also in src/pondero/store/keys.py:1, src/pondero/tui/keys.py:1",
        )
    ]


def test_dialects_may_repeat_the_names_of_other_rooms(tmp_path):
    source = "class Turn: ...\ndef find_key(name): ..."
    assert _find(tmp_path, dialects__x=source, client__x=source.replace("name", "model")) == []


@pytest.mark.parametrize("decorator", ["@click.command()", "@sweep.command", "@click.group(cls=A)"])
def test_a_verb_of_the_command_line_may_repeat_a_name(tmp_path, decorator):
    verb = f"{decorator}\ndef show(name): ..."
    assert _find(tmp_path, cli__show=verb, tui__show="def show(row): ...") == []


def test_a_count_above_its_limit_fails_and_its_hits_are_printed(tmp_path, capsys):
    root = _plant(tmp_path, room__noun="def _kept(): ...\ndef _lost(): ...\ndef writing(): ...")
    limits = tmp_path / "limits.toml"
    limits.write_text("[names]\nparticiple = 1\ngerund = 1\n")
    assert main([str(root), "--limits", str(limits)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "src/pondero/room/noun.py:1: _kept [a verb: parse_x, build_x, resolve_x]",
        "src/pondero/room/noun.py:2: _lost [a verb: parse_x, build_x, resolve_x]",
        "names of 3 functions, and of classes and modules:",
    ]
    assert "  participle           2  limit    1  ABOVE" in lines
    assert "  gerund               1  limit    1" in lines


def test_counts_within_their_limits_pass_and_a_limit_that_can_go_down_is_named(tmp_path, capsys):
    root = _plant(tmp_path, room__noun="def _kept(): ...")
    limits = tmp_path / "limits.toml"
    limits.write_text("[names]\nparticiple = 2\n")
    assert main([str(root), "--limits", str(limits), "--list", "participle"]) == 0
    out = capsys.readouterr().out
    assert "src/pondero/room/noun.py:1: _kept [" in out
    assert "limit    2  lower it in tools/limits.toml\n" in out


def test_a_kind_without_a_limit_may_not_appear_but_an_adjective_may(tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("")
    assert main([str(_plant(tmp_path, a="def saved_key(): ...")), "--limits", str(limits)]) == 0
    assert main([str(_plant(tmp_path, b="def _kept(): ...")), "--limits", str(limits)]) == 1


def test_a_limit_for_an_unknown_kind_is_named(tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("[names]\nparticple = 2\n")
    with pytest.raises(SystemExit, match="unknown kind particple"):
        load_limits(limits)


def test_the_limits_of_this_checkout_name_every_kind(request):
    """``make lint`` holds the whole tree to them."""
    limits = load_limits(request.config.rootpath / "tools" / "limits.toml")
    assert limits.keys() == KINDS.keys() - INFORMATION
    assert "tools/names_check.py\n" in (request.config.rootpath / "Makefile").read_text("utf-8")
