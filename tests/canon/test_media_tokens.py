"""Tokens of audio, images and video, as parts of the counts."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from pondero.canon import COUNTS, MEDIA, MediaTokens, Usage, fit_media

COUNT = st.none() | st.integers(0, 50)
REPORTED = st.dictionaries(st.sampled_from(MEDIA), st.integers(0, 50))


def sum_kind(media: MediaTokens, kind: str) -> int:
    return sum(getattr(media, f"{kind}_{medium}") for medium in MEDIA)


@given(COUNT, COUNT, COUNT, REPORTED, REPORTED, REPORTED)
def test_media_are_never_more_than_the_counts_they_are_part_of(
    new, cached, output, prompt, again, written
):
    found = fit_media(
        input=new, cache_read=cached, output=output, prompt=prompt, cached=again, written=written
    )
    media = found or MediaTokens()
    assert sum_kind(media, "input") <= (new or 0)
    assert sum_kind(media, "cache_read") <= (cached or 0)
    assert sum_kind(media, "output") <= (output or 0)
    assert min(astuple(media)) >= 0
    assert found is None or any(astuple(found))


def test_a_prompt_whose_cached_media_are_not_said_had_cached_text():
    found = fit_media(
        input=60, cache_read=40, output=1, prompt={"audio": 70}, cached={}, written={}
    )
    assert found == MediaTokens(input_audio=60, cache_read_audio=10)


def test_cached_media_are_apart_if_the_service_says_them():
    found = fit_media(
        input=60, cache_read=40, output=1, prompt={"audio": 70}, cached={"audio": 30}, written={}
    )
    assert found == MediaTokens(input_audio=40, cache_read_audio=30)


def test_usages_add_up_with_their_media():
    spoken = Usage(5, output=3, media=MediaTokens(input_audio=2, output_audio=3))
    seen = Usage(7, output=1, media=MediaTokens(input_image=6))
    both = spoken + seen
    assert (both.input, both.output) == (12, 4)
    assert both.media == MediaTokens(input_audio=2, input_image=6, output_audio=3)
    assert (spoken + Usage(1, output=1)).media == spoken.media
    assert (Usage(1) + Usage(1)).media is None


def test_a_usage_that_was_saved_before_is_read():
    saved = dict.fromkeys(COUNTS, 1)
    assert msgspec.convert(saved, Usage) == Usage(1, 1, 1, 1, 1, 1)
    spoken = Usage(5, output=3, media=MediaTokens(output_audio=3))
    assert msgspec.json.decode(msgspec.json.encode(spoken), type=Usage) == spoken
