"""A table read in pieces: what is drawn, what is refused, and what the model then knows."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gditd
from gditd.presets import PRESETS
from gditd.streaming import ParquetSource, draw_sample, parquet
from gditd.tables import TableError
from tests.raw_tables import mixed_table, quick, small_backbone


@pytest.fixture
def table():
    frame, labels = mixed_table((60, 300, 640))
    order = np.random.default_rng(0).permutation(len(frame))
    return pa.Table.from_pandas(frame.assign(kind=labels).iloc[order], preserve_index=False)


def write(table, path, rows=100):
    pq.write_table(table, path, row_group_size=rows)
    return path


def draw(path, max_rows=None, seed=0, ignore=()):
    source = ParquetSource(path, ignore=ignore)
    return draw_sample(source, "kind", settings=PRESETS["fast"], alpha=0.05, seed=seed, max_rows=max_rows)


def test_a_table_that_is_drawn_whole_gives_the_very_same_model(table, tmp_path):
    path = write(table, tmp_path / "t.parquet")
    whole, streamed = (quick(ignore=("gap",)).fit_parquet(path, "kind", stream=stream) for stream in (False, True))
    plain = quick(ignore=("gap",)).fit(table.drop_columns(["kind"]), table.column("kind"))
    for number, model in enumerate((whole, streamed, plain)):
        model.save(tmp_path / f"{number}.gditd")
    files = [(tmp_path / f"{number}.gditd").read_bytes() for number in range(3)]
    assert files[0] == files[1] == files[2]


def test_row_groups_batches_and_files_do_not_matter(table, tmp_path, monkeypatch):
    first = draw(write(table, tmp_path / "a.parquet"), max_rows=200)
    monkeypatch.setattr(parquet, "MOST_BATCH_ROWS", 64)
    again = draw(write(table, tmp_path / "b.parquet", rows=17), max_rows=200)
    (tmp_path / "parts").mkdir()
    for number, start in enumerate((0, 333, 334)):
        end = (333, 334, len(table))[number]
        write(table.slice(start, end - start), tmp_path / "parts" / f"{number}.parquet")
    parts = draw(tmp_path / "parts", max_rows=200)
    assert first.table.equals(again.table)
    assert first.table.equals(parts.table)
    assert first.labels.equals(parts.labels)
    assert not draw(tmp_path / "a.parquet", max_rows=200, seed=1).table.equals(first.table)


def test_rare_classes_are_whole_and_rows_stay_with_their_labels(table, tmp_path):
    sample = draw(write(table, tmp_path / "t.parquet"), max_rows=200)
    counts = sample.labels.to_pandas().value_counts()
    assert counts.to_dict() == {"low": 60, "middle": 70, "top": 70}
    keys = ["amount", "kind"]
    drawn = sample.table.append_column("kind", sample.labels).to_pandas()[keys]
    assert drawn.merge(table.to_pandas()[keys].drop_duplicates(), on=keys).shape == drawn.shape


def test_the_survey_is_of_all_rows(table, tmp_path):
    found = draw(write(table, tmp_path / "t.parquet"), max_rows=50).survey.table().set_index("column")
    frame = table.to_pandas()
    assert found.loc["amount", "mean"] == pytest.approx(frame["amount"].mean())
    assert found.loc["amount", "std"] == pytest.approx(frame["amount"].std(ddof=0))
    assert found.loc["gap", "missing"] == frame["gap"].isna().sum()
    assert found.loc["region", "categories"] == 3


def test_the_model_knows_how_many_rows_there_were(table, tmp_path):
    model = quick().fit_parquet(write(table, tmp_path / "t.parquet"), "kind", stream=True, max_rows=200)
    assert model.class_totals_.tolist() == [60, 300, 640]
    assert model.class_counts_.tolist() == [60, 70, 70]
    assert model.promises()["rows"].tolist() == [60, 300, 640]
    summary = model.summary()
    assert (summary["rows"], summary["rows_learned_from"]) == (1_000, 200)
    model.save(tmp_path / "m.gditd")
    assert gditd.load(tmp_path / "m.gditd", backbone=small_backbone).summary() == summary


@pytest.mark.parametrize("random_state", [3, None, np.random.RandomState(3)])
def test_any_random_state_works(table, tmp_path, random_state):
    path = write(table, tmp_path / "t.parquet")
    model = quick(random_state=random_state).fit_parquet(path, "kind", stream=True, max_rows=100)
    assert model.class_counts_.sum() <= 100


def test_large_tables_are_streamed_by_themselves(table, tmp_path, monkeypatch):
    path = write(table, tmp_path / "t.parquet")
    told = []
    model = quick().fit_parquet(path, "kind", tell=lambda *args: told.append(args))
    assert told == []
    monkeypatch.setattr(parquet, "LARGE", 10_000)
    monkeypatch.setattr("gditd.streaming.sample.LARGE", 10_000)
    model = quick().fit_parquet(path, "kind", tell=lambda *args: told.append(args))
    assert {what for what, _, _ in told} == {"counting", "reading"}
    assert told[-1][1:] == (1_000, 1_000)
    assert model.class_counts_.sum() < 400


def test_notes_say_what_the_sample_does_not_show(table, tmp_path):
    frame = table.to_pandas()
    frame["flag"] = 0
    frame.loc[frame.index[500], "flag"] = 1
    frame["shop"] = [f"shop {row % 5}" for row in range(len(frame))]
    frame.loc[frame.index[700], "shop"] = "a shop seen once"
    path = write(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "t.parquet")
    for seed in range(20):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            quick(random_state=seed).fit_parquet(path, "kind", stream=True, max_rows=120)
        notes = " ".join(str(one.message) for one in caught)
        if "flag" in notes and "shop seen once" in notes:
            break
    assert 'column "flag" has one value in all rows learned from' in notes
    assert "1 categories, in 1 of 1,000 rows" in notes


# --- refused ---


def broken(table, column, row, value):
    values = table.column(column).to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values))


def test_bad_values_are_named_by_file_row_and_column(table, tmp_path):
    (tmp_path / "parts").mkdir()
    write(table, tmp_path / "parts" / "a.parquet")
    write(broken(table, "amount", 777, float("inf")), tmp_path / "parts" / "b.parquet")
    with pytest.raises(TableError, match=r'b\.parquet", row 778, column "amount": inf is not a finite number'):
        draw(tmp_path / "parts")


@pytest.mark.parametrize("label", [None, ""])
def test_a_row_without_a_label_is_named(table, tmp_path, label):
    path = write(broken(table, "kind", 412, label), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r't\.parquet", row 413 has no label in column "kind"'):
        draw(path)


def test_text_that_is_hardly_ever_text_is_refused(table, tmp_path):
    texts = pa.array([str(row % 9) for row in range(len(table))])
    table = table.append_column("code", texts)
    path = write(broken(table, "code", 555, "n/a"), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r'column "code" holds numbers in nearly all rows, but ".*", row 556 holds'):
        draw(path, max_rows=20)
    path = write(broken(table, "code", 555, "inf"), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r'row 556 holds "inf", which is not a finite number'):
        draw(path, max_rows=20)
    draw(path, max_rows=20, ignore=("code",))


def test_files_that_do_not_fit_together(table, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    with pytest.raises(TableError, match=r"has no file that ends in \.parquet"):
        ParquetSource(folder)
    write(table, folder / "a.parquet")
    write(table.drop_columns(["items"]), folder / "b.parquet")
    with pytest.raises(TableError, match=r'b\.parquet" lacks column "items"'):
        ParquetSource(folder)
    assert ParquetSource(folder, ignore=("items",)).n_rows == 2_000
    texts = pa.array([str(value) for value in table.column("items").to_pylist()])
    write(table.set_column(1, "items", texts), folder / "b.parquet")
    with pytest.raises(TableError, match=r'column "items" holds text \(string\) in ".*", but numbers \(int64\)'):
        ParquetSource(folder)
    (folder / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        ParquetSource(folder)
    (folder / "b.parquet").unlink()
    (folder / "day=1").mkdir()
    write(table, folder / "day=1" / "c.parquet")
    with pytest.raises(TableError, match="keeps a column in the names of its folders"):
        ParquetSource(folder)


def test_types_that_mean_the_same_go_together(table, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    write(table, folder / "a.parquet")
    narrow = table.set_column(0, "amount", table.column("amount").cast(pa.float32()))
    write(narrow.set_column(5, "gap", pa.nulls(len(table))), folder / "b.parquet")
    (folder / "_SUCCESS").touch()
    for stream in (True, False):
        model = quick().fit_parquet(folder, "kind", stream=stream)
        assert model.class_counts_.tolist() == [120, 600, 1_280]


def test_what_is_not_there(table, tmp_path):
    path = write(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match="there is no file"):
        ParquetSource(tmp_path / "none.parquet")
    with pytest.raises(TableError, match=r'no column "x" to ignore'):
        ParquetSource(path, ignore=("x",))
    for stream in (True, False):
        with pytest.raises(ValueError, match=r'there is no column "x" to take as target'):
            quick().fit_parquet(path, "x", stream=stream)
    with pytest.raises(ValueError, match="max_rows must be at least 2"):
        quick().fit_parquet(path, "kind", stream=True, max_rows=1)
    write(table.slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(TableError, match="no rows to learn from"):
        draw(tmp_path / "empty.parquet")
    lists = table.append_column("many", pa.array([[1]] * len(table)))
    with pytest.raises(TableError, match=r'column "many" holds values of type list'):
        draw(write(lists, tmp_path / "lists.parquet"))


def test_an_interrupted_pass_leaves_the_estimator_as_it_was(table, tmp_path):
    path = write(table, tmp_path / "t.parquet")

    def interrupt(what, done, total):
        raise KeyboardInterrupt

    model = quick()
    with pytest.raises(KeyboardInterrupt):
        model.fit_parquet(path, "kind", stream=True, tell=interrupt)
    assert not hasattr(model, "model_")


def most_held(path, n_rows):
    """The most bytes that Arrow holds while 10,000 rows are drawn from so many."""
    rng = np.random.default_rng(0)
    columns = {f"c{place}": pa.array(rng.normal(size=n_rows).astype(np.float32)) for place in range(12)}
    pq.write_table(pa.table(columns | {"kind": pa.array(rng.integers(0, 3, n_rows))}), path, use_dictionary=False)
    del columns
    before, held = pa.total_allocated_bytes(), []

    def watch(what, done, total):
        held.append(pa.total_allocated_bytes() - before)

    draw_sample(ParquetSource(path), "kind", settings=PRESETS["fast"], alpha=0.05, seed=0, max_rows=10_000, tell=watch)
    return max(held)


def test_memory_goes_with_the_sample_not_with_the_table(tmp_path):
    small, large = (most_held(tmp_path / "t.parquet", n_rows) for n_rows in (150_000, 1_200_000))
    assert large < 1.5 * small
