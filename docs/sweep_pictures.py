"""Take the pictures of `pondero sweep demo` in docs/pictures, with the system's Chromium."""

import fcntl
import os
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402 - after the path
from rich.console import Console  # noqa: E402 - after the path
from rich.text import Text  # noqa: E402 - after the path
from tests.gateway.admin.console_browser import CHROMIUM  # noqa: E402 - after the path

_PICTURES = ROOT / "docs" / "pictures"
_COLUMNS, _LINES = 100, 50
_COMMAND = "pondero sweep demo"


def main() -> None:
    """Run the demo and take all pictures."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        draw_terminal(run_demo(report, Path(folder)))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM)
            page = browser.new_page(viewport={"width": 1280, "height": 1960})
            page.goto(report.as_uri())
            page.screenshot(path=_PICTURES / "sweep-report.png")
            show_questions(page)
            page.screenshot(path=_PICTURES / "sweep-questions.png")
            browser.close()


def run_demo(report: Path, folder: Path) -> str:
    """Return what the demo prints on a terminal, without the lines of its progress."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
    own = {f"PONDERO_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA")}
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "pondero", "sweep", "demo", "--html", str(report)],
        env={**os.environ, **own, "TERM": "xterm-256color"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    os.close(theirs)
    printed = b""
    with suppress(OSError):  # the end of a terminal that nobody writes to
        while piece := os.read(ours, 65536):
            printed += piece
    os.close(ours)
    return printed.decode().replace("\r\n", "\n").replace(f"{folder}/", "")


def draw_terminal(printed: str) -> None:
    """Draw what was printed as a terminal."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_COLUMNS, file=nowhere)
        console.print(f"$ {_COMMAND}")
        console.print(Text.from_ansi(printed))
    path = _PICTURES / "sweep-terminal.svg"
    path.write_text(console.export_svg(title=_COMMAND), "utf-8")


def show_questions(page: Page) -> None:
    """Open one of the questions where thinking hurt."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="thinking hurt").first.click()
    page.locator("summary").filter(has_text="thinking hurt").first.click()
    page.get_by_role("heading", name="Question by question").evaluate(
        "heading => window.scrollTo(0, heading.getBoundingClientRect().top + scrollY - 20)"
    )


if __name__ == "__main__":
    main()
