"""The comparison of detection.py on any tables: CSV files, each with a column that names the class.

The first four classes by name that have at least 8 rows play the unknown one, in turn; fold 1 of 5, at most 5,000 rows,
one other class whole or thinned to a tenth. The same rows and seeds for every method. Results are kept as they come: a
stopped run goes on where it was.

    python benchmarks/other_tables.py FILE... [--target NAME] [--results DIR] [--methods a,b] [--cells FILE]
        [--out FILE] [--json] [--workers N]
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv

import detection
from gditd.bench import Experiment
from report import Results, parser_for

MOST_UNKNOWN = 4
FEWEST_ROWS = 8  # of a class that plays the unknown one
MOST_ROWS = 5_000


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--target", default="class", help="the column that names the class")
    detection.add_options(parser, results=Path("results/other-tables"))
    arguments = parser.parse_args()
    methods = tuple(arguments.methods.split(","))
    measured = detection.run(
        [experiment(file, arguments.target, methods) for file in arguments.files],
        results=arguments.results,
        workers=arguments.workers,
        data=None,
    )
    measured["dataset"] = measured["dataset"].map(lambda file: Path(file).stem)
    detection.keep_and_report(measured, as_markdown, arguments)


def experiment(file: Path, target: str, methods: tuple[str, ...]) -> Experiment:
    """The cells of one table."""
    as_text = pa.csv.ConvertOptions(include_columns=[target], column_types={target: pa.string()})
    counts = pa.csv.read_csv(file, convert_options=as_text)[target].value_counts().to_pylist()
    large = sorted(one["values"] for one in counts if one["counts"] >= FEWEST_ROWS)
    return Experiment(
        dataset=str(file),
        target=target,
        methods=methods,
        mdsr=(1.0, 0.1),
        only_folds=(1,),
        ood_classes=tuple(large[:MOST_UNKNOWN]),
        max_rows=MOST_ROWS,
    )


def as_markdown(results: Results) -> str:
    """The whole page."""
    return detection.page("Tables from elsewhere", results, made_by="benchmarks/other_tables.py")


if __name__ == "__main__":
    main()
