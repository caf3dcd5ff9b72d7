"""Prints how a public list of models differs from the catalog; ``models --refresh`` calls it."""

from typing import Any

from ...catalog import CatalogComparison, CatalogDifference

_SHOWN = 40  # rows of a table; --json has them all


def count_differences(found: CatalogComparison) -> dict[str, int]:
    """Return how many models are new or gone, and how many fields are different."""
    kinds = ("new", "gone", "different")
    return {what: sum(each.what == what for each in found.differences) for what in kinds}


def print_comparison(found: CatalogComparison, added: list[dict[str, Any]]) -> None:
    """Print the count, what differs as a table, and the rows that are about to be written."""
    from .tables import Screen, table

    counts = ", ".join(f"{count:,} {what}" for what, count in count_differences(found).items())
    screen = Screen()
    screen.print(f"against {found.source} of {found.date or 'no date'}: {counts}")
    screen.print(
        f"of {found.models:,} thinking models {found.right:,} have the same control here, "
        f"{found.settled:,} another one that is settled"
    )
    shown = [each for each in found.differences if each.what != "gone" and not each.why]
    if shown:
        sheet = table("model", "", "here", "there")
        for each in shown[:_SHOWN]:
            sheet.add_row(f"{each.provider}:{each.model}", _describe_kind(each), *_sides(each))
        screen.print(sheet)
    if len(shown) > _SHOWN:
        screen.print(f"and {len(shown) - _SHOWN:,} more; --json has them all")
    if added:
        sheet = table("row for your models.toml", "off", "levels", "tokens")
        for row in added[:_SHOWN]:
            name = f"{row['provider']}:{row['match'][0]}"
            budget = row.get("budget") or {}
            tokens = f"{budget['min']:,} to {budget['max']:,}" if budget else ""
            off = "yes" if row.get("off") or row.get("thinks") is False else "no"
            sheet.add_row(name, off, " ".join(row.get("efforts", ())), tokens)
        screen.print(sheet)


def _describe_kind(each: CatalogDifference) -> str:
    return each.what if each.field is None else f"{each.field} differs"


def _sides(each: CatalogDifference) -> tuple[str, str]:
    if each.what == "new":
        there = "thinks" if each.theirs else "does not think"
        return (f"taken for {each.like}" if each.like else "its line is not known"), there
    return f"{_format_value(each.ours)} ({each.evidence})", _format_value(each.theirs)


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join("-" if item is None else _format_value(item) for item in value) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
