"""A negative corpus from the vendors' own types: wrong JSON is rejected, right JSON is accepted."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pytest
from tests.referee.cases import post
from tests.referee.vendor_requests import STILL_TYPED, VENDORS, Vendor
from tests.referee.vendor_types import fields_of, places, right_value, wrong_value

from pondero.dialects import Rejected, get_dialect

Json = Any


class Trial(NamedTuple):
    """A request with one field that is set to a value."""

    path: str
    body: Json


def refusal(vendor: Vendor, body: Json) -> tuple[int, str] | None:
    try:
        request = post(vendor.url, body, vendor.headers)
        get_dialect(vendor.dialect).service().accept(request, vendor.provider)
    except Rejected as rejection:
        return rejection.response.status, str(rejection)
    return None


def put(body: Json, path: tuple[str | int, ...], value: Json) -> Json:
    changed = deepcopy(body)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def named(path: tuple[str | int, ...]) -> str:
    return ".".join("*" if isinstance(key, int) else key for key in path)


def hosts(vendor: Vendor) -> Iterator[Trial]:
    """Yield the good request, and it with each other field of each object that it has."""
    yield Trial("", dict(vendor.body))
    for place in places(vendor.body, vendor.hint):
        for name, each in fields_of(place.leaf).items():
            path = (*place.path, name)
            at: Json = vendor.body
            for key in place.path:
                at = at[key]
            if name not in at:
                value = vendor.values.get(named(path), right_value(each.hint))
                alone = vendor.unions and fnmatchany(named(place.path), vendor.unions)
                with_it = put(vendor.body, place.path, {name: value}) if alone else vendor.body
                yield Trial(named(path), put(with_it, path, value))


def fnmatchany(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(path, pattern.replace("*", "[*]")) for pattern in patterns)


def faults(vendor: Vendor) -> Iterator[Trial]:
    """Yield the requests with one value of a wrong kind, each in the first that can hold it.

    A field that is rejected for what the request lacks still has a type, which is judged first.
    """
    seen = set()
    for host in sorted(hosts(vendor), key=lambda each: each.path in vendor.apart):
        if vendor.apart.get(host.path) not in (None, *STILL_TYPED):
            continue
        for place in places(host.body, vendor.hint):
            for name, each in fields_of(place.leaf).items():
                path = (*place.path, name)
                value = wrong_value(each.hint)
                typed = vendor.apart.get(named(path)) in (None, *STILL_TYPED)
                if typed and value is not None and (named(path), place.leaf) not in seen:
                    seen.add((named(path), place.leaf))
                    yield Trial(named(path), put(host.body, path, value))


def refused(vendor: Vendor) -> dict[str, str]:
    """Return the fields whose right value is rejected, and what is said of them."""
    judged = ((trial.path, refusal(vendor, trial.body)) for trial in hosts(vendor))
    return {path: no[1] for path, no in judged if no is not None}


def unread(vendor: Vendor) -> set[str]:
    """Return the fields whose wrong value is accepted, or said to be wrong as the right one is."""
    before = refused(vendor)
    return {
        each.path
        for each in faults(vendor)
        if (said := refusal(vendor, each.body)) is None
        or not 400 <= said[0] < 500
        or said[1] in (before.get(path) for path in _up(each.path))
    }


def _up(path: str) -> list[str]:
    """Return a path and those of the objects around it."""
    steps = path.split(".")
    return [".".join(steps[:end]) for end in range(len(steps), 0, -1)]


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda each: each.provider)
def test_a_right_value_of_every_field_is_accepted_but_of_those_apart(vendor):
    found = refused(vendor)
    assert {path: said for path, said in found.items() if path not in vendor.apart} == {}
    assert vendor.apart.keys() - found.keys() == set(), "accepted by now"


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda each: each.provider)
def test_a_wrong_value_of_every_field_is_rejected_but_of_those_unread(vendor):
    found = unread(vendor)
    assert found - vendor.unread.keys() == set()
    assert vendor.unread.keys() - found == set(), "rejected by now"


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda each: each.provider)
def test_there_are_many_faults(vendor):
    assert len(list(faults(vendor))) > 15


def read_leniently(vendor: Vendor, body: Json) -> None:
    with suppress(Rejected):
        get_dialect(vendor.dialect).service().parse(post(vendor.url, body, vendor.headers))


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda each: each.provider)
def test_the_lenient_reading_reads_or_rejects_every_one_of_them(vendor):
    for trial in (*hosts(vendor), *faults(vendor)):
        read_leniently(vendor, trial.body)
