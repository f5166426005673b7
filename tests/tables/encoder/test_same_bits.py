"""The same rows give the same bits, however they come."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from gditd.tables import TableEncoder, iter_tables, read_table
from tests.tables.encoder.cases import MODES, encode, make_table


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
