"""What one deployment rejects, another takes."""

import json

import pytest
from tests.referee.corpus.openai_responses import CODEX, HI, STRICT, TEXT, ask, form, strict

from pondero.dialects import Rejected
from pondero.dialects.openai_responses.service import SERVICE

TAKEN = [
    ("vllm", ask(model="Qwen/Qwen3-0.6B", max_output_tokens=8)),
    ("openrouter", ask(model="openai/gpt-5.6-sol", provider={"only": ["openai"]})),
    ("deepseek", form({"type": "object"}, model="deepseek-v4-flash")),
    ("xai-responses", form({"type": "object"}, model="grok-4.3")),
    ("azure", ask(model="my-deployment", reasoning={"effort": "minimal"}, temperature=1)),
    ("openai", form(strict(x={**TEXT, "default": None}))),
    ("openai", ask({"role": "developer", "content": "x"}, {"role": "developer", "content": "y"}, HI,
                   {"role": "system", "content": "z"})),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "request_"), TAKEN)
def test_it_is_taken(provider, request_):
    assert SERVICE.accept(request_, provider)


@pytest.mark.parametrize(
    ("provider", "shape"),
    [
        ("openai", {"error": {"message": "M", "type": "T", "param": "reasoning", "code": "C"}}),
        (
            "xai-responses",
            {"error": "Failed to deserialize the JSON body into the target type: M"},
        ),
        ("chatgpt", {"detail": "M"}),
        ("openrouter", {"error": {"code": 400, "message": "M"}}),
    ],
)
def test_an_error_has_the_shape_of_its_deployment(provider, shape):
    with pytest.raises(Rejected) as caught:
        SERVICE.accept(ask(**CODEX, reasoning=5), provider)

    text = json.dumps(json.loads(caught.value.response.body))
    wording = "Invalid type for 'reasoning': expected an object, but got an integer instead."
    plain = text.replace(wording, "M").replace("invalid_request_error", "T")
    assert json.loads(plain.replace("invalid_type", "C")) == shape


@pytest.mark.parametrize(
    ("fields", "status", "names"),
    [
        ({"model": "grok-99"}, 400, {"code", "error"}),
        ({"model": "grok-4.6", "temperature": "1"}, 422, {"error"}),
        ({"model": "grok-4.6", "input": [{"type": "thing"}]}, 422, {"error"}),
    ],
)
def test_xai_answers_422_only_to_what_does_not_fit_its_types(fields, status, names):
    with pytest.raises(Rejected) as caught:
        SERVICE.accept(ask(**fields), "xai-responses")

    assert caught.value.response.status == status
    assert set(json.loads(caught.value.response.body)) == names


def test_a_schema_of_the_sheet_is_strict():
    assert SERVICE.accept(form(strict(x=TEXT, y=STRICT)), "openai")
    assert SERVICE.accept(ask(HI), "openai")
