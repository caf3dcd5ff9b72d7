"""``[[group]]``: what it says, its mistakes, and the keys that name one."""

import pytest

from pondero.errors import BadConfig
from pondero.gateway.config.model import (
    GatewayGroup,
    LevelRules,
    RateLimitRule,
    SpendBudget,
)
from pondero.gateway.config.reader import check_sharing, load
from pondero.store import load_catalog

FILE = f"""\
[[route]]
match = "opus"
to = "anthropic:claude-opus-5"

[[group]]
name = "research"
budget = {{ cost = 200, per = "month" }}
limit = {{ requests = 300 }}
thinking = {{ cap = "high" }}

[[key]]
name = "ann"
hash = "sha256:{"a" * 64}"
group = "research"
"""


@pytest.fixture
def read(tmp_path):
    def read(text: str):
        path = tmp_path / "gateway.toml"
        path.write_text(text)
        return load(path, load_catalog())

    return read


def test_a_group_has_a_budget_a_limit_and_rules_about_levels(read):
    config = read(FILE)

    (group,) = config.groups
    assert group == GatewayGroup(
        "research", LevelRules(cap="high"), SpendBudget(cost=200), RateLimitRule(requests=300)
    )
    assert config.keys[0].group == "research"
    assert config.find_group("research") is group
    assert config.find_group("other") is None


@pytest.mark.parametrize(
    ("good", "bad", "line", "cure"),
    [
        ('group = "research"', 'group = "reserch"', 14, "did you mean 'research'? use research"),
        ('name = "research"', 'name = "two\\nlines"', 6, "a group's name must be printable"),
        (
            'name = "research"',
            f'name = "pnd_{"a" * 43}"',
            6,
            "may not have the text of a key in it",
        ),
        ('name = "research"', 'nmae = "research"', 6, "did you mean 'name'?"),
        ("cost = 200, ", "", 7, "no maximum is set"),
        ('cap = "high"', 'cap = "hihg"', 9, "unknown level 'hihg'"),
        ("requests = 300", "requests = 0", 8, "write requests = 60"),
    ],
)
def test_a_mistake_names_its_line_and_cure(read, good, bad, line, cure):
    with pytest.raises(BadConfig) as caught:
        read(FILE.replace(good, bad, 1))

    assert f":{line}: " in str(caught.value)
    assert cure in str(caught.value)


def test_two_groups_of_one_name_are_a_mistake(read):
    with pytest.raises(BadConfig, match=":17: an earlier group has this name too"):
        read(f'{FILE}\n[[group]]\nname = "research"\n')


def test_a_key_of_a_group_that_does_not_exist_is_a_mistake(read):
    start = FILE.index("[[group]]")
    with pytest.raises(BadConfig, match=r"unknown group 'research'; write a \[\[group\]\]"):
        read(FILE[:start] + FILE[FILE.index("[[key]]") :])


def test_several_workers_share_what_they_count_for_a_group(read):
    with pytest.raises(BadConfig, match=":10: 2 workers would count the limit of group 'rese"):
        check_sharing(read(f"[server]\nworkers = 2\n{FILE}".replace("budget", "# budget")))
