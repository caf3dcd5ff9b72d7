"""Every rule of every service rejects what breaks it, and nothing but that."""

import ast
import tomllib
from importlib.resources import files

import pytest
from tests.referee.cases import cases_of, corpora, judge

from pondero.dialects.rejections import load_rules

PACKAGES = {name: f"pondero.dialects.{name}.service" for name in corpora()}
CASES = [(name, case) for name in PACKAGES for case in cases_of(name)]


def _id(each: object) -> str:
    return each if isinstance(each, str) else getattr(each, "rule", "")


@pytest.mark.parametrize(("name", "case"), CASES, ids=_id)
def test_a_rule_rejects_what_breaks_it_and_accepts_its_neighbour(name, case):
    rejected = judge(name, case, case.bad)
    assert rejected is not None, "accepted"
    assert rejected[0] == case.rule, rejected[1]
    assert judge(name, case, case.good) is None


@pytest.mark.parametrize("name", PACKAGES)
def test_every_rule_has_a_case(name):
    assert set(load_rules(PACKAGES[name]).rule) - {case.rule for case in cases_of(name)} == set()


@pytest.mark.parametrize("name", PACKAGES)
def test_every_rejection_in_the_code_is_a_rule_and_every_rule_is_in_the_code(name):
    named = {
        node.value
        for path in (*files(PACKAGES[name]).rglob("*.py"), *files("pondero.dialects").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(load_rules(PACKAGES[name]).rule) - named == set(), "no code names these rules"


def _own_words(package):
    """Return the providers that have words of their own for a rule, and the rule."""
    tables = files(package).joinpath("providers")
    return {
        (path.name.removesuffix(".toml"), rule)
        for path in (tables.iterdir() if tables.is_dir() else ())
        for rule in tomllib.loads(path.read_text(encoding="utf-8")).get("says", {})
    }


@pytest.mark.parametrize("name", PACKAGES)
def test_every_provider_s_own_words_are_of_a_rule_and_have_a_case(name):
    said = _own_words(PACKAGES[name])
    assert {rule for _, rule in said} - set(load_rules(PACKAGES[name]).rule) == set()
    assert said - {(case.provider, case.rule) for case in cases_of(name)} == set()
