"""Questions about products, and the words of a sweep over them."""

import json

import pytest


@pytest.fixture
def questions(tmp_path):
    """Return a function that writes a file of questions and returns its path."""

    def written(count=40, name="data.jsonl"):
        path = tmp_path / name
        rows = ({"id": f"q{n}", "input": f"What is {n} * 23?", "target": str(n * 23)}
                for n in range(count))  # fmt: skip
        path.write_text("\n".join(map(json.dumps, rows)))
        return str(path)

    return written


def sums(questions, *more, count=40):
    """Return the words of a sweep over such questions."""
    return (
        *("sweep", "run", questions(count), "-m", "claude-opus-5", "--judge", "numeric"),
        *more,
    )
