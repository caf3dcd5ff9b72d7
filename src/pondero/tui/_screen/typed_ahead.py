"""Words typed while a window is open that uses no letters: they go to the input line, visibly."""

from collections.abc import Callable
from typing import Any

from textual.events import Key, Paste
from textual.screen import Screen

from .widgets.approval import ApprovalScreen
from .widgets.comparison_screen import ComparisonScreen
from .widgets.prompt import Prompt
from .widgets.views import Picker

_EDITING = ("backspace", "delete")
_AGAIN = " · Enter again chooses"


class TypedAhead:
    """Gives letters and pastes to the prompt in place of a window, in the order they came."""

    def __init__(self, prompt: Prompt, list_screens: Callable[[], list[Screen[Any]]]) -> None:
        self._prompt = prompt
        self._list_screens = list_screens
        self._window: Screen[Any] | None = None  # that was typed into
        self._is_typing = False
        self._more = ""  # what the window says besides the words

    def take(self, event: Key | Paste) -> bool:
        """Return whether the prompt gets this; other keys are the window's.

        Enter right after words chooses nothing in a list: it belongs to them. In the question about
        a tool it refuses, as the choice has gone back to the refusal.
        """
        screen = self._find_screen()
        if not isinstance(screen, ApprovalScreen | ComparisonScreen | Picker):
            self._window, self._is_typing = None, False
            return False
        if self._is_for_prompt(event, screen):
            self._window, self._is_typing, self._more = screen, True, ""
            if isinstance(screen, ApprovalScreen):
                screen.choose_refusal()
            self._prompt._forward_event(event)  # noqa: SLF001 - as Textual does with the focus
            return True
        was_typing, self._is_typing = self._is_typing, False
        if was_typing and _is_enter(event) and not isinstance(screen, ApprovalScreen):
            self._more = _AGAIN
            screen.show_typed(self._prompt.text, _AGAIN)
            return True
        return False

    def _is_for_prompt(self, event: Key | Paste, screen: Screen[Any]) -> bool:
        if isinstance(event, Paste) or event.is_printable:
            return True
        return event.key in _EDITING and self._window is screen

    def _find_screen(self) -> Screen[Any] | None:
        """Return the screen on top; None while the app is closed."""
        screens = self._list_screens()
        return screens[-1] if screens else None

    def show(self) -> None:
        """Show in the window what the prompt has by now."""
        screen = self._find_screen()
        if screen is self._window and isinstance(
            screen, ApprovalScreen | ComparisonScreen | Picker
        ):
            screen.show_typed(self._prompt.text, self._more)


def _is_enter(event: Key | Paste) -> bool:
    return isinstance(event, Key) and event.key == "enter"
