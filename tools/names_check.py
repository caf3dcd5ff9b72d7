"""Counts the names in ``src/pondero`` that break our naming rules, and fails above a limit.

A function is a verb, a class is a noun with one meaning in the whole package, a parameter says what
it holds. ``make lint`` runs this script. The limits are in ``limits.toml`` next to it and only go
down; a kind without a line there has the limit 0. ``--list KIND`` prints every hit of one kind.
"""

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

KINDS = {  # kind: what to write instead
    "participle": "a verb: parse_x, build_x, resolve_x",
    "participle-public": "a verb: parse_x, build_x, resolve_x",
    "adjective": "allowed: saved_key is a noun with its adjective",
    "gerund": "a verb, or iter_x for a generator",
    "preposition": "a verb or a noun that says what is returned",
    "module": "a noun that a newcomer can guess",
    "class-participle": "a noun: TrialResult",
    "class-rooms": "another name: one class name has one meaning",
    "function-rooms": "another name: one function name has one meaning",
    "param": "a noun that says what it holds",
}
INFORMATION = frozenset({"adjective"})  # counted, never limited


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that are not participles although they end in -ed.
_NOT_ED = _words(
    "need feed seed speed embed proceed exceed succeed shed bed red indeed heed bleed breed deed "
    "hundred weed sacred kindred"
)
_IRREGULAR = _words(
    "asked begun bound broken brought built caught chosen done drawn fallen found forgotten given "
    "gone grown had heard held hidden kept known led left lent lost made meant met paid said seen "
    "sent shown sold spelt spent spoken spoilt stood sworn taken taught told thought thrown "
    "understood won worn written"
)
# Words that are not gerunds although they end in -ing: among them the nouns of our field.
_NOT_ING = _words(
    "string strings thing things ring ping king bring sing spring thinking during nothing anything "
    "something everything setting settings listing warning meaning heading pricing encoding timing "
    "routing embedding embeddings billing tracing finding findings logging padding ending endings "
    "streaming missing existing remaining pending incoming outgoing framing sibling reasoning"
)
_PREPOSITIONS = _words(
    "about above across after against along amid among around aside astray before behind below "
    "beneath beside between beyond by despite elsewhere for from hence into onto of off over past "
    "since thus to toward under until upon with within without way ways whose whoever what"
)
_AFTER_PARTICIPLE = _PREPOSITIONS | _words("in on at now back")  # kept_in, not saved_key
_RIDDLES = _PREPOSITIONS | _words("incoming")  # incoming is an adjective; a module is a noun
# Participles that Python or its libraries made idioms.
_ALLOWED = _words(
    "closed cached cached_property sorted reversed indented frozen deleted redirected connected "
    "cancelled done of"
)
_PROPERTIES = _words("property cached_property functools.cached_property")  # may name a state
_PRONOUNS = _words(
    "it them they he she us we that this these those what who whose whom one ones other others way "
    "thing things stuff"
)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
# Where n, k, p and z are the field's own names.
_STATISTICS = (
    "sweep/statistics",
    "sweep/intervals.py",
    "sweep/significance.py",
    "sweep/planner.py",
    "sweep/agreement.py",
    "sweep/looks.py",
    "sweep/report/charts.py",
)
# Functions that mean the same in every room: protocols, entry points, hooks.
_SHARED = _words(
    "main run close create encode decode feed eof error parse accept reply stream models load plan "
    "ask sweep batch chat serve"
)
_MIRRORS = "dialects"  # its packages repeat each other's names on purpose

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source(NamedTuple):
    """A file of the package: its path there, its room, and the definitions in it."""

    path: str
    room: str
    classes: list[ast.ClassDef]
    functions: list[_Function]  # of any depth, without the magic methods
    top: list[_Function]  # only those that can be imported

    def locate(self, node: ast.stmt) -> str:
        """Return the place of a node, as editors and terminals link it."""
        return f"src/pondero/{self.path}:{node.lineno}"


class Hit(NamedTuple):
    """A name that breaks a rule."""

    kind: str
    place: str
    name: str


def load_sources(package: Path) -> list[Source]:
    """Return every Python file of a package."""
    found = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package)
        room = path.parts[0] if len(path.parts) > 1 else "(root)"
        tree = ast.parse(file.read_text("utf-8"))
        nodes = list(ast.walk(tree))
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        top = _select_functions(tree.body)
        found.append(Source(path.as_posix(), room, classes, _select_functions(nodes), top))
    return found


def _select_functions(nodes: Iterable[ast.AST]) -> list[_Function]:
    functions = [node for node in nodes if isinstance(node, _Function)]
    return [node for node in functions if not node.name.startswith("__")]


def find_hits(sources: list[Source]) -> list[Hit]:
    """Return every name that breaks a rule."""
    found: list[Hit] = []
    for source in sources:
        found += _iter_module_hits(source)
        found += _iter_class_hits(source)
        for function in source.functions:
            place = source.locate(function)
            found += [Hit(kind, place, function.name) for kind in _find_function_kinds(function)]
            found += _iter_parameter_hits(source, function)
    found += _iter_class_room_hits(sources)
    found += _iter_function_room_hits(sources)
    return found


def _iter_module_hits(source: Source) -> Iterator[Hit]:
    stem = Path(source.path).stem
    words = _split(stem)
    if len(words) == 1 and (
        _is_gerund(words[0]) or _is_participle(words[0]) or words[0] in _RIDDLES
    ):
        yield Hit("module", f"src/pondero/{source.path}:1", stem)


def _iter_class_hits(source: Source) -> Iterator[Hit]:
    for node in source.classes:
        if _is_participle(node.name.strip("_").lower()):
            yield Hit("class-participle", source.locate(node), node.name)


def _find_function_kinds(function: _Function) -> list[str]:
    words = _split(function.name)
    if not words or function.name in _ALLOWED or _is_property(function):
        return []
    if _is_participle(words[0]):
        if len(words) > 1 and words[1] not in _AFTER_PARTICIPLE:
            return ["adjective"]
        is_private = function.name.startswith("_")
        return ["participle"] if is_private else ["participle", "participle-public"]
    if _is_gerund(words[0]):
        return ["gerund"]
    return ["preposition"] if len(words) == 1 and words[0] in _PREPOSITIONS else []


def _iter_parameter_hits(source: Source, function: _Function) -> Iterator[Hit]:
    forbidden = _PRONOUNS if source.path.startswith(_STATISTICS) else _PRONOUNS | _LETTERS
    for parameter in _list_parameters(function):
        if parameter in forbidden:
            yield Hit("param", source.locate(function), f"{function.name}({parameter})")


def _iter_class_room_hits(sources: Iterable[Source]) -> Iterator[Hit]:
    homes: dict[str, dict[str, str]] = {}  # class name: room: place
    for source in sources:
        for node in source.classes:
            if not node.name.startswith("_") and source.room != _MIRRORS:
                homes.setdefault(node.name, {}).setdefault(source.room, source.locate(node))
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            yield _make_room_hit("class-rooms", name, list(places.values()))


def _iter_function_room_hits(sources: Iterable[Source]) -> Iterator[Hit]:
    homes: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {}  # room: place, parameters
    for source in sources:
        for node in source.top:
            if (
                not node.name.startswith("_")
                and node.name not in _SHARED
                and source.room != _MIRRORS
                and not _is_click_verb(node)
            ):
                home = source.locate(node), tuple(_list_parameters(node))
                homes.setdefault(node.name, {}).setdefault(source.room, home)
    for name, rooms in sorted(homes.items()):
        # Equal parameters mean the same function on two levels, such as a wrapper.
        if len({parameters for _, parameters in rooms.values()}) > 1:
            yield _make_room_hit("function-rooms", name, [place for place, _ in rooms.values()])


def _make_room_hit(kind: str, name: str, places: list[str]) -> Hit:
    return Hit(kind, places[0], f"{name}, also in {', '.join(places[1:])}")


def _split(name: str) -> list[str]:
    return [word for word in name.strip("_").lower().split("_") if word]


def _is_participle(word: str) -> bool:
    is_regular = word.endswith("ed") and len(word) > 3 and word not in _NOT_ED
    return is_regular or word in _IRREGULAR


def _is_gerund(word: str) -> bool:
    return word.endswith("ing") and len(word) > 4 and word not in _NOT_ING


def _is_property(function: _Function) -> bool:
    names = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(name in _PROPERTIES or name.endswith((".setter", ".deleter")) for name in names)


def _is_click_verb(function: _Function) -> bool:
    # The user types a verb's name, so `pondero sweep show` and `pondero batch show` share it.
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute) and target.attr in {"command", "group"}:
            return True
    return False


def _list_parameters(function: _Function) -> list[str]:
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def load_limits(file: Path) -> dict[str, int]:
    """Return the limit of each kind; raises SystemExit if the file names an unknown kind."""
    limits: dict[str, int] = tomllib.loads(file.read_text("utf-8")).get("names", {})
    if unknown := limits.keys() - (KINDS.keys() - INFORMATION):
        sys.exit(f"{file.name}: unknown kind {', '.join(sorted(unknown))} in [names]")
    return limits


def check(root: Path, limits: dict[str, int], *, listed: str | None = None) -> bool:
    """Print all counts, and the hits of each kind above its limit; return whether all hold."""
    sources = load_sources(root / "src" / "pondero")
    hits = find_hits(sources)
    counts = Counter(hit.kind for hit in hits)
    limited = [kind for kind in KINDS if kind not in INFORMATION]
    above = [kind for kind in limited if counts[kind] > limits.get(kind, 0)]
    for hit in hits:
        if hit.kind in above or hit.kind == listed:
            print(f"{hit.place}: {hit.name} [{KINDS[hit.kind]}]")
    functions = sum(len(source.functions) for source in sources)
    print(f"names of {functions} functions, and of classes and modules:")
    for kind in KINDS:
        count = counts[kind]
        state = _compare(count, limits.get(kind, 0)) if kind in limited else "no limit"
        print(f"  {kind:17} {count:4}  {state}")
    return not above


def _compare(count: int, limit: int) -> str:
    if count > limit:
        return f"limit {limit:4}  ABOVE"
    return f"limit {limit:4}" + ("  lower it in tools/limits.toml" if count < limit else "")


def main(arguments: list[str]) -> int:
    """Check a checkout; the exit status is 1 if a count is above its limit."""
    parser = argparse.ArgumentParser(description="Count names that break our naming rules.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--limits", type=Path, default=Path(__file__).with_name("limits.toml"))
    parser.add_argument("--list", dest="listed", choices=KINDS, help="print all hits of this kind")
    given = parser.parse_args(arguments)
    return 0 if check(given.root, load_limits(given.limits), listed=given.listed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
