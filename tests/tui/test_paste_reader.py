"""Keys and pastes are told apart, however the terminal's input is cut into pieces."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.tui._screen.paste_reader import BEGIN, END, KeyInput, PasteInput, PasteReader

SIGNS = st.sampled_from(["a", "\r", "\x1b", "\x1b[A", "\x1b[I", "[", "2", "0", "1", "~", "é"])
KEYS = st.lists(SIGNS).map("".join).filter(lambda keys: BEGIN not in keys)
PASTES = st.lists(SIGNS | st.sampled_from([BEGIN, END])).map("".join)
CUTS = st.lists(st.integers(1, 7), min_size=1)


def read(bursts, cuts):
    """Return what a reader makes of bursts of input, each cut into pieces, with pauses between."""
    reader = PasteReader()
    found = []
    at = 0
    for burst in bursts:
        rest = burst
        while rest:
            size = cuts[at % len(cuts)]
            at += 1
            found += reader.feed(rest[:size])
            rest = rest[size:]
        found += reader.pause()
        assert not reader.needs_pause
    return found


def joined(found):
    """Return the same with the keys that follow each other in one."""
    whole = []
    for each in found:
        if whole and isinstance(each, KeyInput) and isinstance(whole[-1], KeyInput):
            whole[-1] = KeyInput(whole[-1].text + each.text)
        else:
            whole.append(each)
    return whole


@given(KEYS, PASTES, KEYS.filter(lambda keys: END not in keys), CUTS)
def test_whatever_is_pasted_is_one_paste_and_the_keys_around_it_stay_keys(
    before, pasted, after, cuts
):
    if BEGIN in (before + BEGIN)[:-1] or END in (END + after)[1:]:
        return  # keys that make a marker with one
    found = joined(read([before + BEGIN + pasted + END + after], cuts))
    assert found == [
        *([KeyInput(before)] if before else []),
        PasteInput(pasted),
        *([KeyInput(after)] if after else []),
    ]


@given(st.lists(PASTES, max_size=3), CUTS)
def test_pastes_with_a_pause_between_are_several(pastes, cuts):
    assert read([BEGIN + each + END for each in pastes], cuts) == [
        PasteInput(each) for each in pastes
    ]


@given(KEYS, CUTS)
def test_keys_alone_are_never_held_longer_than_a_pause(keys, cuts):
    assert "".join(each.text for each in read([keys], cuts)) == keys


def test_a_paste_whose_end_never_comes_is_given_out_and_a_key_ends_it():
    reader = PasteReader()
    assert [*reader.feed(f"{BEGIN}some words"), *reader.pause()] == []
    assert reader.unfinished == "some words"
    assert [*reader.give_up()] == [PasteInput("some words")]
    assert (reader.unfinished, [*reader.give_up()]) == ("", [])
    assert [*reader.feed("a"), *reader.pause()] == [KeyInput("a")]
    assert [*reader.feed("bc\r"), *reader.pause()] == [KeyInput("bc\r")]


def test_a_paste_that_stalls_goes_on_as_a_paste_and_presses_no_key():
    reader = PasteReader()
    found = [*reader.feed(f"{BEGIN}one\r"), *reader.give_up()]
    found += [*reader.feed("two\r"), *reader.pause(), *reader.give_up()]
    found += [*reader.feed(f"three\r{END}"), *reader.pause(), *reader.feed("\r")]
    pastes = ["one\r", "two\r", "three\r"]
    assert found == [*map(PasteInput, pastes), KeyInput("\r")]


def test_an_end_that_comes_alone_after_a_stall_ends_the_paste():
    reader = PasteReader()
    found = [*reader.feed(f"{BEGIN}one"), *reader.give_up(), *reader.feed(END), *reader.pause()]
    assert found == [PasteInput("one"), PasteInput("")]
    assert [*reader.feed("/quit\r")] == [KeyInput("/quit\r")]
