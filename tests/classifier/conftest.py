"""A table of mixed columns, and models that learned it."""

from __future__ import annotations

import pytest

from tests.raw_tables import mixed_table, trained


@pytest.fixture(scope="session")
def table():
    return mixed_table()


@pytest.fixture(scope="session")
def fitted(table):
    return trained().fit(*table)


@pytest.fixture(scope="session")
def forgiving(table):
    return trained(on_error="ood").fit(*table)


@pytest.fixture
def strange_rows(table):
    """Rows far from every class."""
    frame = table[0].iloc[:30].copy()
    frame["amount"] = 1e4
    frame["gap"] = -1e4
    return frame
