"""Calibrations for the tests of every room that takes ``auto``."""

from datetime import UTC, datetime

from msgspec.structs import replace

from pondero.catalog import catalog_hash
from pondero.exchange import Calibration, LevelEvidence, fields_hash
from pondero.store import load_catalog, save_calibration
from pondero.thinking import Policy, parse_intent

TODAY = datetime.now(UTC).date()


def finding(level, model="claude-opus-5", **figures):
    """What was found of a level, on this catalog."""
    entry = load_catalog().entry(model)
    wish = parse_intent(level, words=entry.capability.extra_words)
    fields = fields_hash(entry, wish, max_tokens=None, policy=Policy())
    return LevelEvidence(level=level, fields=fields, n=40, accuracy=0.9, **figures)


def calibration(name="sums", level="low", model="claude-opus-5", **changes):
    """A calibration whose evidence is fresh, but for what is changed."""
    found = finding(level, model)
    whole = Calibration(
        name=name,
        model=load_catalog().entry(model).id,
        level=level,
        fields=found.fields,
        n=320,
        accuracy=0.869,
        difference=-0.012,
        lower=-0.039,
        upper=0.015,
        reference=f"{load_catalog().entry(model).id}/high",
        margin=0.05,
        data="d" * 32,
        judge="numeric",
        run="20261115-4d891a",
        date=TODAY.isoformat(),
        adopted=f"{TODAY.isoformat()}T00:00:00.000000Z",
        catalog=catalog_hash(),
    )
    return replace(whole, **changes)


def adopt(*args, **changes):
    """Keep a calibration in the config folder of this test, and return it."""
    made = calibration(*args, **changes)
    save_calibration(made, force=True)
    return made
