"""Eight choices, as a value."""

import copy
import pickle

import pytest

from pondero import Policy
from pondero.errors import BadPolicy
from pondero.thinking import CHOICES


def test_the_first_of_each_choice_is_the_default():
    assert dict(Policy()) == {name: words[0] for name, words in CHOICES.items()} | {
        "answer_room": 4096,
        "context_cap": 0,
    }


def test_policies_with_the_same_choices_are_equal_and_hash_alike():
    assert Policy(off="floor") == Policy().but(off="floor") != Policy()
    assert hash(Policy(off="floor")) == hash(Policy(off="floor"))
    assert Policy() != "Policy()"


def test_a_policy_does_not_change():
    with pytest.raises(AttributeError, match="but"):
        Policy().off = "omit"
    with pytest.raises(AttributeError):
        del Policy().off


def test_a_policy_survives_pickle_and_copy():
    policy = Policy(show="none", answer_room=7)
    assert pickle.loads(pickle.dumps(policy)) == copy.deepcopy(policy) == policy


def test_its_repr_says_what_differs():
    assert repr(Policy(show="none")) == "Policy(show='none')"


@pytest.mark.parametrize(
    "choices",
    [{"of": "least"}, {"off": "never"}, {"answer_room": -1}, {"answer_room": "x"},
     {"answer_room": True}, {"unsupported": None}],
)  # fmt: skip
def test_an_unknown_choice_is_refused_with_what_would_work(choices):
    with pytest.raises(BadPolicy, match="use"):
        Policy(**choices)


def test_a_misspelt_field_gets_a_suggestion():
    with pytest.raises(BadPolicy, match="did you mean 'unsupported'"):
        Policy(unsuported="strict")


def test_what_is_no_policy_is_refused():
    with pytest.raises(BadPolicy, match="mapping"):
        Policy.of("strict")


def test_a_table_of_a_config_file_is_a_policy():
    assert Policy.of({"answer_room": "512", "show": "none"}) == Policy(answer_room=512, show="none")
    assert Policy.of(None) == Policy.of({}) == Policy()
