"""Hooks that mkdocs calls while it builds the site: pages and links whose files are outside docs/.

In the repository a page links to ``../CONTRIBUTING.md`` or ``../plugins/llm/README.md``. On the
site the first is a page, generated here, and the second a URL in the repository. A link to a
missing file is a warning, so that the strict build fails.
"""

import json
import logging
import re
import tomllib
from pathlib import Path
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages of the site by their source files."""

BOOSTS = {"troubleshooting.md": 12, "referee.md": 0.5}
"""How high the site's search ranks pages: the text of an error leads to what to do about it."""

TITLE_BOOST = 20
"""How much more a word counts in a title than in a text; the theme's 1,000 hides every text."""

_LOG = logging.getLogger("mkdocs.hooks.site")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the URLs of the project from pyproject.toml, where the release checks them."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    config.repo_url, config.repo_name = urls["Source"], "source"
    config.site_url = urls["Documentation"]
    config.edit_uri = ""
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated from files outside docs/."""
    for page, source in PAGES.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Make links to files outside docs/ work on the site, and rank a page in its search."""
    if (boost := BOOSTS.get(page.file.src_uri)) is not None:
        page.meta["search"] = {"boost": boost}
    return relinked(text, page.file.src_uri, config.repo_url or "")


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Let the texts count in the site's search."""
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text("utf-8"))
    index["config"]["fields"]["title"]["boost"] = TITLE_BOOST
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), "utf-8")


def relinked(text: str, page: str, repository: str) -> str:
    """Return a page's text with its links changed for the site; code is unchanged."""
    source = PAGES.get(page, f"docs/{page}")
    folder = source.rpartition("/")[0]

    def link(found: re.Match[str]) -> str:
        path = normpath(f"{folder}/{found[1]}") if folder else normpath(found[1])
        return f"]({_address(path, page, repository)}{found[2] or ''})"

    pieces = _CODE.split(text)
    pieces[::2] = [_LINK.sub(link, piece) for piece in pieces[::2]]
    return "".join(pieces)


def _address(path: str, page: str, repository: str) -> str:
    """Return the link from a page of the site to a file of the repository."""
    made = {source: name for name, source in PAGES.items()}
    here = page.rpartition("/")[0] or "."
    if path in made:
        return relpath(made[path], here)
    if path.startswith("docs/"):
        return relpath(path.removeprefix("docs/"), here)
    if not (ROOT / path).exists():
        _LOG.warning("%s links to %s, which is not in the repository", page, path)
    return f"{repository}/blob/main/{path}"
