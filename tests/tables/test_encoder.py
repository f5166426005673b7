import copy
import datetime
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from gditd.tables import TableEncoder, TableError, iter_tables, read_table
from gditd.tables.categories import EVIDENCE
from gditd.tables.numbers import LIMIT

MODES = ["zscore", "quantile", "piecewise"]


def make_table(rows=500, seed=0):
    rng = np.random.default_rng(seed)
    start = np.datetime64("2024-01-01T00:00:00", "us")
    return pa.table(
        {
            "colour": pa.array(rng.choice(["red", "green", "blue"], rows)),
            "size": rng.normal(5, 2, rows),
            "gaps": pa.array(rng.exponential(1, rows), mask=rng.random(rows) < 0.2),
            "flag": rng.random(rows) < 0.3,
            "when": start + rng.integers(0, 400 * 86_400, rows) * np.timedelta64(1_000_000, "us"),
            "same": [7] * rows,
            "shop": pa.array([f"shop {int(k)}" for k in rng.zipf(1.5, rows).clip(max=200)]),
            "note": pa.array(rng.choice(["yes", "no"], rows), mask=rng.random(rows) < 0.3),
        }
    )


def encode(encoder, table, **options):
    return encoder.transform(table, **options).values


def one(values, numbers="zscore", **settings):
    return TableEncoder(numbers=numbers, **settings).fit(pa.table({"a": values}))


def column(encoder, values, **options):
    return encode(encoder, pa.table({"a": values}), **options)[:, 0].tolist()


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


def test_constant_columns_are_dropped_and_may_be_absent():
    table = make_table()
    encoder = TableEncoder().fit(table)
    assert "same" not in encoder.column_slices
    assert torch.equal(encode(encoder, table), encode(encoder, table.drop_columns(["same"])))
    with pytest.raises(TableError, match="nothing can be learned"):
        TableEncoder().fit(table.select(["same"]))


@pytest.mark.parametrize("numbers", MODES)
def test_slices_cover_the_columns(numbers):
    encoder = TableEncoder(numbers=numbers).fit(make_table())
    places = [place for part in encoder.column_slices.values() for place in range(part.start, part.stop)]
    shared = encoder.feature_names.index("unexpected missing")
    assert sorted([*places, shared]) == list(range(encoder.width))
    for name, part in encoder.column_slices.items():
        assert all(label.startswith(name) for label in encoder.feature_names[part])
    base = make_table(1)
    other = {"colour": "red", "size": 9.0, "gaps": 3.3, "flag": True, "shop": "shop 1", "note": "no"}
    for name, value in other.items():
        for seen in ([value], [None]):
            changed = base.set_column(base.column_names.index(name), name, pa.array(seen, base[name].type))
            moved = (encode(encoder, base) != encode(encoder, changed))[0].nonzero().flatten().tolist()
            part = encoder.column_slices[name]
            assert set(moved) - {shared} <= set(range(part.start, part.stop))


@pytest.mark.parametrize("numbers", MODES)
def test_training_rows_are_finite_and_of_moderate_size(numbers):
    encoder = TableEncoder(numbers=numbers).fit(make_table())
    encoded = encode(encoder, make_table())
    assert encoded.dtype == torch.float32
    assert encoded.shape == (500, encoder.width) == (500, len(encoder.feature_names))
    assert encoded.isfinite().all()
    assert encoded.abs().max() < 10
    assert (encoded[:, encoder.feature_names.index("unexpected missing")] == 0).all()


def test_columns_in_any_order_and_extra_columns_with_a_note():
    table = make_table()
    encoder = TableEncoder().fit(table)
    wanted = encoder.transform(table)
    assert wanted.notes == []
    mixed = table.select(table.column_names[::-1]).append_column("new", pa.array(range(500)))
    encoded = encoder.transform(mixed)
    assert torch.equal(encoded.values, wanted.values)
    assert encoded.notes == ['ignored 1 column not seen in training: "new"']


def test_ignored_columns():
    table = make_table()
    encoder = TableEncoder().fit(table, ignore=["shop"])
    assert "shop" not in encoder.column_slices


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("size", ["1", "2", "tall"], 'column "size", row 3: "tall" is not a number'),
        ("size", ["1", "+2.5", "1_000"], 'column "size", row 3: "1_000" is not a number'),
        ("size", [1.0, math.inf, 2.0], 'column "size", row 2: inf is not a finite number'),
        ("size", ["1", "2", "-inf"], 'column "size", row 3: -inf is not a finite number'),
        ("gaps", [None, 1.0, -math.inf], 'column "gaps", row 3: -inf is not a finite number'),
        ("size", [[1], [2], [3]], 'column "size", row 1: a value of type list'),
    ],
)
def test_values_that_do_not_fit(name, values, message):
    table = make_table()
    encoder = TableEncoder().fit(table)
    broken = table.slice(0, 3).set_column(table.column_names.index(name), name, pa.array(values))
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        encoder.transform(broken)
    with pytest.raises(TableError, match=message):
        encoder.raw_tensors(broken)
    encoded = encoder.transform(broken, on_error="ood")
    assert message in "\n".join(encoded.row_errors.values())
    assert encoded.values.isfinite().all()


def test_on_error_ood_lists_the_rows_and_leaves_the_others_alone():
    table = make_table(70_000)
    encoder = TableEncoder().fit(table)
    size = table["size"].to_numpy().astype(object)
    size[[5, 66_000]] = "tall"
    frame = table.to_pandas()
    frame["size"] = size
    encoded = encoder.transform(frame, on_error="ood")
    assert encoded.row_errors == {row: f'column "size", row {row + 1}: "tall" is not a number' for row in (5, 66_000)}
    same = (encoded.values == encode(encoder, table)).all(1)
    assert (~same).nonzero().flatten().tolist() == [5, 66_000]
    nothing = {name: [None] for name in table.column_names}
    assert torch.equal(encoded.values[5:6], encode(encoder, pa.table(nothing)))
    with pytest.raises(TableError, match="row 1006"):
        encoder.transform(frame, rows_before=1_000)


def test_missing_columns():
    table = make_table(5)
    encoder = TableEncoder().fit(make_table())
    with pytest.raises(ValueError, match='the table lacks columns "size", "note"'):
        encoder.transform(table.drop_columns(["size", "note"]))
    with pytest.raises(TableError, match='lacks column "size"'):
        encoder.raw_tensors(table.drop_columns(["size"]))
    encoded = encoder.transform(table.drop_columns(["size"]), on_error="ood")
    assert list(encoded.row_errors) == [0, 1, 2, 3, 4]
    assert 'lacks column "size"' in encoded.row_errors[0]
    assert encoded.values.isfinite().all()


@pytest.mark.parametrize("numbers", MODES)
def test_state_round_trip_to_the_bit(numbers):
    table, new = make_table(), make_table(2_000, seed=1)
    encoder = TableEncoder(numbers=numbers, max_categories=5, n_bins=4).fit(table)
    wanted = encode(encoder, new)
    settings, tensors = encoder.state()
    again = TableEncoder.from_state(json.loads(json.dumps(settings, allow_nan=False)), tensors)
    assert again.schema_ == encoder.schema_
    assert again.feature_names == encoder.feature_names
    assert again.column_slices == encoder.column_slices
    for copied in (again, copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        assert torch.equal(encode(copied, new), wanted)


@pytest.mark.parametrize("numbers", MODES)
def test_a_row_has_the_same_bits_in_any_batch_and_order(numbers):
    encoder = TableEncoder(numbers=numbers).fit(make_table())
    new = make_table(9_001, seed=1)
    wanted = encode(encoder, new)
    order = np.random.default_rng(0).permutation(len(new))
    assert torch.equal(encode(encoder, new.take(order)), wanted[order])
    for start, length in ((0, 1), (17, 1), (100, 7), (8_999, 2), (3, 8_998)):
        assert torch.equal(encode(encoder, new.slice(start, length)), wanted[start : start + length])


def test_threads_change_nothing():
    encoder = TableEncoder().fit(make_table())
    new = make_table(100_000, seed=1)
    arrow, own = pa.cpu_count(), torch.get_num_threads()
    try:
        results = []
        for threads, torch_threads in ((1, 1), (2, 1), (2, 2)):
            pa.set_cpu_count(threads)
            torch.set_num_threads(torch_threads)
            results.append(encode(encoder, new))
    finally:
        pa.set_cpu_count(arrow)
        torch.set_num_threads(own)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_every_kind_of_table_encodes_the_same():
    table = make_table()
    encoder = TableEncoder().fit(table)
    wanted = encode(encoder, table)
    frame = table.to_pandas()
    for same in (
        frame,
        frame.astype(object),
        frame.astype({"colour": "category"}),
        pl.from_arrow(table),
        pl.from_arrow(table).lazy(),
        table.to_pylist(),
        table.to_batches()[0],
        pa.concat_tables([table.slice(0, 100), table.slice(100)]),
    ):
        assert torch.equal(encode(encoder, same), wanted)
        assert torch.equal(encode(TableEncoder().fit(same), table), wanted)


def test_arrays_encode_like_frames_of_the_same_numbers():
    values = np.random.default_rng(0).normal(size=(50, 3))
    encoder = TableEncoder().fit(values)
    assert list(encoder.column_slices) == ["x0", "x1", "x2"]
    wanted = encode(encoder, values)
    frame = pd.DataFrame(values, columns=["x0", "x1", "x2"])
    for same in (frame, values.tolist(), np.asfortranarray(values), values.astype(object)):
        assert torch.equal(encode(encoder, same), wanted)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet", "feather"])
def test_a_file_encodes_the_same_whole_and_in_chunks(tmp_path, ending):
    frame = make_table().to_pandas()
    path = tmp_path / f"table.{ending}"
    if "csv" in ending:
        frame.to_csv(path, index=False)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True, date_format="iso", double_precision=15)
    else:
        getattr(frame, f"to_{ending}")(path)
    whole = read_table(path)
    encoder = TableEncoder().fit(whole)
    chunks = [encode(encoder, chunk) for chunk in iter_tables(path, chunk_rows=150)]
    assert [len(chunk) for chunk in chunks] == [150, 150, 150, 50]
    assert torch.equal(torch.cat(chunks), encode(encoder, whole))


@pytest.mark.parametrize("numbers", MODES)
def test_one_row_one_column_no_rows(numbers):
    encoder = TableEncoder(numbers=numbers).fit(pa.table({"a": [1.0, 2.0, 4.0]}))
    assert encode(encoder, pa.table({"a": [2.0]})).shape == (1, encoder.width)
    assert encode(encoder, pa.table({"a": pa.array([], pa.float64())})).shape == (0, encoder.width)
    full = TableEncoder(numbers=numbers).fit(make_table())
    assert encode(full, make_table(1)).shape == (1, full.width)
    assert encode(full, make_table().slice(0, 0)).shape == (0, full.width)
    words = TableEncoder(numbers=numbers).fit(pa.table({"a": ["x", "y"]}))
    assert encode(words, pa.table({"a": ["y"]})).tolist() == [[0, 1, 0]]
    nearly = TableEncoder(numbers=numbers).fit(pa.table({"a": [5.0, None]}))
    assert encode(nearly, pa.table({"a": [5.0, None]})).tolist() == [[0, 0], [0, 1]]


def test_column_names_may_be_anything():
    table = pa.table({"": [1.0, 2.0], "größe 😀": ["x", "y"], "a\nb": [True, False]})
    encoder = TableEncoder().fit(table)
    assert list(encoder.column_slices) == ["", "a\nb", "größe 😀"]


@pytest.mark.parametrize("numbers", MODES)
def test_the_module_alone_gives_the_same_and_can_be_exported(numbers):
    table = make_table()
    encoder = TableEncoder(numbers=numbers).fit(table)
    raw = encoder.raw_tensors(table)
    assert raw[0].dtype == torch.float64
    assert raw[1].dtype == torch.int64
    wanted = encode(encoder, table)
    assert torch.equal(encoder.module_(*raw), wanted)
    rows = torch.export.Dim("rows")
    program = torch.export.export(
        encoder.module_, tuple(part.contiguous() for part in raw), dynamic_shapes=({0: rows}, {0: rows})
    )
    few = tuple(part[:7].contiguous() for part in raw)
    assert torch.equal(program.module()(*few), wanted[:7])


def test_encoded_rows_can_be_trained_on():
    encoder = TableEncoder().fit(make_table())
    layer = torch.nn.Linear(encoder.width, 2)
    layer(encode(encoder, make_table())).sum().backward()
    assert layer.weight.grad is not None


def test_settings_are_checked():
    with pytest.raises(ValueError, match="zscore, quantile, piecewise"):
        TableEncoder(numbers="minmax")
    with pytest.raises(ValueError, match="at least"):
        TableEncoder(max_categories=0)
    with pytest.raises(ValueError, match="on_error"):
        one([1.0, 2.0]).transform(pa.table({"a": [1.0]}), on_error="skip")


@pytest.mark.parametrize("bad", [{}, {5: "many"}, {5: "inf"}, {5: " 7 "}, {5: ""}, {5: None}, {3: "1_0", 9: "x"}])
def test_text_columns_are_read_together_as_they_are_one_by_one(bad, monkeypatch):
    rng = np.random.default_rng(0)
    train = pa.table({name: rng.normal(size=50) for name in "abc"})
    encoder = TableEncoder().fit(train)
    columns = {name: [str(value) for value in rng.normal(size=20)] for name in "abc"}
    for row, text in bad.items():
        columns["b"][row] = text
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    together = encoder.transform(table, on_error="ood")
    monkeypatch.setattr(TableEncoder, "_plain_numbers", lambda *_: None)
    one_by_one = encoder.transform(table, on_error="ood")
    assert together.row_errors == one_by_one.row_errors
    assert torch.equal(together.values, one_by_one.values)


def test_a_list_is_no_category():
    train = pa.table({"word": ["x", "y"] * 30, "n": range(60)})
    encoder = TableEncoder().fit(train)
    lists = pa.table({"word": [None, ["x"]], "n": [1, 2]})
    with pytest.raises(TableError, match=r'column "word", row 2: a value of type list<.*> where a category'):
        encoder.transform(lists)
    assert list(encoder.transform(lists, on_error="ood").row_errors) == [1]
