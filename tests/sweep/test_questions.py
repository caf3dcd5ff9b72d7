"""Questions from files, and arms from models and levels."""

import json

import pytest

import pondero
from pondero.errors import BadParameter
from pondero.sweep.arms import arms_of, reference_of, sweep_policy
from pondero.sweep.questions import digest, questions_of, read_questions, shuffle


def test_jsonl_has_the_fields_of_inspect(tmp_path):
    path = tmp_path / "data.jsonl"
    rows = [
        {"id": "a", "input": "2 + 2?", "target": "4", "metadata": {"kind": "sums"}, "source": "x"},
        {"input": [{"role": "user", "content": "hi"}], "target": ["yes", "no"]},
        {"id": 3, "input": "Which?", "target": 7, "choices": ["one", "two"]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    one, two, three = questions_of(path)
    assert (one.id, one.target, one.metadata) == ("a", ("4",), {"source": "x", "kind": "sums"})
    assert (two.id, two.target) == ("2", ("yes", "no"))
    assert three.target == ("7",)
    assert three.prompt == "Which?\n\nA) one\nB) two\n\nAnswer with the letter of one choice."


def test_csv_is_read_alike(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('id,input,target,choices,metadata,kind\nq,"a, b?",B,one|two,"{""n"": 1}",k\n')
    (found,) = questions_of(path)
    assert found.input == "a, b?"
    assert found.choices == ("one", "two")
    assert found.metadata == {"kind": "k", "n": 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no questions"),
        ('{"input": "a"}\n{"input": ', ":2: invalid JSON"),
        ('["a"]', ":1: a question is a JSON object"),
        ('{"target": "a"}', ":1: no field is the question; found 'target'"),
        ('{"id": "a", "input": "a"}\n{"id": "a", "input": "b"}', ":2: the id 'a'"),
        ('{"input": "a", "metadata": [1]}', "'metadata' is a JSON object"),
        ('{"input": "a", "choices": 5}', ":1: 'choices' is a list of texts, not 5"),
        ('{"input": "a", "choices": "[1,"}', ":1: 'choices' is a list"),
        ('{"input": "a", "metadata": "[1,"}', ":1: 'metadata' is"),
        ('{"input": [{"role": "x", "content": "a"}]}', r":1: messages\[0\].role must be one of"),
        ('{"id": "\\ud800", "input": "a"}', r":1: the id '\\ud800' has half of a character"),
        ('{"input": "a", "n": ' + "[" * 100_000, ":1: invalid JSON"),
        (
            '{"question": "a", "answer": "b"}\n{"q": "a", "a": "b"}',
            ":2: this row has no 'question', which is the question in others; found 'q', 'a'$",
        ),
        ('{"question": "a"}\n{}', ":2: this row has no 'question', .*; found no field$"),
        ('{"prompt": "a"}\n{"prompt": " "}', ":2: 'prompt' is empty$"),
        ('{"prompt": "a"}\n{"prompt": 5}', ":2: 'prompt' is a text or a list of messages, not 5$"),
    ],
)
def test_what_is_no_question_is_named_with_its_place(tmp_path, text, says):
    path = tmp_path / "data.jsonl"
    path.write_text(text)
    with pytest.raises(BadParameter, match=says):
        questions_of(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("input,target\nWhat is 1,000 + 1?,1001\n", ":2: this row has more fields"),
        ('input,target\n"What?,1\nWhy?,2\n', "invalid CSV"),
        ("input,choices\na,[1\n", ":2: 'choices' is a list"),
        ("question,answer\na,1\n,2\n", ":3: this row has no 'question', .*; found 'answer'$"),
        ("What?,1\nWhy?,2\n", ":2: no field is the question; found 'What\\?', '1'"),
    ],
)
def test_a_csv_that_would_lose_something_is_refused(tmp_path, text, says):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(BadParameter, match=says):
        questions_of(path)


def test_a_file_that_is_no_json_is_told_which_formats_are_read(tmp_path):
    path = tmp_path / "q.txt"
    path.write_text("What is 2 + 2?\nWhat is 3 + 3?\n")
    with pytest.raises(
        BadParameter, match=r"q\.txt:1: this is not JSON; use JSONL, JSON, CSV or TSV"
    ):
        questions_of(path)


def test_a_field_of_a_csv_may_be_longer_than_pythons_limit(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(f"input,target\n{'x' * 200_000},1\n")
    assert len(questions_of(path)[0].input) == 200_000


def test_a_line_of_jsonl_ends_at_its_newline_alone(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes('\ufeff{"input": "a\u2028b\u0085c"}\r\n{"input": "d"}\r\n'.encode())
    assert [each.input for each in questions_of(path)] == ["a\u2028b\u0085c", "d"]


def test_ids_may_begin_at_zero():
    found = questions_of({"id": n, "input": f"{n}?"} for n in range(3))
    assert [each.id for each in found] == ["0", "1", "2"]


def test_choices_are_added_to_the_last_message():
    rows = [{"input": [{"role": "user", "content": "Which?"}], "choices": ["x", "y"]}]
    (found,) = questions_of(rows)
    assert found.prompt[0]["content"].startswith("Which?\n\nA) x\nB) y")
    assert found.input[0]["content"] == "Which?"


def test_the_order_is_seeded_and_the_hash_does_not_heed_it():
    found = questions_of({"id": str(n), "input": f"{n}?"} for n in range(50))
    assert shuffle(found, 1) == shuffle(found, 1) != shuffle(found, 2)
    assert digest(shuffle(found, 1)) == digest(found)
    assert digest(found[1:]) != digest(found)


# -- arms ------------------------------------------------------------------------------------------


def test_levels_that_become_the_same_fields_are_one_arm():
    arms = arms_of(["gemini-3-pro-preview"])
    assert [arm.levels for arm in arms] == [
        ("off", "minimal", "low"),
        ("medium", "high", "xhigh", "max"),
    ]
    assert [arm.level for arm in arms] == ["low", "high"]
    policy = sweep_policy()
    for arm in arms:
        for level in arm.levels:
            assert pondero.plan(arm.model, level, policy=policy).fields == arm.fields


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5.5", "ollama:qwen3", "gpt-4o"])
def test_every_level_is_in_exactly_one_arm(model):
    arms = arms_of([model])
    assert sorted(level for arm in arms for level in arm.levels) == sorted(
        ["off", "minimal", "low", "medium", "high", "xhigh", "max"]
    )
    assert len({json.dumps(arm.fields) for arm in arms}) == len(arms)


def test_levels_are_put_in_order_and_a_model_may_name_its_own():
    arms = arms_of(["claude-opus-5", "gpt-5.5/low"], "high,off")
    assert [arm.name for arm in arms] == [
        "anthropic:claude-opus-5/off",
        "anthropic:claude-opus-5/high",
        "openai:gpt-5.5/low",
    ]


def test_the_reference_is_the_highest_of_the_first_model_or_the_declared_one():
    arms = arms_of(["claude-opus-5", "gpt-5.5"], "low,high")
    assert arms[reference_of(arms, None)].name == "anthropic:claude-opus-5/high"
    assert arms[reference_of(arms, "low")].name == "anthropic:claude-opus-5/low"
    assert arms[reference_of(arms, "gpt-5.5/high")].name == "openai:gpt-5.5/high"
    with pytest.raises(BadParameter, match="'max' is not an arm"):
        reference_of(arms, "max")


def test_a_sweep_needs_a_model_and_levels():
    with pytest.raises(BadParameter, match="needs a model"):
        arms_of([])
    with pytest.raises(pondero.UsageError, match="invalid levels"):
        arms_of(["gpt-5.5"], " , ")
    with pytest.raises(pondero.BadThinking):
        arms_of(["gpt-5.5"], "hihg")


def test_a_table_in_another_encoding_says_how_to_save_it(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("input,target\nWie heißt es?,Straße\n".encode("latin-1"))
    with pytest.raises(BadParameter, match=r"latin\.csv is not UTF-8 text; save it as UTF-8"):
        read_questions(path)
