"""Two models, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.model_file.estimators import forest, network_detector, rows


@pytest.fixture(scope="session")
def fitted() -> dict[str, Any]:
    x, codes = rows()
    return {"network": network_detector().fit(x, codes), "forest": forest().fit(x, codes)}


@pytest.fixture
def network_file(fitted: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "network.gditd"
    fitted["network"].save(path)
    return path


@pytest.fixture
def forest_file(fitted: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "forest.gditd"
    fitted["forest"].save(path)
    return path
