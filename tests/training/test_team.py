"""Two real processes train as one does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gditd
from gditd.training.team import Share, Team, current_team, leads
from tests.raw_tables import mixed_table

ROOT = Path(__file__).parents[2]
WORKER = "tests.training.team_worker"
Found = dict[str, dict[str, Any]]

pytestmark = pytest.mark.xdist_group("team")  # its processes train once for all of them


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*words: object, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def two_processes(*words: object) -> subprocess.CompletedProcess[str]:
    address = ("--nproc-per-node", 2, "--master-addr", "127.0.0.1", "--master-port", free_port())
    return run("torch.distributed.run", *address, "-m", *words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("team")
    run(WORKER, folder / "one")
    two_processes(WORKER, folder / "two")
    return folder


@pytest.fixture(scope="module")
def one(folder: Path) -> Found:
    return dict(json.loads((folder / "one.0.json").read_text()))


@pytest.fixture(scope="module")
def two(folder: Path) -> list[Found]:
    return [json.loads((folder / f"two.{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("case", ["closed form", "autograd", "stopping", "tiny batches", "classifier"])
def test_two_processes_take_the_steps_of_one(case: str, one: Found, two: list[Found]) -> None:
    assert two[0][case] == two[1][case], "both end with the same model"
    np.testing.assert_allclose(two[0][case]["losses"], one[case]["losses"], rtol=1e-4)
    if "zeta" in one[case]:
        np.testing.assert_allclose(two[0][case]["zeta"], one[case]["zeta"], rtol=1e-3, atol=1e-2)


def test_the_model_gives_the_same_verdicts(folder: Path, one: Found, two: list[Found]) -> None:
    same = np.array(one["classifier"]["verdicts"]) == np.array(two[0]["classifier"]["verdicts"])
    assert same.mean() > 0.99
    np.testing.assert_allclose(two[0]["classifier"]["p_values"], one["classifier"]["p_values"], atol=0.05)
    assert sorted(path.name for path in folder.glob("*.gditd")) == ["one.0.gditd", "two.0.gditd"], "one writes"
    table, _ = mixed_table((70, 80, 110))
    verdicts = gditd.load(folder / "two.0.gditd").verdict(table)["verdict"].tolist()
    assert verdicts == two[0]["classifier"]["verdicts"]


def test_a_network_that_looks_across_the_batch_sees_its_own_share(one: Found, two: list[Found]) -> None:
    assert two[0]["batch norm"] == two[1]["batch norm"]
    np.testing.assert_allclose(two[0]["batch norm"]["losses"], one["batch norm"]["losses"], rtol=0.2)


def test_different_tables_or_seeds_are_refused(two: list[Found]) -> None:
    for found in two:
        assert "process 1 of 2 has other rows or another random_state" in found["different seeds"]["error"]


def test_processes_can_train_alone(one: Found, two: list[Found]) -> None:
    assert two[0]["alone"] == one["alone"]
    assert two[1]["alone"] != one["alone"]


def test_the_command_line_writes_once_and_talks_once(tmp_path: Path) -> None:
    table, labels = mixed_table((70, 80, 110))
    table.assign(label=labels).to_csv(tmp_path / "train.csv", index=False)
    fit = ("gditd.cli", "fit", tmp_path / "train.csv", "--target", "label", "--preset", "fast", "--json")
    document = json.loads(two_processes(*fit, "--out", tmp_path / "m.gditd").stdout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.gditd", "train.csv"]
    alone = gditd.GDITDClassifier(preset="fast", random_state=0).fit(table, labels)
    assert document["classes"] == alone.summary()["classes"]
    together = gditd.load(tmp_path / "m.gditd")
    assert (together.verdict(table)["verdict"] == alone.verdict(table)["verdict"]).mean() > 0.97


def test_one_process_divides_nothing() -> None:
    assert current_team() == Team()
    assert leads()
    embedding = torch.randn(2, 7, 3)
    share = Team().divide(7)
    assert share.own == slice(0, 7)
    assert share.gathered(embedding) is embedding


@pytest.mark.parametrize("n_rows", [4, 5, 6, 7, 200])
def test_shares_cover_a_batch(n_rows: int) -> None:
    shares = [Team(rank, 2).divide(n_rows) for rank in range(2)]
    rows = [row for share in shares for row in range(n_rows)[share.own]]
    assert rows == list(range(n_rows))


def test_a_batch_too_small_to_share_is_everyones() -> None:
    assert Team(2, 4).divide(7) == Share(7, [0, 7])
