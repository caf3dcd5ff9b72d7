"""A file that somebody else wrote is read as data: it runs nothing, and what is odd is one error."""

import gzip
import json
import os
import stat
from base64 import b64encode

import pytest

import pondero
from pondero.canon import HttpRequest
from pondero.cassettes import load_cassette
from pondero.errors import CassetteError, PonderoError, TransportError
from pondero.exchange import Timeouts
from pondero.framing import MAX_FRAME
from pondero.vcr import Cassette

ASKED = '{"_request":{"method":"GET","url":"https://api.test/a","headers":{},"body":""}}\n'


def yaml_cassette(response: str) -> str:
    return (
        "interactions:\n- request: {method: GET, uri: https://api.test/a, headers: {}}\n"
        f"  response: {{status: {{code: 200}}, headers: {{}}, body: {response}}}\n"
    )


# -- cassettes ------------------------------------------------------------------------------------


def test_a_yaml_cassette_makes_no_objects_and_calls_nothing(tmp_path):
    path, mark = tmp_path / "a.yaml", tmp_path / "owned"
    path.write_text(yaml_cassette(f'!!python/object/apply:os.system ["touch {mark}"]'))
    with pytest.raises(CassetteError):
        load_cassette(path)
    assert not mark.exists()


def test_a_packed_body_that_would_fill_the_memory_is_refused(tmp_path):
    packed = b64encode(gzip.compress(b"\0" * (MAX_FRAME + 1))).decode()
    path = tmp_path / "a.yaml"
    path.write_text(yaml_cassette(f"{{base64_string: {packed}}}"))
    with pytest.raises(CassetteError, match=rf"more than {MAX_FRAME:,} bytes"):
        load_cassette(path)


def bomb(opens: str, closes: str) -> str:
    """Return eight lists or mappings, each of ten aliases of the one before: a hundred million."""
    lines = (f"a{n}: &a{n} {opens}{', '.join([f'*a{n - 1}'] * 10)}{closes}\n" for n in range(1, 9))
    return "a0: &a0 {k: v}\n" + "".join(lines)


@pytest.mark.parametrize("place", ["body: x, parsed_body: *a8", "body: *a8"])
@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ("{<<: [", "]}")], ids=["list", "merge"])
def test_aliases_that_would_fill_the_memory_are_refused(opens, closes, place, tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(bomb(opens, closes) + yaml_cassette("x").replace("body: x", place))
    with pytest.raises(CassetteError, match=r"a\.yaml:\d: its aliases add more than 8,388,608"):
        load_cassette(path)


def test_an_alias_that_stands_in_itself_is_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(yaml_cassette("x, parsed_body: &z [1, *z]"))
    with pytest.raises(CassetteError, match="the alias 'z' contains itself"):
        load_cassette(path)


@pytest.mark.parametrize("closed", [True, False])
def test_a_yaml_cassette_that_is_too_deep_is_refused(closed, tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(yaml_cassette("x, parsed_body: " + "[" * 3000 + "]" * 3000 * closed))
    with pytest.raises(CassetteError, match="more than 200 levels deep"):
        load_cassette(path)


def test_what_vcrpy_says_twice_with_an_alias_is_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(
        "interactions:\n- request: {method: GET, uri: https://a.test/a, headers: &one {x: [a, b]}}\n"
        "  response: {status: {code: 200}, headers: *one, parsed_body: [&two {k: v}, *two]}\n"
    )
    (found,) = load_cassette(path)
    assert found.request.headers == {"x": "a, b"} == found.head.headers
    assert json.loads(found.body) == [{"k": "v"}, {"k": "v"}]


@pytest.mark.parametrize("cut", [10, 30])
def test_a_packed_body_that_is_cut_is_refused(cut, tmp_path):
    packed = b64encode(gzip.compress(os.urandom(100))[:cut]).decode()
    path = tmp_path / "a.yaml"
    path.write_text(yaml_cassette(f"{{base64_string: {packed}}}"))
    with pytest.raises(CassetteError, match="its body is not gzip: it is cut"):
        load_cassette(path)


@pytest.mark.parametrize("name", ["os", "SystemExit", "__builtins__", "PonderoError", "no", ""])
def test_an_error_that_a_cassette_names_is_one_of_the_wire_or_a_plain_one(name, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(ASKED + json.dumps({"_end": {"error": name, "message": "words"}}) + "\n")
    with pytest.raises(TransportError, match="words"):
        Cassette(path, record=False).send(HttpRequest("GET", "https://api.test/a", {}), Timeouts())


# -- what a user's folder holds -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "=" * 100_000,
        'model = "\\u0000"',
        "[" + "a." * 1000 + "b]\n",
        "\x00\x01\x02",
    ],
    ids=["long", "nul", "dotted", "noise"],
)
def test_a_hostile_config_is_a_sentence_and_never_a_traceback(text, config_dir, call):
    (config_dir / "config.toml").write_text(text, "utf-8")
    code, out, err = call("plan", "gpt-5.1/low")
    assert "Traceback" not in out + err
    assert code in (0, 1, 2)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"messages": ' + "[" * 5000, "\x00", "{}", "7", '{"messages": 7}']
)
def test_a_hostile_saved_chat_is_one_error_of_ours(text):
    with pytest.raises(PonderoError):
        pondero.Chat.from_json(text)


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
def test_keys_and_threads_on_disk_are_for_their_owner_alone(call, config_dir, data_dir):
    old = os.umask(0o022)
    try:
        assert call("keys", "set", "openai", stdin="sk-planted-0123456789abcdef\n")[0] == 0
        assert call("ask", "--offline", "claude-opus-5", "hello")[0] == 0
    finally:
        os.umask(old)
    written = [path for folder in (config_dir, data_dir) for path in folder.rglob("*")]
    open_to_others = [
        path.name
        for path in written
        if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert written
    assert open_to_others == []
