"""The gate of the benchmarks: red where a row takes clearly longer than the baseline says."""

import json
import runpy
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_rows_that_take_clearly_longer_are_named():
    slower = runpy.run_path(str(BENCHMARKS / "_baseline.py"))["slower"]
    baseline = json.loads((BENCHMARKS / "baseline.json").read_text())
    assert len(baseline) >= 9
    assert slower(baseline, baseline) == []
    assert slower({"new row": 1e3}, baseline) == []
    for row, time in baseline.items():
        found = baseline | {row: 1.5 * time}
        assert slower(found, baseline) == [row]
        assert slower(baseline | {row: 1.1 * time}, baseline) == []
