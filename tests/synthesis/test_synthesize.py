import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gditd.synthesis import synthesize
from gditd.synthesis.release import share_out
from gditd.tables import TableError, to_arrow
from tests.raw_tables import mixed_table


def sensitive(counts=(70, 80, 110), seed=0):
    """Columns of every kind, with gaps, a rare city and prices to the cent."""
    frame, labels = mixed_table(counts, seed)
    rng = np.random.default_rng(seed)
    n = len(frame)
    frame.insert(2, "label", labels)
    frame["price"] = np.round(np.exp(frame["amount"] / 5), 2)
    frame["city"] = np.where(np.arange(n) < 3, "Rareville", rng.choice(["Bonn", "Ulm", "Jena"], n))
    frame["size"] = pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L", "XL"], ordered=True)
    frame["seen"] = frame["day"] + pd.to_timedelta(rng.integers(0, 86_400, n), unit="s")
    frame["checked"] = np.where(rng.random(n) < 0.1, None, frame["member"])
    return frame


@pytest.fixture(scope="module")
def real():
    return to_arrow(sensitive())


@pytest.fixture(scope="module")
def made(real):
    return synthesize(real, "label")


def rows_of(table):
    return set(
        map(tuple, table.to_pandas().astype(object).where(lambda frame: frame.notna(), None).to_numpy().tolist())
    )


def test_columns_types_and_classes_are_kept(real, made):
    assert made.table.schema.remove_metadata() == real.schema.remove_metadata()
    counts = [table.to_pandas()["label"].value_counts().to_dict() for table in (real, made.table)]
    assert counts[0] == counts[1]


def test_no_real_row_is_released(real, made):
    assert not rows_of(real) & rows_of(made.table)
    assert made.report.privacy.exact_copies == 0


def test_values_stay_in_their_world(real, made):
    before, after = real.to_pandas(), made.table.to_pandas()
    for name in ("amount", "items", "price", "gap", "day", "seen"):
        assert after[name].min() >= before[name].min()
        assert after[name].max() <= before[name].max()
    assert (after["price"] == after["price"].round(2)).all(), "to the cent, as before"
    assert (after["day"] == after["day"].dt.normalize()).all(), "whole days, as before"
    assert (after["seen"] == after["seen"].dt.floor("s")).all()
    assert set(after["region"].dropna()) <= set(before["region"].dropna())
    assert after["size"].cat.categories.tolist() == ["S", "M", "L"], "in their order, and none that no row has"


def test_gaps_and_means_are_kept_about_as_they_were(real, made):
    before, after = real.to_pandas(), made.table.to_pandas()
    for name in ("gap", "region", "checked"):
        assert after[name].isna().mean() == pytest.approx(before[name].isna().mean(), abs=0.08)
    for label in before["label"].unique():
        own, new = (frame.loc[frame["label"] == label, "amount"] for frame in (before, after))
        assert new.mean() == pytest.approx(own.mean(), abs=0.35)
    assert not after["amount"].isna().any()


def test_rare_values_are_not_released(made):
    assert "Rareville" not in str(made.table.to_pydict())
    assert any('"city": 1 of its values occur in fewer than 5 rows (3 rows' in note for note in made.notes)


def test_rare_entries_of_a_dictionary_are_gone():
    frame = sensitive()
    frame["city"] = frame["city"].astype("category")
    frame["label"] = pd.Categorical(["unique", *frame["label"][1:]])
    made = synthesize(frame, "label", check=False)
    assert "Rareville" not in made.table.column("city").chunk(0).dictionary.to_pylist()
    assert "unique" not in made.table.column("label").chunk(0).dictionary.to_pylist()
    assert made.table.column("label").type == to_arrow(frame).column("label").type


def test_rare_ones_among_zeros_survive():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=2_000), "flag": (rng.random(2_000) < 0.04).astype(int), "y": "a"})
    released = synthesize(frame, "y", check=False).table.to_pandas()["flag"]
    assert set(released) == {0, 1}
    assert released.mean() == pytest.approx(frame["flag"].mean(), abs=0.015)


def test_the_same_seed_and_checking_or_not(real, made):
    assert synthesize(real, "label", check=False).table.equals(made.table)
    assert not synthesize(real, "label", check=False, seed=1).table.equals(made.table)


@pytest.mark.parametrize("rows", [3, 26, 1_000])
def test_rows_in_the_classes_proportions(real, rows):
    labels = synthesize(real, "label", rows=rows, check=False).table.column("label").to_pylist()
    assert len(labels) == rows
    assert len(set(labels)) == 3
    if rows > 3:
        assert labels.count("low") == pytest.approx(rows * 70 / 260, abs=1)


def test_share_out():
    assert share_out(None, [5, 9]) == [5, 9]
    assert share_out(10, [1, 999]) == [1, 9]
    assert share_out(7, [1, 1, 1]) in ([3, 2, 2], [2, 3, 2], [2, 2, 3])
    with pytest.raises(ValueError, match="2 rows are too few for 3 classes"):
        share_out(2, [5, 5, 5])


def test_columns_to_ignore_are_not_released(real):
    names = synthesize(real, "label", ignore=["city", "seen"], check=False).table.column_names
    assert names == [name for name in real.column_names if name not in ("city", "seen")]


def test_identifiers_are_refused(real):
    named = real.append_column("name", pa.array([f"person {row // 2 * 2}" for row in range(260)]))
    synthesize(named, "label", check=False)
    named = real.append_column("name", pa.array([f"person {row}" for row in range(260)]))
    with pytest.raises(TableError, match=r'column "name" holds 260 different texts.*--ignore name'):
        synthesize(named, "label")


def test_small_classes_are_left_out_with_a_note(real):
    labels = real.column("label").to_pylist()
    labels[:5] = ["alone", "few", "few", "few", "few"]
    made = synthesize(real.set_column(2, "label", pa.array(labels)), "label", check=False)
    assert set(made.table.column("label").to_pylist()) == {"low", "middle", "top"}
    assert made.table.num_rows == 255
    assert made.notes[0] == 'not released, as they have fewer than 5 rows: classes "alone", "few"'
    with pytest.raises(TableError, match="no class has 5 rows"):
        synthesize(real.slice(0, 4), "label")


def test_five_rows_are_enough():
    frame = sensitive((5, 5, 5))
    made = synthesize(frame, "label")
    assert made.table.num_rows == 15
    assert made.report.utility is None


def test_numbers_known_in_few_rows_of_a_class_are_not_released():
    frame = sensitive()
    frame["fine"] = np.where(np.arange(len(frame)) < 4, 123_456.789, np.nan)
    assert synthesize(frame, "label", check=False).table.column("fine").null_count == len(frame)


def test_too_few_combinations():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(200) < 0.5, "b": rng.random(200) < 0.5, "y": "one"})
    with pytest.raises(TableError, match='class "one": every mixture of its rows equals a real row'):
        synthesize(frame, "y")
    cube = pd.DataFrame(rng.integers(0, 3, (150, 4)), columns=list("abcd")).assign(y="one")
    made = synthesize(cube, "y")
    assert 0 < made.table.num_rows < 150
    assert f"{150 - made.table.num_rows} of 150 rows are left out" in made.notes[-1]
    assert not rows_of(made.table) & rows_of(to_arrow(cube))


def test_doubled_rows():
    frame = pd.concat([sensitive((30, 30, 30))] * 4, ignore_index=True)
    made = synthesize(frame, "label", check=False)
    assert made.table.num_rows == 360
    assert not rows_of(made.table) & rows_of(to_arrow(frame))


def test_other_types():
    n = 60
    rng = np.random.default_rng(0)
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 90, n)]
    table = pa.table(
        {
            "date": pa.array(days),
            "zoned": pa.array(rng.integers(0, 10**9, n), pa.timestamp("s", "Europe/Berlin")),
            "time": pa.array(rng.integers(0, 86_400, n).astype(np.int32), pa.time32("s")),
            "took": pa.array(rng.integers(0, 10**6, n), pa.duration("ms")),
            "sum": pa.array([decimal.Decimal(f"{value:.2f}") for value in rng.random(n) * 100], pa.decimal128(9, 2)),
            "small": pa.array(rng.normal(size=n), pa.float32()),
            "huge": pa.array(rng.integers(2**62, 2**63 - 1, n)),
            "unsigned": pa.array(rng.integers(2**62, 2**64 - 1, n, dtype=np.uint64)),
            "nothing": pa.nulls(n),
            "y": pa.array(rng.integers(0, 2, n)),
        }
    )
    made = synthesize(table, "y")
    assert made.table.schema == table.schema
    for name in ("date", "zoned", "time", "took", "sum", "small"):
        low, high = (min(table.column(name).to_pylist()), max(table.column(name).to_pylist()))
        assert all(low <= value <= high for value in made.table.column(name).to_pylist())


def test_any_frame_will_do(made):
    frame = sensitive()
    assert synthesize(frame, "label", check=False).table.num_rows == 260
    polars = pl.from_pandas(frame.assign(checked=frame["checked"].astype("boolean")))
    assert synthesize(polars, "label", check=False).table.to_pandas()["amount"].equals(made.table.to_pandas()["amount"])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"target": "nope"}, 'no column "nope"'),
        ({"ignore": ["nope"]}, 'no column "nope"'),
        ({"ignore": ["label"]}, "both target and ignored"),
        ({"neighbours": 1}, "neighbours must be at least 2"),
        ({"rows": 2}, "2 rows are too few for 3 classes"),
    ],
)
def test_bad_arguments(real, change, part):
    with pytest.raises(ValueError, match=part):
        synthesize(real, **{"target": "label"} | change)


def test_bad_tables(real):
    with pytest.raises(TableError, match="has no rows"):
        synthesize(real.slice(0, 0), "label")
    with pytest.raises(TableError, match='no column besides "label"'):
        synthesize(real.select(["label"]), "label")
    with pytest.raises(TableError, match='column "lists" holds values of type list'):
        synthesize(real.append_column("lists", pa.array([[1]] * 260)), "label")
    with pytest.raises(TableError, match='column "endless", row 2: inf'):
        synthesize(real.append_column("endless", pa.array([1.0, np.inf] * 130)), "label")
    labels = [None if row == 6 else "a" for row in range(260)]
    with pytest.raises(TableError, match='column "label", row 7: the class is missing'):
        synthesize(real.set_column(2, "label", pa.array(labels)), "label")
