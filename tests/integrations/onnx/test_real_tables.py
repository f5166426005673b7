"""Real tables: the verdicts are gditd's. benchmarks/onnx_parity.py does the same with 100,000 rows of each."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from gditd import GDITDClassifier
from gditd.datasets import load_dataset
from tests.integrations.onnx.runs import answers, assert_same, session_of

pytestmark = [
    pytest.mark.data,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif("GDITD_DATA" not in os.environ, reason="GDITD_DATA does not name a folder with real tables"),
]


@pytest.mark.parametrize("name", ["gas", "nsl-kdd"])
def test_real_table(name):
    dataset = load_dataset(name)
    frame = dataset.X if isinstance(dataset.X, pd.DataFrame) else pd.DataFrame(dataset.X).add_prefix("x")
    order = np.random.default_rng(0).permutation(len(frame))
    known = order[dataset.y[order] != np.unique(dataset.y)[0]][:2_000]
    model = GDITDClassifier(max_epochs=5, random_state=0).fit(frame.iloc[known], dataset.y[known])
    rows = frame.iloc[order[-4_000:]].reset_index(drop=True)
    found = answers(session_of(model), rows)
    assert_same(model, rows, found)
    as_float = rows.astype(dict.fromkeys(rows.select_dtypes("float"), np.float32))
    assert_same(model, as_float, answers(session_of(model, numbers="float"), as_float))
    assert 0 < np.count_nonzero(found["verdict"] == "OOD") < len(rows)
