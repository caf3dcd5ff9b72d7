"""The programs of ``examples/`` beside the same ones of other libraries: docs/from/programs.md."""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "examples"
PROGRAMS = {
    "summarise": ("anthropic", "elsewhere/summarise_anthropic.py"),
    "serve_sse": ("openai", "elsewhere/serve_sse_openai.py"),
    "agent": ("pydantic-ai", "elsewhere/agent_pydantic_ai.py"),
    "extract": ("pydantic-ai", "elsewhere/extract_pydantic_ai.py"),
    "inside_an_sdk": ("anthropic, openai", "elsewhere/inside_an_sdk_by_hand.py"),
    "many_requests": ("litellm", "elsewhere/many_requests_litellm.py"),
    "support_desk": ("pydantic-ai", "elsewhere/support_desk_pydantic_ai.py"),
    "three_vendors": ("pydantic-ai", "elsewhere/three_vendors_pydantic_ai.py"),
}
"""Our programs, and the library and the file of the other version."""


def sources(name: str) -> list[Path]:
    """Return the files of one of our programs."""
    folder = FOLDER / name
    return sorted(folder.glob("*.py")) if folder.is_dir() else [FOLDER / f"{name}.py"]


def count_lines(path: Path) -> int:
    """Return the lines of code: no blank lines, no comments, no docstrings."""
    text = path.read_text("utf-8")
    prose = {line for node in ast.walk(ast.parse(text)) for line in _iter_prose(node)}
    lines = enumerate(text.splitlines(), 1)
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in prose
        for number, line in lines
    )


def _iter_prose(node: ast.AST) -> Iterator[int]:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def lengths() -> str:
    """Return the lines of code of each program, ours and theirs."""
    rows = ["| program | pondero | the other |", "| --- | --- | --- |"]
    for name, (library, file) in PROGRAMS.items():
        ours = sum(map(count_lines, sources(name)))
        rows.append(f"| [{name}](#{name}) | {ours} | {count_lines(FOLDER / file)}, {library} |")
    return "\n".join(rows)


def show(file: str) -> str:
    """Return a program as a block of code."""
    return f"\n```python\n{(FOLDER / file).read_text('utf-8')}```\n"


BLOCKS: dict[str, Callable[[], str]] = {
    "lengths": lengths,
    **{f"elsewhere-{name}": partial(show, file) for name, (_, file) in PROGRAMS.items()},
}
