"""Questions: who got what right at which level; only ``LISTED``, so that a report stays small."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Literal

from ..results.number_format import format_cost, format_share_points
from ..results.values import Cell, QuestionRow, SweepResults, TrialAnswer
from .markup import Html, cut, element, join_markup

LISTED = 600
_SHARE = LISTED // 8  # of each kind, before any has more
_PROMPT, _ANSWER, _EXCERPT, _NOTE = 1_200, 280, 110, 160  # characters that are shown
_MANY = 8  # arms: above that a phone shows their marks below a question
_ANSWERS = 5  # of one arm to one question

Kind = Literal["helped", "hurt", "mixed", "missing", "partly", "wrong", "right", "unasked"]
State = Literal["right", "partly", "wrong", "exhausted", "refused", "missing", "unasked"]

KINDS: dict[Kind, str] = {
    "helped": "thinking helped",
    "hurt": "thinking hurt",
    "mixed": "it helped and hurt",
    "missing": "missing, left out of every arm",
    "partly": "all arms partly right",
    "wrong": "no arm was right",
    "right": "every arm was right",
    "unasked": "not asked yet",
}
STATES: dict[State, tuple[str, str]] = {
    "right": ("✓", "right"),
    "partly": ("◐", "partly right"),
    "wrong": ("✕", "wrong"),
    "exhausted": ("…", "exhausted: thought and gave no answer"),
    "refused": ("⊘", "refused"),
    "missing": ("!", "missing: failed, or could not be graded"),
    "unasked": ("·", "not asked"),
}
_LOST: tuple[State, ...] = ("exhausted", "refused", "missing")


def state_of(cell: Cell | None) -> State:
    """Return the result of an arm on a question, over its repeats."""
    if cell is None:
        return "unasked"
    outcomes = {answer.outcome for answer in cell.answers}
    if outcomes & {"failed", "ungraded"}:
        return "missing"
    if cell.score is None:
        return "unasked"  # some of its repeats are missing
    if cell.score:
        return "right" if cell.score == 1 else "partly"
    if "exhausted" in outcomes:
        return "exhausted"
    return "refused" if "refused" in outcomes else "wrong"


def kind_of(row: QuestionRow, models: Sequence[Sequence[int]]) -> Kind:
    """Return the kind of a question; ``models`` has the arms of each model, cheapest first."""
    if any(state_of(cell) == "missing" for cell in row.cells):
        return "missing"
    scores = [_scores(row, arms) for arms in models]
    steps = [after - before for own in scores for before, after in pairwise(own)]
    up, down = any(step > 0 for step in steps), any(step < 0 for step in steps)
    if up or down:
        return "mixed" if up and down else "helped" if up else "hurt"
    known = [score for own in scores for score in own]
    if not known:
        return "unasked"
    return "right" if min(known) == 1 else "partly" if max(known) else "wrong"


def _scores(row: QuestionRow, arms: Sequence[int]) -> list[float]:
    cells = (row.cells[arm] for arm in arms)
    return [cell.score for cell in cells if cell is not None and cell.score is not None]


def _by_model(results: SweepResults) -> list[list[int]]:
    ranked = sorted(enumerate(results.facts.arms), key=lambda each: each[1].rank)
    return [[n for n, arm in ranked if arm.model == model] for model in results.models()]


def section(results: SweepResults) -> Html:
    """Return the section: a picture of all questions, and the list."""
    models = _by_model(results)
    kinds = [(kind_of(row, models), row) for row in results.rows]
    counts = Counter(kind for kind, _ in kinds)
    ranked = list(_rank(kinds))
    width = "many" if len(results.arms) > _MANY else None
    listed = (_question(kind, row, results) for kind, row in ranked[:LISTED])
    return join_markup(
        (
            _summary(counts, results),
            _picture(results),
            _controls(counts, Counter(kind for kind, _ in ranked[:LISTED])),
            element("p", _describe_folded(ranked), class_="aside folded"),
            element("div", _head(results), *listed, id="list", class_=width),
            element("p", "No question fits.", class_="none", id="nothing", hidden=True),
        )
    )  # fmt: skip


def _rank(kinds: Sequence[tuple[Kind, QuestionRow]]) -> Iterator[tuple[Kind, QuestionRow]]:
    groups = {kind: [each for each in kinds if each[0] == kind] for kind in KINDS}
    room = LISTED - sum(min(len(group), _SHARE) for group in groups.values())
    shares: dict[Kind, int] = {}
    for kind, group in groups.items():
        more = max(0, min(len(group) - _SHARE, room))
        room -= more
        shares[kind] = _SHARE + more
    for kind, group in groups.items():
        yield from group[: shares[kind]]
    for kind, group in groups.items():
        yield from group[shares[kind] :]


def _summary(counts: Counter[Kind], results: SweepResults) -> Html:
    many = f"{len(results.rows):,} questions"
    caution = (
        "One answer to one question says little by itself: what a level is worth is said above, "
        "over all of them."
    )
    said = ", ".join(f"{KINDS[kind]} ({counts[kind]:,})" for kind in KINDS if counts[kind])
    return element("p", f"{many}: {said}. {caution}", class_="aside")


def _describe_folded(ranked: Sequence[tuple[Kind, QuestionRow]]) -> str:
    rest = Counter(kind for kind, _ in ranked[LISTED:])
    cuts = f"Prompts are cut after {_PROMPT:,} characters and answers after {_ANSWER}"
    if not rest:
        return f"All {len(ranked):,} are listed. {cuts}."
    which = ", ".join(f"{KINDS[kind]} ({count:,})" for kind, count in rest.items())
    return (
        f"{LISTED:,} of {len(ranked):,} are listed, some of every kind and those where thinking "
        f"made a difference first; folded away: {which}. {cuts}; 'pondero sweep export' has "
        "everything."
    )


# -- the picture -----------------------------------------------------------------------------------


def _picture(results: SweepResults) -> Html:
    # Sort by the arms with most answers first, so that arms that ended early do not split groups.
    arms = sorted(range(len(results.arms)), key=lambda n: (-results.arms[n].n, -n))
    order = sorted(results.rows, key=lambda row: [_ease(row.cells[n]) for n in arms], reverse=True)
    states = [[state_of(cell) for cell in row.cells] for row in order]
    used = {state for line in states for state in line}
    lines = [
        join_markup((element("span", name), _strip([line[n] for line in states], name)))
        for n, name in enumerate(results.labels())
    ]
    key = [element("span", STATES[state][1].partition(":")[0], class_=f"key {state}")
           for state in STATES if state in used]  # fmt: skip
    return element(
        "figure",
        element("div", *lines, class_="strips"),
        element(
            "figcaption",
            "Every question is a column; those that were answered alike stand together. ",
            *key,
        ),
        class_="picture",
    )


def _ease(cell: Cell | None) -> float:
    return -1.0 if cell is None or cell.score is None else cell.score


def _strip(states: Sequence[State], name: str) -> Html:
    strokes: dict[State, list[str]] = {}
    at = 0
    for state, group in groupby(states):
        width = len(list(group))
        strokes.setdefault(state, []).append(f"M{at} 0h{width}v1h-{width}z")
        at += width
    counts = Counter(states)
    said = ", ".join(f"{STATES[state][1]} {counts[state]:,}" for state in STATES if counts[state])
    return element(
        "svg",
        element("title", f"{name}: {said}"),
        *(element("path", class_=f"state-{state}", d="".join(d)) for state, d in strokes.items()),
        viewbox=f"0 0 {max(1, at)} 1", preserveaspectratio="none", role="img", class_="strip",
    )  # fmt: skip


# -- the list --------------------------------------------------------------------------------------


def _controls(counts: Counter[Kind], listed: Counter[Kind]) -> Html:
    every = (("all", "all", sum(listed.values()), sum(counts.values())),)
    kinds = ((k, KINDS[k].partition(",")[0], listed[k], counts[k]) for k in KINDS if counts[k])
    buttons = (
        element(
            "button",
            f"{words} ",
            element("b", f"{count:,}" if count == whole else f"{count:,} of {whole:,}"),
            type="button",
            data_kind=kind,
            aria_pressed="true" if kind == "all" else "false",
        )
        for kind, words, count, whole in (*every, *kinds)
    )
    box = element("input", type="checkbox", id="lost")
    lost = element("label", box, " only with an answer that was exhausted, refused or missing")
    search = element("input", type="search", id="search", placeholder="words in a question",
                     aria_label="Words in a question")  # fmt: skip
    return element("div", element("div", *buttons, class_="kinds"), search, lost, class_="filters",
                   hidden=True)  # fmt: skip


def _head(results: SweepResults) -> Html:
    names = (element("span", element("i", name)) for name in results.labels())
    return element(
        "div",
        element("span", "question"),
        element("span", *names, class_="marks"),
        class_="row head",
        aria_hidden="true",
    )


def _question(kind: Kind, row: QuestionRow, results: SweepResults) -> Html:
    states = [state_of(cell) for cell in row.cells]
    marks = (_mark(name, state) for name, state in zip(results.labels(), states, strict=True))
    asked = " ".join(row.question.words.split())
    excerpt = asked if len(asked) <= _EXCERPT else f"{asked[:_EXCERPT]}…"
    return element(
        "details",
        element(
            "summary",
            element("span", element("b", cut(row.question.id, 40)), f" {excerpt} ", _tag(kind)),
            element("span", *marks, class_="marks"),
            class_="row",
        ),
        _details(row, results),
        data_kind=kind,
        data_lost=any(state in _LOST for state in states),
    )


def _mark(name: str, state: State) -> Html:
    sign, words = STATES[state]
    said = f"{name}: {words}"
    return element("span", sign, class_=f"mark-{state}", title=said, role="img", aria_label=said)


def _tag(kind: Kind) -> Html:
    shown = kind in ("helped", "hurt", "mixed", "missing")
    return element("em", KINDS[kind].partition(",")[0], class_=f"tag {kind}") if shown else Html()


def _details(row: QuestionRow, results: SweepResults) -> Html:
    question = row.question
    right = element("p", "right: ", element("code", cut(" | ".join(question.target), 300)))
    field = results.facts.spec.cluster
    cluster = Html()
    if field is not None:
        cluster = element("p", f"{field}: {cut(str(question.metadata.get(field)), 80)}")
    cells = zip(results.labels(), row.cells, strict=True)
    lines = (_answer(name, cell) for name, cell in cells if cell is not None)
    return element(
        "div",
        element("pre", cut(question.words, _PROMPT)),
        right if question.target else Html(),
        cluster,
        element("dl", *lines),
        class_="opened",
    )


def _answer(name: str, cell: Cell) -> Html:
    facts = [STATES[state_of(cell)][1].partition(":")[0]]
    if len(cell.answers) > 1 and cell.score is not None:
        facts = [f"{format_share_points(cell.score).lstrip('+')}% of {len(cell.answers)} answers"]
    facts.append("thinking unknown" if cell.thinking is None else f"{cell.thinking:,.0f} thinking")
    facts += [format_cost(cell.cost)] if cell.cost is not None else []
    if cell.seconds:
        facts.append(f"{cell.seconds:.3g} s")
    shown = (_answer_text(answer) for answer in cell.answers[:_ANSWERS])
    more = len(cell.answers) - _ANSWERS
    rest = element("p", f"{more} more answers", class_="none") if more > 0 else Html()
    return join_markup(
        (
            element("dt", element("b", name), element("small", f" {' · '.join(facts)}")),
            element("dd", *shown, rest),
        )
    )


def _answer_text(answer: TrialAnswer) -> Html:
    words = cut(answer.settled.text.strip(), _ANSWER) or "(no words)"
    note = answer.settled.error or (answer.grade.note if answer.grade else "")
    why = element("small", cut(" ".join(note.split()), _NOTE)) if note else Html()
    return element("p", words, element("br") if note else Html(), why)


def gains(results: SweepResults) -> Iterator[tuple[int, int]]:
    """Yield for each arm how many questions it did better and worse on than the reference."""
    for number in range(len(results.arms)):
        pairs = ((row.cells[number], row.cells[results.facts.reference]) for row in results.rows)
        both = [(a.score, b.score) for a, b in pairs if a is not None and b is not None]
        known = [(a, b) for a, b in both if a is not None and b is not None]
        yield sum(a > b for a, b in known), sum(a < b for a, b in known)
