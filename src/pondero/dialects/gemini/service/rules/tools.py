"""The rules of tools and toolConfig: functions, hosted tools, and both together."""

import re

from .facts import RequestFacts
from .schemas import check_schema

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_MOST_FUNCTIONS = 512  # of one tool
_TITLES = {
    "google_search": "Search as tool",
    "google_search_retrieval": "Search Grounding",
    "url_context": "Browse as tool",
    "code_execution": "Code execution",
    "google_maps": "Google Maps as tool",
    "computer_use": "Computer Use",
    "file_search": "File search as tool",
}


def check(asked: RequestFacts) -> None:
    """Reject tools that the model does not have, or not in this form or company."""
    for number, tool in enumerate(asked.request.tools):
        if not tool.kinds:
            asked.reject("empty_tool", tool=number)
        if len(tool.function_declarations) > _MOST_FUNCTIONS:
            asked.reject("many_functions", most=_MOST_FUNCTIONS)
    _check_functions(asked)
    _check_hosted(asked)
    _check_together(asked)
    _check_choice(asked)


def _check_functions(asked: RequestFacts) -> None:
    names = set()
    for at, function in asked.functions:
        if not asked.model.functions:
            asked.reject_for_model("no_functions")
        if not _NAME.fullmatch(function.name):
            asked.reject("function_name", at=at)
        if function.name in names:
            asked.reject("function_twice", name=function.name)
        if function.parameters is not None and function.parameters_json_schema is not None:
            asked.reject("function_schemas", at=at)
        if function.parameters is not None:
            if function.parameters.type not in ("OBJECT", None):
                asked.reject("function_root", at=at, name=function.name)
            check_schema(function.parameters, f"{at}.parameters", asked)
        names.add(function.name)


def _check_hosted(asked: RequestFacts) -> None:
    for name in sorted(asked.hosted - set(asked.model.hosted)):
        if name == "google_search_retrieval" and "google_search" in asked.model.hosted:
            asked.reject("old_search")
        asked.reject("no_tool", title=_TITLES.get(name, name))


def _check_together(asked: RequestFacts) -> None:
    """Code execution beside functions was answered by Gemini 2.5 too (recordings)."""
    beside = asked.hosted - {"code_execution"}
    if not beside or not asked.functions:
        return
    if not asked.model.mixes:
        asked.reject("tools_with_functions")
    announced = asked.request.tool_config.include_server_side_tool_invocations
    if asked.surface.announces_tools and not announced:
        asked.reject("unannounced_tools")


def _check_choice(asked: RequestFacts) -> None:
    config = asked.request.tool_config
    choice = config.function_calling_config
    if choice.raw and not asked.functions:
        asked.reject("choice_alone")
    if choice.allowed_function_names and choice.mode not in ("ANY", "VALIDATED"):
        asked.reject("allowed_mode")
    names = {function.name for _, function in asked.functions}
    for name in choice.allowed_function_names:
        if name not in names:
            asked.reject("allowed_name", name=name)
