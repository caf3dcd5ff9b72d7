"""A release's changelog is made of the fragments."""

import pytest
from tools.changelog import fragments, items, main, written

_HEAD = "# Changelog\n\nWhat changed.\n"


def _checkout(folder, **found):
    (folder / "src" / "pondero").mkdir(parents=True)
    (folder / "src" / "pondero" / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (folder / "CHANGELOG.md").write_text(
        _HEAD + "\n## Unreleased\n\nNot yet.\n\n## 1.1.0 (2026-01-02)\n\n### Fixed\n\n- Old.\n"
    )
    (folder / "changes").mkdir()
    (folder / "changes" / "README.md").write_text("how")
    for name, text in found.items():
        (folder / "changes" / (name.replace("__", ".") + ".md")).write_text(text)
    return folder


def test_fragments_become_a_section_and_are_gone(tmp_path, capsys):
    root = _checkout(tmp_path, b__fixed="It holds.\n", a__added="Two\nlines.\n", c__added="Last.")
    main(root)
    text = (root / "CHANGELOG.md").read_text()
    head, section, earlier = text.split("\n## ")
    assert head == _HEAD
    assert section.splitlines()[0].startswith("1.2.0 (20")
    assert section.partition("\n\n")[2] == (
        "### Added\n\n- Two\n  lines.\n- Last.\n\n### Fixed\n\n- It holds.\n"
    )
    assert earlier == "1.1.0 (2026-01-02)\n\n### Fixed\n\n- Old.\n"
    assert [path.name for path in (root / "changes").iterdir()] == ["README.md"]
    assert "3 changes of 1.2.0" in capsys.readouterr().out


def test_a_late_fragment_joins_the_section_of_its_version():
    once = written(_HEAD, "1.0", "2026-01-01", {"Added": ["- one"], "Fixed": ["- two"]})
    twice = written(once, "1.0", "2026-01-02", {"Added": ["- three"], "Changed": ["- four"]})
    assert twice == written(
        _HEAD,
        "1.0",
        "2026-01-02",
        {"Added": ["- one", "- three"], "Changed": ["- four"], "Fixed": ["- two"]},
    )


def test_without_fragments_nothing_is_written(tmp_path):
    root = _checkout(tmp_path)
    before = (root / "CHANGELOG.md").read_text()
    main(root)
    assert (root / "CHANGELOG.md").read_text() == before


@pytest.mark.parametrize("name", ["thing__broken", "Thing__fixed", "notes"])
def test_a_file_that_is_no_fragment_stops_it_before_anything_is_written(tmp_path, name):
    root = _checkout(tmp_path, good__added="Fine.", **{name: "?"})
    with pytest.raises(SystemExit, match="no fragment"):
        main(root)
    assert len(list((root / "changes").iterdir())) == 3


def test_every_fragment_of_this_checkout_can_be_read(request):
    found = fragments(request.config.rootpath / "changes")
    assert sum(map(len, items(found).values())) == len(found)
