"""The lenient reading of requests by strict types."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from pondero.dialects.bodies import UnknownFields, make_lenient_type


class Strict(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    pass


class Budget(Strict, frozen=True, tag="budget"):
    tokens: Annotated[int, Meta(ge=1024)]
    show: Literal["all", "none"] | None = None


class Off(Strict, frozen=True, tag="off"):
    pass


class Body(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    think: Budget | Off
    stop_words: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(max_length=1)] = []


RAW = {
    "think": {"type": "budget", "tokens": 1, "show": "some"},
    "stopWords": ["", "a"],
}


def test_fields_a_type_does_not_have_are_left_out_and_listed():
    unknown = UnknownFields()
    body = {"think": {"type": "off", "new": 1}, "future": 2}
    assert unknown.convert(body, Body) == Body(Off())
    assert unknown.paths == ["think.new", "future"]


def test_what_is_wrong_and_not_unknown_is_still_an_error():
    with pytest.raises(msgspec.ValidationError):
        UnknownFields().convert(RAW, Body)


def test_an_unchecked_type_reads_what_is_out_of_range_as_the_type_itself():
    read = msgspec.convert(RAW, make_lenient_type(Body))
    assert isinstance(read, Body)
    assert isinstance(read.think, Budget)
    assert (read.think.tokens, read.think.show) == (1, "some")
    assert read.stop_words == ["", "a"]


def test_an_unchecked_type_still_wants_the_right_kind_of_value():
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"think": {"type": "budget", "tokens": "many"}}, make_lenient_type(Body))


def test_a_type_without_checks_is_its_own_unchecked_type():
    assert make_lenient_type(Off) is Off
    assert make_lenient_type(str) is str
