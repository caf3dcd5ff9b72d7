"""What tokens of audio, images and video cost, and the most that a request with them can."""

from decimal import Decimal
from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero.canon import MEDIA, MediaTokens, Usage
from pondero.client import models
from pondero.store import assume_media, find_most_prices, price_most, price_usage

pytest.importorskip("genai_prices")

MODELS = (  # with a price for some medium
    *(("openai", "gpt-realtime"), ("openai", "gpt-image-1.5"), ("openai", "gpt-4o-transcribe")),
    *(("openai-chat", "gpt-audio"), ("google", "gemini-2.5-flash-image")),
    *(("google", "gemini-3-flash-preview"), ("google", "gemini-3.1-flash-live-preview")),
    *(("google", "gemini-embedding-2"), ("google", "gemini-omni-flash-preview")),
)
TEXT = (("anthropic", "claude-opus-5"), ("openai", "gpt-5.5"), ("google", "gemini-2.5-pro"))
COUNT = st.integers(0, 300_000)


def make_usage(draw: st.DrawFn) -> Usage:
    new, cached, output, thinking = (draw(COUNT) for _ in range(4))
    rooms = {"input": new, "cache_read": cached, "output": output + thinking}
    counts: dict[str, int] = {}
    for medium in MEDIA:
        for kind, room in rooms.items():
            counts[f"{kind}_{medium}"] = part = draw(st.integers(0, room))
            rooms[kind] = room - part
    return Usage(new, cached, None, output, thinking, media=MediaTokens(**counts))


USAGES = st.composite(make_usage)()


@pytest.mark.parametrize(
    ("provider", "model", "media", "dollars"),
    [
        ("openai", "gpt-realtime", MediaTokens(output_audio=1_000_000), "64"),
        ("openai", "gpt-realtime", None, "16"),
        ("openai-chat", "gpt-audio", MediaTokens(output_audio=1_000_000), "64"),
        ("google", "gemini-2.5-flash-image", MediaTokens(output_image=1_000_000), "30"),
        ("openai", "gpt-image-1.5", MediaTokens(output_image=500_000), "21"),
        ("google", "gemini-2.5-pro", MediaTokens(output_image=1_000_000), "10"),  # has no own price
    ],
)
def test_an_answer_has_the_price_of_its_medium(provider, model, media, dollars):
    usage = Usage(0, output=1_000_000, media=media)
    assert price_usage(provider, model, usage) == Decimal(dollars)


def test_a_prompt_has_the_price_of_its_media_and_the_cache_one_of_its_own():
    media = MediaTokens(input_audio=1_000, cache_read_audio=2_000)
    usage = Usage(3_000, 5_000, output=0, media=media)
    expected = 2_000 * Decimal("0.5") + 1_000 + 3_000 * Decimal("0.05") + 2_000 * Decimal("0.1")
    assert price_usage("google", "gemini-3-flash-preview", usage) == expected / 1_000_000


@pytest.mark.parametrize(("provider", "model"), [*MODELS, *TEXT])
@given(USAGES)
def test_without_media_a_usage_costs_what_its_tokens_cost(provider, model, usage):
    plain = replace(usage, media=None)
    assert price_usage(provider, model, replace(usage, media=MediaTokens())) == price_usage(
        provider, model, plain
    )
    if (provider, model) in TEXT:
        assert price_usage(provider, model, usage) == price_usage(provider, model, plain)


@pytest.mark.parametrize(("provider", "model"), MODELS)
@given(USAGES)
def test_no_usage_costs_more_than_the_most_of_its_tokens(provider, model, usage):
    cost = price_usage(provider, model, usage)
    if cost is None:
        assert price_usage(provider, model, replace(usage, media=None)) is None
        return
    prompt, output = usage.input + usage.cache_read, usage.output + usage.thinking
    assert cost <= price_most(provider, model, prompt, output, media=MEDIA)
    assert cost <= price_usage(
        provider,
        model,
        assume_media(provider, model, replace(usage, input=prompt, cache_read=None)),
    )


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_a_prompt_of_text_keeps_its_price_and_an_answer_has_the_highest(provider, model):
    text = price_usage(provider, model, Usage(1_000, output=0))
    assert price_most(provider, model, 1_000, 0) == text
    answers = [MediaTokens(**{f"output_{medium}": 1_000}) for medium in MEDIA]
    usages = [Usage(0, output=1_000, media=each) for each in (None, *answers)]
    costs = [price_usage(provider, model, each) for each in usages]
    assert price_most(provider, model, 0, 1_000) == max(costs)
    most = find_most_prices(provider, model, int(time() // 60))
    assert most is None or most.output * 1_000 == max(costs) * 10**9


def test_media_that_exceed_their_counts_have_a_price_all_the_same():
    usage = Usage(10, output=10, media=MediaTokens(input_audio=99, output_audio=99))
    whole = Usage(10, output=10, media=MediaTokens(input_audio=10, output_audio=10))
    assert price_usage("openai", "gpt-realtime", usage) == price_usage(
        "openai", "gpt-realtime", whole
    )


def test_an_estimate_of_a_model_without_prices_for_media_stays():
    for entry in models():
        usage = Usage(7, output=3)
        assumed = assume_media(entry.provider.name, entry.model, usage, media=())
        cost = price_usage(entry.provider.name, entry.model, usage)
        if cost is not None:
            assert price_usage(entry.provider.name, entry.model, assumed) >= cost
    assert assume_media("anthropic", "claude-opus-5", Usage(7, output=3)) == Usage(7, output=3)
