"""What numbers, categories, dates and gaps are encoded as."""

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest
import torch

from gditd.tables import TableEncoder, TableError
from gditd.tables.categories import EVIDENCE
from gditd.tables.numbers import LIMIT
from tests.tables.encoder.cases import MODES, column, encode, one


def test_zscore_by_hand():
    assert column(one([1.0, 3.0]), [1.0, 2.0, 3.0, 5.0]) == [-1, 0, 1, 3]


def test_quantile_by_hand():
    encoder = one([float(v) for v in range(1, 101)], "quantile")
    normal = torch.distributions.Normal(0, 1)
    wanted = [normal.icdf(torch.tensor((rank - 0.5) / 100)).item() for rank in (1, 26, 50, 90, 100)]
    assert column(encoder, [1.0, 26.0, 50.0, 90.0, 100.0]) == pytest.approx(wanted, abs=0.08)


def test_quantile_makes_any_distribution_normal():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=20_000), rng.exponential(size=20_000), 10 ** rng.uniform(0, 9, 20_000)):
        scores = np.array(column(one(values, "quantile"), values))
        for level in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
            wanted = torch.distributions.Normal(0, 1).icdf(torch.tensor(level)).item()
            assert np.quantile(scores, level) == pytest.approx(wanted, abs=0.1)


def test_quantile_of_tied_values():
    scores = column(one([0] * 60 + [1] * 40, "quantile"), [0, 1])
    assert scores == pytest.approx([-0.524, 0.842], abs=0.02)


def test_piecewise_by_hand():
    encoder = one([float(v) for v in range(9)], "piecewise", n_bins=2)
    values = encode(encoder, pa.table({"a": [0.0, 2.0, 4.0, 6.0, 8.0]}))[:, :2]
    assert values.tolist() == [[0, 0], [0.5, 0], [1, 0], [1, 0.5], [1, 1]]


@pytest.mark.parametrize("numbers", MODES)
@pytest.mark.parametrize("values", [np.linspace(0, 1, 50), np.random.default_rng(0).lognormal(size=300), [0, 1, 1, 9]])
def test_monotone_and_farther_outside_is_more(numbers, values):
    encoder = one(np.asarray(values, float), numbers)
    high, spread = float(np.max(values)), float(np.ptp(values))
    steps = np.concatenate(
        [np.linspace(high - 2 * spread, high + 2 * spread, 400), high + spread * 10.0 ** np.arange(1, 6)]
    )
    total = encode(
        encoder, pa.table({"a": np.concatenate([high - spread - spread * 10.0 ** np.arange(5, 0, -1), steps])})
    )
    total = total.double().sum(1)
    assert (total.diff() >= -1e-5).all()
    outside = total[-5:]
    assert (outside.diff() > 0.5).all()
    assert (total[:5].diff() > 0.5).all()


@pytest.mark.parametrize("numbers", MODES)
def test_extreme_values_stay_finite(numbers):
    for values in ([1.0, 2.0, 3.0], [-1.7e308, 0.0, 1.7e308], [0.0, 5e-324, 1e-310], [1e300, 1e300, 1.0]):
        encoder = one(values, numbers)
        encoded = encode(encoder, pa.table({"a": [1.7e308, -1.7e308, 0.0, 5e-324, None]}))
        assert encoded.isfinite().all()
        assert encoded.abs().max() <= LIMIT


def test_missing_that_training_had():
    encoder = one([1.0, 3.0, None])
    assert encoder.feature_names == ["a", "a: missing"]
    assert encode(encoder, pa.table({"a": [3.0, None]})).tolist() == [[1, 0], [0, 1]]


def test_missing_that_training_never_had_is_evidence():
    encoder = TableEncoder(numbers="zscore").fit(pa.table({"a": [1.0, 3.0], "b": [1.0, 3.0], "c": ["x", "y"]}))
    assert encoder.feature_names[2] == "unexpected missing"
    rows = pa.table({"a": [None, None, 3.0], "b": [None, 1.0, 3.0], "c": ["x", None, "z"]})
    encoded = encode(encoder, rows)
    assert encoded[:, 2].tolist() == [2 * EVIDENCE, EVIDENCE, 0]
    assert encoded[:, 3:].tolist() == [[1, 0, 0], [0, 0, EVIDENCE], [0, 0, EVIDENCE]]


def test_categories_by_hand():
    encoder = one(["x", "x", "y", None])
    assert encoder.feature_names == ["a: is x", "a: is y", "a: unseen", "a: missing"]
    encoded = encode(encoder, pa.table({"a": ["y", "x", "new", None, ""]}))
    assert encoded.tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, EVIDENCE, 0], [0, 0, 0, 1], [0, 0, 0, 1]]


def test_rare_categories_share_a_bucket_and_are_not_unseen():
    encoder = one(["x"] * 3 + ["y"] * 2 + ["r1", "r2", None], max_categories=2)
    assert encoder.feature_names == ["a: is x", "a: is y", "a: other", "a: unseen", "a: missing"]
    encoded = encode(encoder, pa.table({"a": ["r1", "r2", "y", "new", None]}))
    assert encoded.argmax(1).tolist() == [2, 2, 1, 3, 4]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_every_text_type_gives_the_same_codes(kind):
    encoder = one(["x", "x", "y", None])
    texts = pa.array(["y", "new", None, "", "x"] * 3)
    typed = texts.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else texts.cast(kind)
    assert torch.equal(encode(encoder, pa.table({"a": typed})), encode(encoder, pa.table({"a": texts})))


def test_numbers_in_a_category_column_are_read_as_text():
    encoder = one(["7", "8", "x"])
    for values in ([7, 8], [7.0, 8.0]):
        assert encode(encoder, pa.table({"a": values})).argmax(1).tolist() == [0, 1]


def test_booleans_are_numbers():
    encoder = one([True, False, False, True])
    for values in ([True, False], ["true", "FALSE"], [1, 0], ["1", "0"]):
        assert column(encoder, values) == [1, -1]
    with pytest.raises(TableError, match='column "a", row 2: "maybe" is neither true nor false'):
        column(encoder, ["true", "maybe"])
    with pytest.raises(TableError, match=r'column "a", row 1: 2.0 is neither true nor false'):
        column(encoder, [2])


def test_datetimes_as_parts():
    moments = [datetime.datetime(2024, 1, 1, 0, 0), datetime.datetime(2024, 7, 2, 6, 0)]
    encoder = one(moments)
    parts = ["time of day", "day of week", "day of year"]
    waves = [f"a: {wave} of {part}" for wave in ("sine", "cosine") for part in parts]
    assert encoder.feature_names == ["a", *waves, "unexpected missing"]
    first, second, gone = encode(encoder, pa.table({"a": [*moments, None]})).tolist()
    assert first[:7] == [-1, 0, 0, 0, 1, 1, 1]
    angle = 2 * math.pi * 183 / 366
    assert second[:4] == pytest.approx([1, 1, math.sin(2 * math.pi / 7), math.sin(angle)], abs=1e-6)
    assert gone == [0] * 7 + [EVIDENCE]


def test_dates_alone_have_no_time_of_day():
    encoder = one([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)])
    assert not any("time of day" in name for name in encoder.feature_names)
    for values in (["2024-01-02"], [datetime.datetime(2024, 1, 2)], ["2024-01-02T00:00:00Z"]):
        assert column(encoder, values) == [1]
    with pytest.raises(TableError, match='column "a", row 2: "soon" is not an ISO date or time'):
        column(encoder, ["2024-01-02", "soon"])
    with pytest.raises(TableError, match="row 1: a value of type int64 where a date is expected"):
        column(encoder, [5])
