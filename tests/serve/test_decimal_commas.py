"""A CSV body with decimal commas: numbers are read, and come back as a CSV with commas between cells has them."""

import io

import pandas as pd

from tests.serve.conftest import CSV


def test_verdicts_are_those_on_decimal_points(client, new_rows):
    sent = new_rows.to_csv(index=False, sep=";", decimal=",")
    answer, plain = (
        client.post("/v1/predict", content=body.encode(), headers=CSV | {"accept": "text/csv"})
        for body in (sent, new_rows.to_csv(index=False))
    )
    assert answer.status_code == plain.status_code == 200
    found, expected = (pd.read_csv(io.StringIO(given.text), dtype=str) for given in (answer, plain))
    assert found["verdict"].tolist() == expected["verdict"].tolist()
    assert found["p_value"].tolist() == expected["p_value"].tolist()
    cells = pd.read_csv(io.StringIO(sent), sep=";", dtype=str)
    assert cells.map(lambda cell: isinstance(cell, str) and "," in cell).any(axis=None)
    assert found[cells.columns].equals(expected[cells.columns])
