"""Slash commands: one function each, and a table of them all."""

from collections.abc import Callable

from msgspec import Struct

from ...errors import PonderoError
from ...thinking import describe_plan
from . import effects
from .catalog_view import Choice, DialView
from .cells import NoticeCell, set_open
from .effects import Effects, Transition
from .handlers import comparison, last_turn, model_switch, search, tools
from .handlers.model_switch import switch_model
from .handlers.turn import name_chat_commands
from .state import ChatState, DraftQuestion, PickerState, Show, UsageTally, as_cost

Run = Callable[[ChatState, str, DialView], Transition]
Complete = Callable[[ChatState, str, DialView], tuple[str, ...]]

_MOST = 8
"""Completions that are offered at once."""
_FORMS = (".md", ".jsonl", ".html")
_SHOWS: tuple[Show, ...] = ("auto", "open", "hidden")


class Command(Struct, frozen=True):
    """One command. ``usage`` is its argument; ``anytime`` ones work while an answer comes.

    ``leads_on``: it opens or asks something, so prompts that wait behind it wait longer.
    """

    run: Run
    what: str
    usage: str = ""
    complete: Complete | None = None
    anytime: bool = False
    leads_on: bool = False


def _new(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    if not (state.count or state.busy) and state.queue:
        return state.but(hint="this thread is new; its prompts still wait"), ()
    if state.occupied:
        return state, (effects.Begin(),)
    return state.clear().but(hint="a new thread"), (effects.Begin(),)


def _fork(state: ChatState, argument: str, dial: DialView) -> Transition:
    if not state.count:
        return state.tell("there is nothing to copy yet", tone="warning"), ()
    if argument:  # refuse an impossible model before anything is copied
        name, level_text = dial.split(argument)
        switch_model(state, name, level_text or state.level_text, dial)
    return state, (effects.Fork(state.model, state.level_text, argument),)


def _resume(state: ChatState, argument: str, _dial: DialView) -> Transition:
    if argument and " " not in argument:
        return state, (effects.Open(argument, or_find=True),)
    return state, (effects.ListThreads(argument),)


def _title(state: ChatState, argument: str, _dial: DialView) -> Transition:
    if not argument:
        here = f"this thread is called {state.thread.title!r}; " if state.thread else ""
        return state.tell(f"{here}/title TITLE gives it another"), ()
    if state.thread is None:
        said = "there is no thread to be named yet; say something first"
        return state.tell(said), (effects.SetAside(f"/title {argument}"),)
    return state, (effects.Rename(argument),)


def _attach(state: ChatState, argument: str, _dial: DialView) -> Transition:
    if argument == "-":
        return state.but(attached=(), hint="nothing is attached now"), ()
    if not argument:
        return state.tell("which file? /attach PATH, or @path in your words; - takes all away"), ()
    return state, (effects.Attach(argument),)


def _export(state: ChatState, argument: str, _dial: DialView) -> Transition:
    if not argument:
        return state.tell(f"/export FILE, which ends in {' or '.join(_FORMS)}"), ()
    if not argument.endswith(_FORMS):
        said = f"✗ not written: the name of the file must end in {' or '.join(_FORMS)}"
        return state.tell(said, tone="error"), ()
    if not state.count:
        return state.tell("there is nothing to write yet"), ()
    return state, (effects.Export(argument),)


def _plan(state: ChatState, argument: str, dial: DialView) -> Transition:
    made = dial.plan(state.model, argument or state.level_text, context=state.tally.context)
    lines = [f"{label:<8}{text}".rstrip() for label, text in describe_plan(made)]
    return state.tell(*lines), ()


def _cost(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    tally = state.tally
    if not tally.used:
        return state.tell("nothing was used yet"), ()
    last = UsageTally().plus(tally.last, tally.last_cost)
    rows = (
        ("in", last.input, tally.input),
        ("cached", last.cached, tally.cached),
        ("thinking", last.thinking, tally.thinking),
        ("answer", last.output, tally.output),
    )
    lines = [f"{'':<10}{'last':>12}{'all':>12}"]
    lines += [f"{name:<10}{_figure(one):>12}{_figure(all_):>12}" for name, one, all_ in rows]
    if not tally.cost and not state.paid:
        return state.tell(*lines, state.unpriced), ()
    known = None if tally.at_least and not tally.cost else tally.cost
    label = "at least" if tally.at_least and known else "cost"
    lines.append(f"{label:<10}{as_cost(tally.last_cost):>12}{as_cost(known):>12}")
    if tally.at_least:
        lines.append("a cut-off answer counts as far as the service had reported it")
    if tally.cost is None:
        lines.append(f"a price is not known{': ' if state.unpriced else ''}{state.unpriced}")
    return state.tell(*lines), ()


def _show(state: ChatState, argument: str, _dial: DialView) -> Transition:
    if argument not in _SHOWS:
        now = f"thinking is shown {state.show!r}; use /show {' '.join(_SHOWS)}"
        return state.tell(now, tone="error" if argument else "plain"), ()
    way: Show = argument
    page = tuple(set_open(cell, is_open=way == "open") for cell in state.page)
    return state.but(show=way, page=page, hint=f"show: {way}"), ()


def _system(state: ChatState, argument: str, _dial: DialView) -> Transition:
    if not argument:
        return state.tell(state.system or "there is no system prompt; /system TEXT gives one"), ()
    text = "" if argument == "-" else argument
    changed = state.but(system=text)
    said = "✓ The system prompt is set" if text else "✓ There is no system prompt now"
    note = effects.NoteModel(state.model, state.level_text, text)
    if text and state.thread is None:  # it is on disk once a thread has it
        return changed.tell(said, tone="good"), (note, effects.SetAside(f"/system {text}"))
    return changed.tell(said, tone="good"), (note,)


def _raw(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    return state, (effects.ShowWire(),)


def _doctor(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    return state, (effects.RunDoctor(),)


def _theme(state: ChatState, argument: str, _dial: DialView) -> Transition:
    if argument in state.themes:
        return state.but(theme=argument), (effects.ChangeTheme(argument),)
    if argument:
        return state.tell(f"✗ there is no theme {argument!r}; /theme shows them", tone="error"), ()
    choices = tuple(Choice(name, name) for name in state.themes)
    at = state.themes.index(state.theme) if state.theme in state.themes else 0
    return state.but(choosing=PickerState("theme", "colours", choices, at)), ()


def _complete_show(_state: ChatState, argument: str, _dial: DialView) -> tuple[str, ...]:
    return tuple(each for each in _SHOWS if each.startswith(argument))


def _complete_theme(state: ChatState, argument: str, _dial: DialView) -> tuple[str, ...]:
    return tuple(each for each in state.themes if each.startswith(argument))


def _complete_columns(state: ChatState, argument: str, dial: DialView) -> tuple[str, ...]:
    before, space, last = argument.rpartition(" ")
    found = model_switch.complete_level(state, last, dial)
    if last and not found:
        found = model_switch.complete_model(state, last, dial)
    return tuple(f"{before}{space}{each}" for each in found if each not in before.split())


def _complete_help(_state: ChatState, argument: str, _dial: DialView) -> tuple[str, ...]:
    return tuple(each for each in COMMANDS if each.startswith(argument.lower()))


def _figure(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def _help(state: ChatState, argument: str, _dial: DialView) -> Transition:
    name = argument.removeprefix("/").lower()
    if (command := COMMANDS.get(name)) is not None:
        return state.tell(f"/{name} {command.usage}".rstrip(), f"  {command.what}"), ()
    if name == "status":
        return state.tell(*_STATUS), ()
    if argument:
        return state.tell(_unknown(name), tone="error"), ()
    items = tuple(f"/{name:<9}{each.what}" for name, each in COMMANDS.items())
    return state.tell(*_KEYS, items=items), ()


def _quit(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    return state, (effects.Quit(),)


_KEYS = (
    "",
    "Enter sends · Ctrl+J new line · ↑ ↓ earlier prompts · Tab completes",
    "Ctrl+P palette · Ctrl+L threads · Ctrl+T levels · Ctrl+R shows a paste",
    "Page Up, Page Down scroll · Ctrl+Home, Ctrl+End go to the top and the end",
    "Ctrl+O opens the last thinking, Ctrl+G all · Esc stops · Ctrl+Z suspends",
    "/help COMMAND explains a command, or status · Ctrl+C twice leaves",
)

_STATUS = (
    "the last line of the screen, as much of it as fits:",
    "  the model",
    "  the level; with an arrow: what you requested, and what the model gets;",
    "    unset: nothing about thinking is sent",
    "  cache kept or lost: what a change of the level did to the prompt cache",
    "  unsaved: something is not in your threads yet; it is tried again",
    "  context: how much of the model's window the conversation fills",
    "  in, thinking, answer: tokens of this thread; if a provider counts thinking",
    "    and answer together, all of it is answer",
    "  the cost of this thread; at least, or ≥: an answer was cut off;",
    "    offline: the emulator answers",
    "  as planned, or how the last answer thought otherwise",
)

COMMANDS: dict[str, Command] = {
    "model": Command(
        model_switch.model_command,
        "list or switch models",
        "[NAME[/LEVEL]]",
        model_switch.complete_model,
    ),
    "thinking": Command(
        model_switch.thinking, "how hard it thinks", "LEVEL", model_switch.complete_level
    ),
    "plan": Command(_plan, "what is sent, and why", "[LEVEL]", model_switch.complete_level),
    "copy": Command(last_turn.copy, "the answer, or its code N", "[N]", anytime=True),
    "retry": Command(
        comparison.retry,
        "ask again and compare",
        "[LEVEL]",
        model_switch.complete_level,
        leads_on=True,
    ),
    "compare": Command(
        comparison.compare_command,
        "several levels or models",
        "LEVEL|NAME[/LEVEL]... [QUESTION]",
        _complete_columns,
        leads_on=True,
    ),
    "attach": Command(_attach, "add a file to the prompt", "PATH", anytime=True),
    "edit": Command(last_turn.edit_command, "change the last question", leads_on=True),
    "undo": Command(last_turn.undo, "take the last turn back", leads_on=True),
    "cost": Command(_cost, "tokens and cost so far"),
    "show": Command(_show, "how thinking is shown", "[auto|open|hidden]", _complete_show),
    "system": Command(_system, "system prompt; - for none", "[TEXT]"),
    "raw": Command(_raw, "last request and response"),
    "new": Command(_new, "a new thread", anytime=True),
    "fork": Command(
        _fork, "continue in a copy", "[NAME/LEVEL]", model_switch.complete_model, leads_on=True
    ),
    "resume": Command(_resume, "continue another thread", "[ID|WORDS]", anytime=True),
    "search": Command(search.search_command, "find words in all threads", "WORDS", anytime=True),
    "threads": Command(search.threads_command, "the list of threads", anytime=True),
    "title": Command(_title, "give this thread a title", "TITLE"),
    "export": Command(_export, "to .md, .jsonl or .html", "FILE"),
    "tools": Command(tools.tools, "tools and approvals", "[forget NAME]"),
    "doctor": Command(_doctor, "check keys and versions"),
    "theme": Command(_theme, "colours, saved in config", "[NAME]", _complete_theme),
    "help": Command(_help, "this list", "[COMMAND]", _complete_help, anytime=True),
    "quit": Command(_quit, "leave", anytime=True),
}


def is_command(text: str) -> bool:
    """Return whether a line is a command; one that begins with two slashes or a path is not."""
    return text.startswith("/") and "/" not in text[1:].partition(" ")[0]


def run(state: ChatState, text: str, dial: DialView) -> Transition:
    """Run a line that begins with a slash."""
    name, _, argument = text[1:].strip().partition(" ")
    command = COMMANDS.get(name.lower())
    unused = (effects.SetAside(text),) if argument.strip() else ()
    if command is None:
        return state.tell(_unknown(name), tone="error"), unused
    if unused and not command.usage:
        said = f"✗ /{name} takes no words, and nothing was done; ↑ recalls the line"
        return state.tell(said, tone="error"), unused
    if state.busy and not command.anytime:
        return state.but(queue=(*state.queue, DraftQuestion(text, is_command=True))), ()
    try:
        return command.run(state, argument.strip(), dial)
    except PonderoError as error:
        return state.tell(f"✗ {name_chat_commands(str(error))}", tone="error"), unused


def run_queued(state: ChatState, text: str, dial: DialView) -> tuple[ChatState, Effects, bool]:
    """Run a command that waited; return also whether the prompts behind it can be sent."""
    after, asked = run(state, text, dial)
    command = COMMANDS.get(text[1:].strip().partition(" ")[0].lower())
    told = after.page[-1] if len(after.page) > len(state.page) else None
    failed = isinstance(told, NoticeCell) and told.tone == "error"
    leads_on = command is not None and command.leads_on
    return after, asked, not (failed or leads_on or after.choosing is not None)


def completions(state: ChatState, text: str, dial: DialView) -> tuple[str, ...]:
    """Return the whole lines that complete this one."""
    if not text.startswith("/") or "\n" in text:
        return ()
    name, space, argument = text[1:].partition(" ")
    if not space:
        found = [f"/{each}" for each in COMMANDS if each.startswith(name.lower())]
        return () if found == [text] else tuple(found)
    command = COMMANDS.get(name.lower())
    if command is None or command.complete is None:
        return ()
    typed = argument.lstrip()
    others = [word for word in command.complete(state, typed, dial) if word != typed]
    # Enter sends what is typed: if that is a name already, it is the one to be marked.
    is_whole = bool(typed and others) and command.complete is model_switch.complete_model
    first = [typed] if is_whole and dial.is_catalogued(typed) else []
    return tuple(f"/{name} {word}" for word in (*first, *others))[:_MOST]


def _unknown(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, needed only for an error

    close = get_close_matches(name.lower(), COMMANDS, n=1)
    guess = f"did you mean /{close[0]}? " if close else ""
    return f"✗ there is no /{name}; {guess}/help shows what there is"
