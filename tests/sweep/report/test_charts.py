"""The labels of a chart: wherever its arms are, none lies on another."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sweep.reports import sweep_of

from pondero.sweep.report.charts import _Box, _labels, _Spot

TEXT = re.compile(r'x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)</text>')
NEAR = st.tuples(st.floats(-80, 80), st.floats(-80, 80))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PONDERO_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        return sweep_of(12, levels="off,low,high,max")


@given(
    middle=st.tuples(st.floats(46, 426), st.floats(14, 276)),
    away=st.lists(NEAR, min_size=4, max_size=4),
    whisker=st.floats(5, 120),
)
def test_no_label_lies_on_another(results, middle, away, whisker):
    spots = []
    for number, (arm, (right, down)) in enumerate(zip(results.arms, away, strict=True)):
        x = min(426.0, max(46.0, middle[0] + right))
        y = min(276.0, max(14.0, middle[1] + down))
        high, low = max(14.0, y - whisker), min(276.0, y + whisker)
        spots.append(_Spot(number, arm, x, y, high, low))
    drawn = "".join(map(str, _labels(spots, results, results.arms)))
    texts = [(float(x), float(y), len(name)) for x, y, name in TEXT.findall(drawn)]
    assert len(texts) == 4
    # The letters, a little smaller than their place: the drawing has two decimals.
    boxes = [_Box(x, y - 10.9, x + 7.2 * count, y + 3.9) for x, y, count in texts]
    for number, box in enumerate(boxes):
        assert not any(map(box.meets, boxes[:number]))
