"""Verdicts from an exported model with onnxruntime and numpy alone: neither gditd nor torch need be installed.

    python examples/onnx_client.py MODEL.onnx ROWS [ALPHA]

ROWS is a CSV file, or a JSON file with a list of objects. The verdicts come out as JSON.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

ROWS_AT_ONCE = 4_096  # more only take more memory
TYPES: dict[str, type] = {"float": np.float32, "double": np.float64, "string": object}
OUTPUTS = ["verdict", "known_class", "p_value", "ood_score"]


def main() -> None:
    """Read rows, judge them, print the verdicts."""
    path, rows_path, *rest = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # it would warn that alpha has a default
    session = onnxruntime.InferenceSession(path, options)
    facts = session.get_modelmeta().custom_metadata_map
    columns = json.loads(facts["columns"])
    rows = read_rows(Path(rows_path))
    verdicts: list[dict[str, Any]] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        chunk = rows[start : start + ROWS_AT_ONCE]
        feeds = {column["input"]: tensor(column, [row.get(column["column"]) for row in chunk]) for column in columns}
        if rest:
            feeds["alpha"] = np.array(float(rest[0]), dtype=TYPES[facts["numbers"]])
        found = [values.tolist() for values in session.run(OUTPUTS, feeds)]
        verdicts += [dict(zip(OUTPUTS, row, strict=True)) for row in zip(*found, strict=True)]
    print(json.dumps(verdicts))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows as dicts, column by column."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)) if path.suffix == ".csv" else json.load(file)


def tensor(column: dict[str, str], values: list[Any]) -> np.ndarray[Any, Any]:
    """A column's values as its input takes them, (rows, 1); the model says what each kind of column is made of."""
    reading: dict[str, Callable[[Any], Any]] = {"number": float, "boolean": truth, "datetime": seconds, "category": str}
    read = reading[column["kind"]]
    missing = "" if column["type"] == "string" else float("nan")
    return np.array(
        [[missing if value in (None, "") else read(value)] for value in values], dtype=TYPES[column["type"]]
    )


def truth(value: Any) -> float:
    """1 for true and 0 for false, in words or numbers."""
    word = str(value).lower()
    return float(word == "true") if word in ("true", "false") else float(value)


def seconds(text: str) -> float:
    """A date or moment as seconds since 1970; without a zone it is taken as UTC."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


if __name__ == "__main__":
    main()
