"""Tables of every form get the same verdicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tests.raw_tables import as_python_rows, quick, trained

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")

FORMS = {
    "polars": pl.from_pandas,
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": pa.Table.from_pandas,
    "arrow batch": pa.RecordBatch.from_pandas,
    "dicts": lambda frame: as_python_rows(frame).to_dict("records"),
    "object array": lambda frame: as_python_rows(frame).to_numpy(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_same_table_in_another_form_gets_the_same_verdicts(table, fitted, form):
    frame, y = table
    other = FORMS[form](frame)
    pd.testing.assert_frame_equal(fitted.verdict(other), fitted.verdict(frame), check_exact=True)
    refitted = trained().fit(other, y)
    pd.testing.assert_frame_equal(refitted.verdict(other), fitted.verdict(frame), check_exact=True)


def test_columns_may_come_in_any_order(table, fitted):
    frame, _ = table
    backwards = frame[frame.columns[::-1]]
    pd.testing.assert_frame_equal(fitted.verdict(backwards), fitted.verdict(frame), check_exact=True)


def test_the_index_of_a_frame_means_nothing(table, fitted):
    frame, _ = table
    shuffled = frame.set_index(np.arange(len(frame))[::-1] * 7)
    pd.testing.assert_frame_equal(fitted.verdict(shuffled), fitted.verdict(frame), check_exact=True)


def test_extra_columns_are_ignored_with_a_note(table, fitted):
    frame, _ = table
    with pytest.warns(UserWarning, match='ignored 1 column not seen in training: "novel"'):
        verdict = fitted.verdict(frame.assign(novel=1))
    pd.testing.assert_frame_equal(verdict, fitted.verdict(frame), check_exact=True)


def test_a_row_gets_the_verdict_it_has_among_others(table, fitted):
    frame, _ = table
    alone = pd.concat([fitted.verdict(frame.iloc[[row]]) for row in (0, 50, 200)], ignore_index=True)
    among = fitted.verdict(frame).iloc[[0, 50, 200]].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, among)


def test_no_rows_give_no_verdicts(table, fitted, forgiving):
    frame, _ = table
    for model, n_columns in ((fitted, 4), (forgiving, 5)):
        assert model.verdict(frame.iloc[:0]).shape == (0, n_columns)
        assert model.verdict(frame.iloc[:0], control="table").shape == (0, n_columns)
        assert model.predict(frame.iloc[:0]).shape == (0,)
        assert model.predict_proba(frame.iloc[:0]).shape == (0, 3)
        assert model.p_values(frame.iloc[:0]).shape == (0, 3)
    X, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 3
    assert quick().fit(X, y).predict(X[:0]).shape == (0,)


def test_unfitted_says_so(table):
    for call in (quick().verdict, quick().predict, quick().p_values, lambda _: quick().promises()):
        with pytest.raises(NotFittedError):
            call(table[0])


def test_cross_validation_search_and_pipelines_take_frames(table):
    frame, y = table
    order = np.random.default_rng(0).permutation(len(frame))
    frame, y = frame.iloc[order], y[order]
    scores = cross_val_score(trained(), frame, y, cv=2)
    assert scores.mean() > 0.8
    search = GridSearchCV(quick(), {"numbers": ["zscore", "piecewise"], "alpha": [0.1]}, cv=2).fit(frame, y)
    assert search.best_estimator_.verdict(frame).shape == (len(frame), 4)
    pipeline = make_pipeline(FunctionTransformer(lambda rows: rows.drop(columns="day")), quick()).fit(frame, y)
    assert pipeline.predict(frame).shape == (len(frame),)
    assert "day" not in pipeline[-1].feature_names_in_


@pytest.mark.parametrize("numbers", ["zscore", "quantile", "piecewise"])
def test_every_encoding_of_numbers_learns(table, numbers):
    frame, y = table
    assert trained(numbers=numbers).fit(frame, y).score(frame, y) > 0.85
