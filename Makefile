PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

export OMP_NUM_THREADS = 1

.PHONY: demo test lint types unit torture bench bench-detection docs examples audit sbom clean

demo: $(STAMP)
	$(BIN)/gditd demo

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/pytest -n $(JOBS) --dist loadgroup

# Hours of hostile files, odd tables and kills, where `unit` tries seconds of them.
torture: $(STAMP)
	GDITD_TORTURE=1 $(BIN)/pytest tests/robustness

bench: $(STAMP)
	$(BIN)/python benchmarks/training_speed.py

bench-detection: $(STAMP)
	$(BIN)/python benchmarks/detection.py --cells docs/results/detection.csv --out docs/results/detection.md

# The documentation as pages in site/. The variable silences a notice of the theme about mkdocs 2.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Run the examples and put what they print into their pages; GDITD_DATA names the folder with the data sets.
examples: $(STAMP)
	$(BIN)/python docs/making/examples.py

# Known vulnerabilities and licences of what is installed; says so where it cannot look them up.
audit: $(STAMP)
	$(BIN)/python tools/supply_chain.py audit

# A bill of materials of what is installed: build/sbom.cdx.json.
sbom: $(STAMP)
	$(BIN)/python tools/supply_chain.py sbom

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache

# torch first and alone: constraints.txt pins the build, and nothing later may pull another.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,bench,plot,serve,sign,onnx,docs]'
	touch $@
