"""Checks the messages of a request; their order is behaviour, as in ``rules``."""

import re
from collections.abc import Sequence

import msgspec

from pondero.canon import Json

from .. import types
from ..input.messages import make_call_id
from ..models import Model, Provider
from ..signatures import stamp
from .media import check_media

# OpenAI's pattern of a message's name (its own error quotes it; public clients, 2026-11-16)
_NAME = r"^[^\s<|\\/>]+$"
_CALLED = "^[a-zA-Z0-9_-]+$"


class Conversation:
    """Checks the messages of one request: fields, pairs of call and result, signatures."""

    def __init__(self, provider: Provider, model: Model, name: str) -> None:
        self._provider = provider
        self._rejecter = provider.rejecter
        self._lacks = model.lacks
        self._form = model.form or provider.form
        self._model = name
        self._open: list[tuple[str, str]] = []  # unanswered calls: the id given, and the id shown
        self._at = 0

    def check(self, messages: Sequence[types.Message]) -> None:
        """Raise Rejected for the first invalid message."""
        begins = isinstance(messages[0], types.System | types.Developer)
        for self._at, message in enumerate(messages):
            self._check_role(message)
        for self._at, message in enumerate(messages[begins:], start=int(begins)):
            if self._provider.strict:
                self._check_name(message)
                self._check_words(message)
            match message:
                case types.ToolAnswer() | types.FunctionAnswer():
                    self._check_answer(message)
                case types.Assistant():
                    self._check_answered()
                    self._check_assistant(message)
                case types.User():
                    self._check_media(message)
                    self._check_answered()
                case _:
                    self._check_answered()
        self._check_answered()

    def _check_role(self, message: types.Message) -> None:
        if not isinstance(message, types.System | types.Developer):
            return
        role, param = str(message.__struct_config__.tag), f"messages[{self._at}].role"
        if "system" in self._lacks:
            self._rejecter.reject("no_system", param=param, role=role)
        if "developer" in self._lacks and role == "developer":
            self._rejecter.reject("role", param=param, role=role, index=self._at)
        if "later_system" in self._lacks and self._at:
            self._rejecter.reject("later_system", param=param)

    def _check_name(self, message: types.Message) -> None:
        if message.name is not None and not re.fullmatch(_NAME, message.name):
            self._rejecter.reject("pattern", param=f"messages[{self._at}].name", pattern=_NAME)

    def _check_answer(self, message: types.ToolAnswer | types.FunctionAnswer) -> None:
        id_ = message.tool_call_id if isinstance(message, types.ToolAnswer) else None
        if self._provider.strict and isinstance(message, types.ToolAnswer) and not id_:
            self._rejecter.reject("missing", param=f"messages[{self._at}].tool_call_id")
        call = next((call for call in self._open if not id_ or call[0] == id_), None)
        if call is None:
            self._rejecter.reject("result_without_call", param=f"messages.[{self._at}].role")
        self._open.remove(call)

    def _check_answered(self) -> None:
        if self._open:
            ids = ", ".join(shown for _, shown in self._open)
            self._rejecter.reject("unanswered_call", param="messages", ids=ids)

    def _check_assistant(self, message: types.Assistant) -> None:
        self._check_signatures(message.reasoning_details or [])
        calls = [self._call(call, number) for number, call in enumerate(message.tool_calls or ())]
        if (older := message.function_call) is not None:
            calls.append(("", make_call_id(f"messages[{self._at}].function_call", older.name)))
        said = (message.content, message.refusal, message.audio)
        if not calls and not _has_thinking(message) and all(each is None for each in said):
            self._rejecter.reject("empty_assistant", param=f"messages.[{self._at}].content")
        self._open = calls

    def _call(self, call: types.Call, number: int) -> tuple[str, str]:
        provider, where = self._provider, f"messages[{self._at}].tool_calls[{number}]"
        body = call.custom if call.type == "custom" else call.function
        if body is None or (provider.strict and not call.id):
            lacks = "id" if body is not None else call.type
            self._rejecter.reject("missing", param=f"{where}.{lacks}")
        if provider.call_ids and not re.fullmatch(provider.call_ids, call.id or ""):
            self._rejecter.reject("call_id", param=f"{where}.id", id=call.id)
        if provider.strict and not re.fullmatch(_CALLED, body.name):
            param = f"{where}.{call.type}.name"
            self._rejecter.reject("pattern", param=param, pattern=_CALLED)
        if provider.json_arguments and call.function is not None:
            self._check_arguments(call.function.arguments, f"{where}.function.arguments", call.id)
        return call.id or "", call.id or make_call_id(where, body.name)

    def _check_arguments(self, arguments: str, param: str, id_: str | None) -> None:
        try:
            msgspec.json.decode(arguments)
        except (msgspec.DecodeError, RecursionError):
            self._rejecter.reject("bad_arguments", param=param, id=id_)

    def _check_signatures(self, details: list[dict[str, Json]]) -> None:
        provider = self._provider
        if provider.thinking != "reasoning_details":
            return
        words = ""
        for number, detail in enumerate(details):
            words = str(detail.get("text") or detail.get("summary") or words)
            signature = detail.get("data", detail.get("signature"))
            is_signed = "data" in detail or self._form == "signed"
            if is_signed and signature != stamp(words, model=self._model):
                where = f"messages[{self._at}].reasoning_details[{number}]"
                upstream = provider.bad_seal_upstream
                self._rejecter.reject("bad_seal", param=where, upstream=upstream)

    def _check_media(self, message: types.User) -> None:
        for number, part in enumerate(message.content if isinstance(message.content, list) else ()):
            check_media(
                part, f"messages.[{self._at}].content.[{number}]", self._provider, self._lacks
            )

    # -- fields of compatible servers, which a strict provider rejects ---------------------------

    def _check_words(self, message: types.Message) -> None:
        where = f"messages[{self._at}]"
        if isinstance(message, types.Assistant):
            self._check_thoughts(message, where)
        for number, part in enumerate(message.content if isinstance(message.content, list) else ()):
            if isinstance(part, types.ThinkingPart | types.VideoPart):
                self._check_word(str(part.__struct_config__.tag), f"{where}.content[{number}].type")
            if isinstance(part, types.RefusalPart | types.ThinkingPart):
                continue
            if part.cache_control is not None:
                self._check_word("cache_control", f"{where}.content[{number}].cache_control")

    def _check_thoughts(self, message: types.Assistant, where: str) -> None:
        for field in ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details"):
            if getattr(message, field) is not None:
                self._check_word(field, f"{where}.{field}")
        for number, call in enumerate(message.tool_calls or ()):
            if call.extra_content is not None:
                self._check_word("extra_content", f"{where}.tool_calls[{number}].extra_content")

    def _check_word(self, word: str, param: str) -> None:
        if word not in self._provider.words:
            self._rejecter.reject_unknown(param)


def _has_thinking(message: types.Assistant) -> bool:
    texts = (message.reasoning_content, message.reasoning, message.reasoning_text)
    return bool(message.reasoning_details) or any(texts)
