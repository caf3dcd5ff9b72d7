"""Finds calculations in a question and works them out exactly, step by step."""

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

_WORDS = {
    "times": "*", "multiplied by": "*", "plus": "+", "minus": "-", "divided by": "/",
    "over": "/", "modulo": "%", "mod": "%", "to the power of": "**", "squared": "** 2",
    "cubed": "** 3", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**",
}  # fmt: skip
_IN_WORDS = re.compile(
    "|".join(
        rf"\b{word}\b" if word.isascii() and word != "^" else re.escape(word) for word in _WORDS
    )
)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NAMED = re.compile(
    r"\b(?P<name>add|sum of|multiply|product of) (?P<one>[\d.,]*\d) (?:and|by|with) (?P<other>\d)"
)
_BETWEEN = re.compile(r"(?<=\d)\s*[xX]\s*(?=\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LEADING = re.compile(r"(?<![\d.])0+(?=\d)")
_SUM = re.compile(r"[(\d.-][\d\s().*/%+-]*[\d)]")
_READ = 10_000  # characters of a question
_LONGEST = 300
_BIGGEST = 10**60

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction | int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip


class Calculation(NamedTuple):
    """A calculation, its value in digits (None if undefined) and its steps."""

    text: str
    value: str | None
    steps: tuple[str, ...]


def find_calculation(question: str) -> Calculation | None:
    """Return the longest calculation in a question, or None."""
    text = _NAMED.sub(_write_sign, _DATE.sub("", question[:_READ]))
    text = _IN_WORDS.sub(lambda word: f" {_WORDS[word[0]]} ", text)
    text = _BETWEEN.sub(" * ", _THOUSANDS.sub("", text))
    found = sorted((match[0] for match in _SUM.finditer(text)), key=len, reverse=True)
    for each in found:
        worked = _work(" ".join(each.split()))
        if worked is not None:
            return worked
    return None


def _write_sign(found: re.Match[str]) -> str:
    sign = "+" if found["name"] in ("add", "sum of") else "*"
    return f"{found['one']} {sign} {found['other']}"


def _work(text: str) -> Calculation | None:
    if len(text) > _LONGEST:
        return None
    try:
        tree = ast.parse(_LEADING.sub("", text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.BinOp):
        return None
    steps: list[str] = []
    try:
        value = _value(tree, steps)
    except (ZeroDivisionError, OverflowError):
        return Calculation(text, None, tuple(steps))
    except ValueError:
        return None
    return Calculation(text, format_number(value), tuple(steps))


def _value(node: ast.expr, steps: list[str]) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, steps)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, steps)
        case ast.BinOp(left=left, op=sign_node, right=right) if type(sign_node) in _SIGNS:
            first, second = _value(left, steps), _value(right, steps)
            sign = _SIGNS[type(sign_node)]
            value = _apply(sign, first, second)
            steps.append(
                f"{format_number(first)} {sign} {format_number(second)} = {format_number(value)}"
            )
            return value
    raise ValueError(ast.dump(node))


def _apply(sign: str, first: Fraction, second: Fraction) -> Fraction:
    value = _power(first, second) if sign == "**" else Fraction(_OPERATIONS[sign](first, second))
    if abs(value) > _BIGGEST:
        raise OverflowError
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return an exact power; raises OverflowError for a root or a large number."""
    if exponent.denominator != 1 or abs(exponent) > 200 or abs(base) > 10**30:
        raise OverflowError
    return base ** int(exponent)


def format_number(value: Fraction) -> str:
    """Format a number with at most ten decimals."""
    if value.denominator == 1:
        return str(value.numerator)
    digits = f"{abs(value.numerator * 10**10) // value.denominator:011d}"
    text = f"{digits[:-10]}.{digits[-10:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text
