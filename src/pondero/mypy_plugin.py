"""Misspelt levels in programs that mypy checks: ``plugins = ["pondero.mypy_plugin"]``.

mypy sees a ``str`` in every level. This plugin reads the texts in the source, as pyright's
signatures do, and those after the slash of a model's name too. mypy alone imports this module.
"""

from typing import TYPE_CHECKING

from .errors import BadThinking
from .thinking import is_nearly_level, parse_intent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.nodes import Expression
    from mypy.plugin import FunctionSigContext, MethodSigContext
    from mypy.types import FunctionLike

_FUNCTIONS = (
    *("client.dial.plan", "client.default_client.ask", "client.default_client.aask"),
    *("client.conversation.chat.Chat", "client.conversation.chat.AsyncChat"),
    *("sdk.client", "sdk.aclient"),
)
_CLASSES = ("client.client.Client", "client.client.AsyncClient", "client.base_client.BaseClient")
_METHODS = ("ask", "stream", "prepare", "batch", "draft_batch")
_CHECKED = {
    *(f"pondero.{name}" for name in _FUNCTIONS),
    *(f"pondero.{name}.{method}" for name in _CLASSES for method in _METHODS),
}
_LEVELS = ("thinking", "thinking_effort", "level")


def plugin(_version: str) -> type[object]:
    """Return the plugin for a version of mypy, which calls this."""
    from mypy.plugin import Plugin  # noqa: PLC0415 - a program that is run has none

    class LevelPlugin(Plugin):
        """Checks the levels of every call that takes one: of functions, classes and methods."""

        def get_function_signature_hook(
            self, fullname: str
        ) -> "Callable[[FunctionSigContext], FunctionLike] | None":
            return _check if fullname in _CHECKED else None

        def get_method_signature_hook(
            self, fullname: str
        ) -> "Callable[[MethodSigContext], FunctionLike] | None":
            return _check if fullname in _CHECKED else None

    return LevelPlugin


def _check(context: "FunctionSigContext | MethodSigContext") -> "FunctionLike":
    from mypy.nodes import StrExpr  # noqa: PLC0415 - as above

    for name, given in _arguments(context):
        if isinstance(given, StrExpr) and (problem := _find_problem(name, given.value)):
            context.api.fail(problem, given)
    return context.default_signature


def _arguments(
    context: "FunctionSigContext | MethodSigContext",
) -> "Iterator[tuple[str | None, Expression]]":
    """Yield the arguments of a call by name; those of the options are in the call alone."""
    from mypy.nodes import CallExpr  # noqa: PLC0415 - as above

    names = context.default_signature.arg_names
    for name, given in zip(names, context.args, strict=False):
        yield from ((name, each) for each in given)
    if isinstance(call := context.context, CallExpr):
        for name, each in zip(call.arg_names, call.args, strict=True):
            if name is not None and name not in names:
                yield name, each


def _find_problem(name: str | None, text: str) -> str | None:
    if name == "model":
        _, slash, text = text.rpartition("/")
        if not (slash and is_nearly_level(text)):
            return None
    elif name not in _LEVELS:
        return None
    try:
        parse_intent(text)
    except BadThinking as error:
        return str(error)
    return None
