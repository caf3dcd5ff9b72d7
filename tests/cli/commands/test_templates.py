"""``pondero templates``, and ``ask --template`` that fills them in."""

import json

import pytest

from pondero.store import template_file, template_names, write_template

SUM = """\
prompt = "What is $one * $two?"
system = "Answer in $language."
model = "claude-opus-5/low"

[options]
max_tokens = 9000
stop = ["END", "FIN"]

[defaults]
two = 23
language = "English"
"""


@pytest.fixture
def ask(call, config_dir, data_dir):
    return lambda *arguments, **how: call("ask", "--offline", *arguments, **how)


def wire(err):
    """The body that was sent."""
    return json.loads(next(line for line in err.splitlines() if line.startswith("{")))


def test_a_template_is_filled_in_and_sets_what_it_says(ask):
    write_template("sum", SUM)
    code, out, err = ask("--template", "sum", "-p", "one", "17", "--wire")
    assert (code, out) == (0, "17 * 23 = 391\n")
    body = wire(err)
    assert (body["model"], body["max_tokens"]) == ("claude-opus-5", 9000)
    assert "Answer in English." in json.dumps(body["system"])
    assert body["stop_sequences"] == ["END", "FIN"]


def test_the_command_line_wins_over_a_template(ask):
    write_template("sum", SUM)
    given = ("-p", "one", "2", "-p", "two", "3", "-s", "Be brief.", "-o", "stop", "X", "-o", "max_tokens", "8000")  # fmt: skip
    code, out, err = ask("-t", "sum", *given, "-m", "claude-sonnet-4-5/off", "--wire")
    assert (code, out) == (0, "2 * 3 = 6\n")
    body = wire(err)
    assert (body["model"], body["max_tokens"]) == ("claude-sonnet-4-5", 8000)
    assert "Be brief." in json.dumps(body["system"])
    assert body["stop_sequences"] == ["X"]


def test_the_input_stands_where_the_template_says_or_after_it(ask):
    write_template("where", 'prompt = "Repeat: <$input>"\nmodel = "gpt-5.1/low"')
    assert "<a b>" in ask("-t", "where", "a", "b")[1]
    assert "<a b>" in ask("-t", "where", stdin="a b\n")[1]
    write_template("after", 'prompt = "What is it?"\nmodel = "gpt-5.1/low"')
    assert ask("-t", "after", "What is 5 * 5?")[1] == "5 * 5 = 25\n"


def test_a_level_and_a_schema_of_a_template_count(ask):
    write_template("dog", 'prompt = "A dog of $age"\nthinking = "high"\nschema = "age int"')
    code, out, _ = ask("-t", "dog", "-p", "age", "7", "-m", "claude-opus-5", "--json")
    answer = json.loads(out)
    assert (code, answer["level"], answer["value"]) == (0, "high", {"age": 7})
    assert json.loads(ask("-t", "dog", "-p", "age", "7", "-m", "gpt-5.1/low", "--json")[1])["level"] == "low"  # fmt: skip


def test_variables_that_are_missing_or_unknown_are_named(ask):
    write_template("sum", SUM.replace("two = 23\n", ""))
    code, out, err = ask("-t", "sum")
    assert (code, out) == (2, "")
    assert "template 'sum' needs $one and $two; use -p one VALUE -p two VALUE" in err
    code, _, err = ask("-t", "sum", "-p", "three", "3")
    assert (code, "has no $three; its variables: $one $two $language" in err) == (2, True)
    code, _, err = ask("-p", "three", "3", "gpt-5.1", "Hello")
    assert (code, "-p fills in a template" in " ".join(err.split())) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prompt = 1", "prompt is a text"),
        ("promt = 'x'", "a template has no 'promt'; use prompt system model"),
        ("thinking = 'hihg'", "unknown level 'hihg'"),
        ("options = 1", "this is not a table; write [options]"),
        ("prompt = 'a $ b'", "write $$ for the sign itself"),
        ("prompt = ", "sum.toml"),
    ],
)
def test_a_template_that_cannot_be_says_where(ask, text, said):
    write_template("sum", text)
    code, out, err = ask("-t", "sum", "Hello")
    assert (code, out) == (2, "")
    assert said in err
    assert "sum.toml:1" in err


def test_a_template_that_is_not_there_says_which_are(ask):
    write_template("sum", SUM)
    code, _, err = ask("-t", "some", "Hello")
    assert (code, "no template 'some'; use sum" in err) == (2, True)
    for name in ("../sum", "", "a/b", ".hidden"):
        assert ask("-t", name, "Hello")[0] == 2


def test_templates_are_listed_shown_edited_and_removed(call, config_dir):
    assert call("templates", "list")[0] == 0
    assert call("templates", "edit", "sum", stdin=SUM)[0] == 0
    write_template("broken", "prompt = 1")
    code, out, _ = call("templates", "list")
    assert code == 0
    assert "sum     $one $two $language  What is $one * $two?" in out
    assert "prompt is a text" in out
    listed = json.loads(call("templates", "list", "--json")[1])["templates"]
    assert [each["name"] for each in listed] == ["broken", "sum"]
    assert call("templates", "show", "sum")[1] == SUM
    shown = json.loads(call("templates", "show", "sum", "--json")[1])
    assert (shown["variables"], shown["model"]) == (["one", "two", "language"], "claude-opus-5/low")
    assert call("templates", "remove", "sum")[0] == 0
    assert template_names() == ("broken",)
    assert call("templates", "remove", "sum")[0] == 2


def test_what_is_no_template_does_not_replace_one(call, config_dir):
    write_template("sum", SUM)
    assert call("templates", "edit", "sum", stdin="prompt = 1")[0] == 2
    assert call("templates", "show", "sum")[1] == SUM
    assert call("templates", "edit", "new", stdin="prompt = 1")[0] == 2
    assert call("templates", "edit", "new", stdin="")[0] == 2
    assert template_names() == ("sum",)


def test_a_template_is_opened_in_the_editor_and_is_whole_before(call, config_dir, monkeypatch):
    monkeypatch.setenv("EDITOR", "true")
    assert call("templates", "edit", "new", tty=True)[0] == 0
    assert json.loads(call("templates", "show", "new", "--json")[1])["variables"] == ["words"]
    monkeypatch.setenv("EDITOR", f"sh -c 'echo prompt = 1 > {template_file('new')}' --")
    assert call("templates", "edit", "new", tty=True)[0] == 2


def test_a_key_may_not_stand_in_a_template(ask, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-at-all-1234")
    write_template("sum", 'prompt = "Hi"')
    template_file("sum").write_text('prompt = "sk-not-a-key-at-all-1234"')
    code, _, err = ask("-t", "sum", "gpt-5.1")
    assert (code, "sk-not" in err) == (2, False)
