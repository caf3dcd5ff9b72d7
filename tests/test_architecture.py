"""The rules of the house that import-linter cannot say. New rooms and dialects join by being there."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pondero.thinking.target_level import FIGURES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pondero"
DIALECTS = SOURCE / "dialects"
FRONTS = SOURCE / "contract" / "through" / "fronts"  # what the vendors' own clients send
FILES = sorted(SOURCE.rglob("*.py"))

NAMES_OF_SERVICES = {
    *("anthropic", "openai", "openai_chat", "openai_responses", "google", "gemini", "groq"),
    *("cerebras", "mistral", "cohere", "xai", "deepseek", "openrouter", "bedrock", "ollama"),
    *(path.stem for path in (SOURCE / "catalog" / "data" / "providers").glob("*.toml")),
    *(path.parent.name for path in DIALECTS.glob("*/__init__.py")),
}
VCRPY_KEY = "interactions"  # of another tool's recordings; also the name of a dialect
READ_VCRPY = {
    SOURCE / "cassettes" / "vcrpy.py",
    SOURCE / "contract" / "guards" / "exchanges.py",
}
NAMES_OF_MODELS = {
    *("claude", "gpt", "chatgpt", "gemini", "gemma", "grok", "magistral", "qwen", "kimi", "glm"),
}
# A field, a header or the shape of a key has a service's name in it; a demo asks one model.
NAMED_INSIDE = {
    SOURCE / "batch" / "wires" / "requests.py",
    *(SOURCE / "emulator" / "batches").glob("*.py"),
    SOURCE / "store" / "key_shapes.py",
    SOURCE / "sweep" / "demo.py",
    *(SOURCE / "cli").rglob("*.py"),
}
# The rooms between a wish and the wire, and where they may name a level: what a list of someone
# else says, what a model with a bare switch is listed with, and the cap that allows everything.
BETWEEN = ("canon", "catalog", "handoff", "exchange", "transport", "batch", "client", "gateway")
LEVELS_NAMED = {
    SOURCE / "catalog" / "litellm.py",
    SOURCE / "gateway" / "requests" / "model_list.py",
    SOURCE / "gateway" / "levels" / "level_rules.py",
}
HEAVY = {
    *("httpx2", "aiohttp", "anyio", "starlette", "uvicorn", "botocore", "genai_prices", "keyring"),
    *("textual", "rich", "click", "msgspec", "platformdirs", "tomllib"),
    *("asyncio", "concurrent", "http", "json", "logging", "multiprocessing", "selectors"),
    *("socket", "sqlite3", "ssl", "subprocess", "urllib"),
}
TOP = {"cli", "tui"}  # nothing is above them, so the front door is theirs to use
NOT_A_NOUN = {"utils", "util", "helpers", "common", "misc", "base"}


class Import(NamedTuple):
    """`from module import name`, or `import module` where name is None."""

    line: int
    module: str
    name: str | None


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[Import]:
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, None)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(node.lineno, module, alias.name)


def names_bound_in(path: Path) -> set[str]:
    bound = set()
    for node in ast.walk(tree_of(path)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {alias.asname or alias.name for alias in names}
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as all_
            ):
                bound |= {str(ast.literal_eval(item)) for item in all_.elts}
    return bound


def is_a_file_inside(module: str, name: str | None) -> bool:
    """Whether an import of ours reaches past a room's front door."""
    _, room, *rest = module.split(".")
    if rest or name is None:
        return bool(rest)
    inside = SOURCE / room / name
    if not (inside.with_suffix(".py").exists() or (inside / "__init__.py").exists()):
        return False
    # A room may give a function the name of the file it is in: thinking.resolve, say.
    return name not in names_bound_in(SOURCE / room / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def at(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_rooms_are_imported_by_name_never_a_file_inside():
    strays = [
        f"{at(path, found.line)}: {found.module} {found.name or ''}"
        for path in FILES
        for found in imports_of(path)
        if found.module.startswith("pondero.")
        and found.module.split(".")[1] != room_of(path)
        and is_a_file_inside(found.module, found.name)
    ]

    assert strays == []


def test_the_screen_knows_no_wire_and_no_seal():
    """What a part of a wire means is decided below; seals stay out of what is drawn."""
    strays = [
        f"{at(path, found.line)}: {found.module} {found.name or ''}"
        for path in FILES
        if room_of(path) == "tui"
        for found in imports_of(path)
        if found.module.startswith("pondero.dialects")
        or (found.module == "pondero" and found.name == "dialects")
        or found.name == "Seal"
    ]

    assert strays == []


def test_no_room_below_the_top_imports_the_front_door():
    """`from pondero import X` inside the house goes around every layer."""
    strays = [
        f"{at(path, found.line)}: {found.name or found.module}"
        for path in FILES
        for found in imports_of(path)
        if room_of(path) not in TOP
        and found.module == "pondero"
        and not (SOURCE / f"{found.name}.py").exists()
        and not (SOURCE / str(found.name) / "__init__.py").exists()
    ]

    assert strays == []


def docstrings_in(tree: ast.Module) -> set[int]:
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }


def texts_in(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines and the words of a file's texts, those in f-strings too; no docstrings."""
    known = docstrings_in(tree_of(path))
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in known:
            yield node.lineno, node.value.lower()


def names_a_service(path: Path, text: str) -> bool:
    """Return whether a text is a service's name, or a part of one to compare with."""
    if text == VCRPY_KEY and path in READ_VCRPY:
        return False
    if text in NAMES_OF_SERVICES:
        return True
    if path in NAMED_INSIDE or " " in text:  # words for people may name anyone
        return False
    return not {*NAMES_OF_SERVICES, *NAMES_OF_MODELS}.isdisjoint(re.split(r"[^a-z]+", text))


def test_no_service_is_named_outside_dialects_and_catalog_data():
    strays = [
        f"{at(path, line)}: {text!r}"
        for path in FILES
        if DIALECTS not in path.parents and FRONTS not in path.parents
        for line, text in texts_in(path)
        if names_a_service(path, text)
    ]

    assert strays == []


def test_no_level_is_named_between_the_wish_and_the_wire():
    strays = [
        f"{at(path, line)}: {text!r}"
        for path in FILES
        if room_of(path) in BETWEEN and path not in LEVELS_NAMED
        for line, text in texts_in(path)
        if text in FIGURES
    ]

    assert strays == []


def test_every_file_is_named_by_a_noun_of_its_own():
    strays = [str(path.relative_to(ROOT)) for path in FILES if path.stem in NOT_A_NOUN]

    assert strays == []


def test_every_folder_of_source_is_a_package_with_a_docstring():
    folders = {path.parent for path in FILES}
    silent = [
        str(folder.relative_to(ROOT))
        for folder in sorted(folders)
        if not (folder / "__init__.py").exists()
        or not ast.get_docstring(tree_of(folder / "__init__.py"))
    ]

    assert silent == []


def test_import_pondero_loads_no_network_screen_or_json_library():
    code = (
        "import sys; before = set(sys.modules); import pondero; print(*set(sys.modules) - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}

    assert "pondero" in loaded
    assert loaded & HEAVY == set()


def decodes_into_a_type(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    match ast.unparse(node.func).removeprefix("msgspec.").split("."):
        case ["convert"]:
            return True
        case ["Decoder"] | ["json", "Decoder"]:
            return bool(node.args or node.keywords)
        case ["decode"] | ["json" | "toml", "decode"]:
            return any(each.arg == "type" for each in node.keywords)
    return False


def test_only_canon_decoder_asks_msgspec_to_learn_a_type():
    """Two threads that decode into one type for the first time kill the process (msgspec 0.22)."""
    strays = [
        at(path, node.lineno)
        for path in FILES
        if path != SOURCE / "canon" / "decoder.py"
        for node in ast.walk(tree_of(path))
        if decodes_into_a_type(node)
    ]

    assert strays == []
