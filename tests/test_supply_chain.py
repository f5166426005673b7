"""What `make audit` makes of what it finds, and that every dependency has bounds."""

import re
import tomllib
from pathlib import Path

import pytest

from tools.supply_chain import tell_findings, to_look_at

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("licence", "look"),
    [
        ("MIT", False),
        ("BSD-3-Clause AND MIT AND GPL-3.0-or-later WITH GCC-exception-3.1", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("GPL-3.0-only", True),
        ("AGPL-3.0", True),
        ("UNKNOWN", True),
    ],
)
def test_licences_to_look_at(licence, look):
    assert to_look_at(licence) is look


def test_findings_are_told_and_fail(capsys):
    known = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}
    clean, unknown = {"name": "b", "version": "1", "vulns": []}, {"name": "c", "skip_reason": "not found"}
    assert tell_findings({"dependencies": [known, clean, unknown]}) == 1
    said = capsys.readouterr().out
    assert "VULNERABLE  a 1: CVE-1 (fixed in 2)" in said
    assert "not looked up: c" in said
    assert "1 of 2 packages have known ones" in said
    assert tell_findings({"dependencies": [clean]}) == 0


def test_a_list_that_cannot_be_reached_is_no_all_clear(capsys):
    assert tell_findings({"dependencies": [{"name": "c", "skip_reason": "not found"}]}) == 0
    assert "skipped" in capsys.readouterr().out


def test_every_dependency_has_a_lower_and_an_upper_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [needed for extra in project["optional-dependencies"].values() for needed in extra]
    for needed in [*project["dependencies"], *extras]:
        assert re.search(r">=[\d.]+,<[\d.]+$", needed), needed
