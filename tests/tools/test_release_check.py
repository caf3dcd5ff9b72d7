"""A release that is not ready is stopped, with everything that is missing."""

import pytest
from tools.release_check import main, missing


@pytest.fixture
def ready(tmp_path):
    """Return a checkout that may be published as v1.2.0."""
    (tmp_path / "src" / "pondero").mkdir(parents=True)
    (tmp_path / "src" / "pondero" / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.0 (2026-11-16)\n\n- All of it.\n")
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("how")
    (tmp_path / "pyproject.toml").write_text('[project]\nurls = { Home = "https://pondero.dev" }\n')
    return tmp_path


def test_what_is_ready_may_go(ready, capsys):
    main(ready, "v1.2.0")
    assert capsys.readouterr().out == "v1.2.0 may be published\n"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("src/pondero/__init__.py", '__version__ = "1.3.0"\n', "differ"),
        ("CHANGELOG.md", "# Changelog\n\n## 1.1.0 (2026-01-01)\n", "no section for 1.2.0"),
        ("changes/late.fixed.md", "Late.", "1 fragments"),
        ("pyproject.toml", '[project]\nurls = { Home = "https://p.example" }\n', "stand-in"),
    ],
)
def test_each_thing_that_is_missing_stops_it(ready, file, text, said):
    (ready / file).write_text(text)
    with pytest.raises(SystemExit, match=said):
        main(ready, "v1.2.0")


def test_all_that_is_missing_is_named_at_once(ready):
    (ready / "changes" / "late.fixed.md").write_text("Late.")
    assert len(list(missing(ready, "v9"))) == 2
