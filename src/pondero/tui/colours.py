"""Two sets of colours, for dark terminals and for light ones."""

from collections.abc import Mapping

from textual.theme import Theme

DARK = Theme(
    name="dark",
    primary="#7aa2f7",
    secondary="#bb9af7",
    accent="#7dcfff",
    foreground="#c8d0e7",
    background="#15171e",
    surface="#1b1e27",
    panel="#232733",
    success="#9ece6a",
    warning="#e0af68",
    error="#f7768e",
    dark=True,
)
LIGHT = Theme(
    name="light",
    primary="#2f5fc4",
    secondary="#7a3fb5",
    accent="#00708f",
    foreground="#22252e",
    background="#fbfbf9",
    surface="#f1f1ee",
    panel="#e6e6e1",
    success="#3b7a1e",
    warning="#94640b",
    error="#b3233c",
    dark=False,
)
THEMES = (DARK, LIGHT)


def theme_of(environment: Mapping[str, str]) -> str:
    """Return the theme for this terminal: PONDERO_THEME, else by the background in COLORFGBG."""
    if (named := environment.get("PONDERO_THEME", "").lower()) in {each.name for each in THEMES}:
        return named
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name
