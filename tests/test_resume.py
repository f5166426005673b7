"""A fit that was stopped, through the estimator and through the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gditd import GDITDClassifier, checkpoint
from gditd.cli.tasks import fit as fit_task
from gditd.training import Progress
from tests.cli.conftest import invoke
from tests.raw_tables import mixed_table


class Stopped(BaseException):
    """Somebody stopped the fit."""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is learned after every epoch."""
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)


def stop_in_epoch_3(progress: Progress) -> None:
    if progress.epoch == 3:
        raise Stopped


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("preset", ["default", "fast", "paper"])
def test_an_estimator_goes_on_to_the_same_model(preset: str, tmp_path: Path) -> None:
    table, labels = mixed_table((40, 50, 60))
    settings = {"preset": preset, "random_state": 3, "max_epochs": 6}
    kept = tmp_path / "kept"
    with pytest.raises(Stopped):
        GDITDClassifier(**settings, progress=stop_in_epoch_3).fit(table, labels, checkpoint=kept)
    assert kept.exists()
    epochs: list[int] = []
    resumed = GDITDClassifier(**settings, progress=lambda progress: epochs.append(progress.epoch))
    resumed.fit(table, labels, checkpoint=kept)
    assert epochs[0] == 3, "it did not begin anew"
    assert not kept.exists()
    resumed.save(tmp_path / "resumed.gditd")
    GDITDClassifier(**settings).fit(table, labels).save(tmp_path / "unbroken.gditd")
    assert (tmp_path / "resumed.gditd").read_bytes() == (tmp_path / "unbroken.gditd").read_bytes()


def test_chance_cannot_be_gone_on_from(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint needs a whole number as random_state"):
        GDITDClassifier().fit(np.zeros((4, 1)), [0, 0, 1, 1], checkpoint=tmp_path / "kept")


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A command that fits."""
    monkeypatch.chdir(tmp_path)
    table, labels = mixed_table((40, 50, 60))
    table.assign(label=labels).to_csv("train.csv", index=False)
    return ("fit", "train.csv", "--target", "label", "--preset", "fast")


def interrupted(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, epoch: int = 3) -> str:
    """Press Ctrl-C in an epoch; what the command says."""

    def learn(*args: object, **settings: object) -> GDITDClassifier:
        def press(done: int, *_: object) -> None:
            if done == epoch:
                raise KeyboardInterrupt

        return original(args[0], args[1], press, *args[3:], **settings)

    original = fit_task.learn
    with monkeypatch.context() as patched:
        patched.setattr(fit_task, "learn", learn)
        result = invoke(*command)
    assert (result.exit_code, result.stdout) == (130, "")
    return result.stderr


@pytest.mark.usefixtures("at_once")
def test_the_same_command_goes_on(train: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    said = interrupted(train, monkeypatch)
    assert "the same command with --resume goes on from train.gditd.checkpoint" in said
    result = invoke(*train, "--resume")
    assert result.stderr == "going on from train.gditd.checkpoint\n"
    resumed = Path("train.gditd").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["train.csv", "train.gditd"]
    assert invoke(*train).exit_code == 0
    assert Path("train.gditd").read_bytes() == resumed


@pytest.mark.usefixtures("at_once")
def test_another_command_does_not(train: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(train, monkeypatch)
    result = invoke(*train, "--resume", "--seed", "1")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("error: cannot go on from train.gditd.checkpoint: ")
    assert invoke(*train, "--seed", "1").exit_code == 0, "without --resume it begins anew"
    assert sorted(path.name for path in Path().iterdir()) == ["train.csv", "train.gditd"]


def test_where_nothing_was_kept_it_begins_anew(train: tuple[str, ...]) -> None:
    result = invoke(*train, "--resume")
    assert result.exit_code == 0
    assert result.stderr == "there is no train.gditd.checkpoint to go on from: beginning anew\n"


def test_diverging_training_is_bad_input_and_writes_nothing(
    train: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = fit_task.GDITDClassifier
    monkeypatch.setattr(fit_task, "GDITDClassifier", lambda **settings: original(**settings, learning_rate=1e30))
    result = invoke(*train)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: training diverged: the loss of member ")
    assert "try a smaller learning_rate" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["train.csv"]
