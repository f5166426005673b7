"""An exported model says what gditd says, with every kind of column and every setting that can be exported."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from gditd.nn import ResidualMLP
from tests.integrations.onnx.runs import answers, assert_same, feeds, session_of
from tests.raw_tables import mixed_table, quick

pytestmark = pytest.mark.filterwarnings("ignore")  # of small classes, which are what is wanted here


def training_rows(counts=(70, 90, 130), seed=0):
    """All kinds of columns: also moments with a time of day, many categories, and a number of a billion."""
    frame, labels = mixed_table(counts, seed)
    rng = np.random.default_rng(seed + 1)
    n = len(frame)
    frame["at"] = pd.Timestamp("1999-12-31 22:15") + pd.to_timedelta(rng.integers(0, 3 * 10**7, n), unit="s")
    frame.loc[rng.random(n) < 0.1, "at"] = pd.NaT
    frame["shop"] = pd.Series(rng.zipf(1.5, n) % 150).map("shop {}".format)
    frame["stamp"] = 1_700_000_000.0 + rng.integers(0, 1000, n) / 10
    return frame, labels


def odd_rows():
    """New rows with all that may come: gaps and categories never seen, dates before 1970, absurd numbers."""
    frame, _ = training_rows((30, 30, 30), seed=7)
    frame = frame.astype({"items": float, "member": object})
    frame.loc[0, "amount"] = np.nan
    frame.loc[1, "items"] = np.nan
    frame.loc[2, "region"] = "atlantis"
    frame.loc[3, "shop"] = "never heard of"
    frame.loc[4, "shop"] = None
    frame.loc[5, "day"] = pd.Timestamp("1901-03-01")
    frame.loc[6, "day"] = pd.Timestamp("2096-02-29 23:59:59.999999")
    frame.loc[7, "at"] = pd.Timestamp("1969-12-31 23:59:59.999999")
    frame.loc[8, "amount"] = 1e300
    frame.loc[9, "amount"] = -1e12
    frame.loc[10, "member"] = None
    frame.loc[11, "day"] = pd.NaT
    frame.loc[12, :] = None
    frame.loc[13, "stamp"] = 0.1
    return frame


SETTINGS = {
    "fast": {"preset": "fast"},
    "default": {"preset": "default"},
    "paper": {"preset": "paper"},
    "zeta": {"views": "zeta", "n_members": 2},
    "many members": {"preset": "default", "n_members": 4},
    "cross": {"preset": "default", "views": "zeta", "calibration": "cross", "n_members": 3},
    "sign with p-values": {"views": "zeta", "rule": "sign", "calibration": "split"},
    "quantile": {"numbers": "quantile"},
    "piecewise": {"numbers": "piecewise", "preset": "default"},
    "residual": {"preset": "default", "backbone": lambda n: ResidualMLP(n, width=24)},
    "mlp by name": {"backbone": "mlp"},
}


@pytest.fixture(scope="module", params=SETTINGS)
def model(request):
    with warnings.catch_warnings():  # a mark does not reach fixtures
        warnings.simplefilter("ignore")
        return quick(**SETTINGS[request.param]).fit(*training_rows())


def test_new_rows(model):
    rows, _ = training_rows((200, 200, 200), seed=3)
    session = session_of(model)
    assert_same(model, rows, answers(session, rows))
    assert_same(model, rows, answers(session, rows, alpha=0.2), alpha=0.2)


def test_odd_rows(model):
    rows = odd_rows()
    session = session_of(model)
    assert_same(model, rows, answers(session, rows))
    together = answers(session, rows)
    for name, values in answers(session, rows, rows_at_once=1).by_name.items():
        np.testing.assert_array_equal(values, together[name], err_msg=f"{name}: alone and in company")


def test_no_rows(model):
    session = session_of(model)
    rows = odd_rows().iloc[:0]
    for name, values in answers(session, rows).by_name.items():
        assert len(values) == 0, name


def test_rows_that_cannot_be_read():
    """As with on_error="ood": all of the row counts as missing, its verdict is OOD and its p-value 0."""
    rows, labels = training_rows()
    model = quick().fit(rows, labels)
    session = session_of(model)
    given = feeds(session, rows[:6])
    given["amount"][0] = np.inf
    given["items"][1] = -np.inf
    given["member"][2] = 2
    given["member"][3] = 0.5
    given["at"][4] = 1e15
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, given), strict=True))
    assert found["verdict"][:5].tolist() == ["OOD"] * 5
    assert found["p_value"][:5].tolist() == [0.0] * 5
    assert found["p_value"][5] > 0
    broken = rows[:6].astype({"amount": float, "items": float})
    broken.loc[0, "amount"] = np.inf
    broken.loc[1, "items"] = -np.inf
    expected = model.set_params(on_error="ood").verdict(broken)
    for row in (0, 1, 5):
        assert found["verdict"][row] == expected["verdict"][row]
        assert found["p_value"][row] == expected["p_value"][row]
        assert found["ood_score"][row] == pytest.approx(expected["ood_score"][row], rel=1e-4)


@pytest.mark.parametrize(
    "columns", [["amount", "items", "gap"], ["region", "shop"], ["shop"], ["day"], ["member", "at"]]
)
@pytest.mark.parametrize("numbers", ["zscore", "quantile", "piecewise"])
def test_few_columns(columns, numbers):
    rows, labels = training_rows()
    model = quick(numbers=numbers).fit(rows[columns], labels)
    new = odd_rows()[columns]
    assert_same(model, new, answers(session_of(model), new))


def test_ties_with_calibration_rows():
    """Rows that are equal to calibration rows get their p-value to the digit, however many of them there are."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (900, 3)).astype(float)
    y = (X[:, 0] + rng.integers(0, 2, 900) > 1).astype(int)
    model = quick().fit(X, y)
    assert_same(model, X, answers(session_of(model), X))


@pytest.mark.parametrize("n_classes", [1, 2, 12])
def test_any_number_of_classes(n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 40)
    X = rng.normal(size=(len(y), 5)) + y[:, None]
    model = quick(preset="default").fit(X, y)
    assert_same(model, X, answers(session_of(model), X))


@pytest.mark.parametrize("calibration", ["split", "cross"])
def test_rare_classes(calibration):
    """Classes of a row or two are calibrated together with others, or by nothing at all."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), [60, 50, 3, 2, 1])
    X = rng.normal(size=(len(y), 4)) + y[:, None]
    model = quick(preset="default", calibration=calibration, n_members=2).fit(X, y)
    new = rng.normal(size=(300, 4)) * 4
    for alpha in (0.05, 0.5):
        assert_same(model, new, answers(session_of(model), new, alpha=alpha), alpha)


def test_rows_known_to_be_of_no_class():
    rows, labels = training_rows()
    model = quick(preset="default").fit(rows, labels, ood=odd_rows().drop(index=12))
    assert_same(model, rows, answers(session_of(model), rows))


def test_wide_rows():
    """More columns than any table of a preset's own tests: other paths through sums and products."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 100)
    X = rng.normal(size=(300, 600)) + y[:, None] / 8
    model = quick(preset="default", backbone="mlp").fit(X, y)
    assert_same(model, X, answers(session_of(model), X))
