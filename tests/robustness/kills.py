"""Kill real commands with -9 at random moments, and look at what is left.

    python -m tests.robustness.kills fit --kills 50

Earlier outputs must be whole after every kill: the old file or the new one, never a part. The next run must get to the
same end as one that nobody disturbed, and clear away the temporary files of those that were killed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from tests.raw_tables import mixed_table

GDITD = [sys.executable, "-m", "gditd.cli"]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SPEEDS = ("fit_seconds", "score_rows_per_second")
NEAR = 0.02  # figures of networks that trained in other company differ by a row or two


@dataclass
class Tally:
    """What became of the kills."""

    kills: int = 0
    at_work: int = 0
    """Kills that came while the command ran; the others came too late."""
    while_writing: int = 0
    """Kills that left a temporary file."""
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        found = "; ".join(self.problems) or "all survived"
        return f"{self.kills} kills, {self.at_work} at work, {self.while_writing} while writing: {found}"


def run(*args: object, cwd: Path) -> None:
    """Run a command to its end."""
    done = subprocess.run(
        [*GDITD, *map(str, args)], cwd=cwd, env=environment(), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


def environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1"}


def start(*args: object, cwd: Path, program: Sequence[str] = GDITD) -> subprocess.Popen[bytes]:
    """Start a command in a group of its own, so that what it starts can be found and ended too."""
    return subprocess.Popen([*program, *map(str, args)], cwd=cwd, env=environment(), start_new_session=True, **QUIET)


def temporaries(folder: Path) -> list[Path]:
    """Temporary files and folders that are there, in the folder or one below it."""
    found = []
    with os.scandir(folder) as entries:  # the quickest way to look: a file is written in milliseconds
        for entry in entries:
            if entry.name.startswith(".") and entry.name.endswith(".tmp"):
                found.append(Path(entry.path))
            elif entry.is_dir():
                found += temporaries(Path(entry.path))
    return found


def kill_at_random(process: subprocess.Popen[bytes], folder: Path, usual: float, draw: random.Random) -> bool:
    """Kill at any moment, or as soon as something is being written; returns whether the command still ran."""
    deadline = time.monotonic() + draw.uniform(0.0, 1.05 * usual)
    wait_for_file = draw.random() < 0.6
    if wait_for_file:
        deadline = time.monotonic() + 3 * usual
    before = set(temporaries(folder))
    while process.poll() is None and time.monotonic() < deadline:
        if wait_for_file and set(temporaries(folder)) - before:
            time.sleep(draw.choice([0.0, 0.0, 0.002, 0.02, 0.2]))
            break
        time.sleep(0.0002)
    at_work = process.poll() is None
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)  # the command alone: its helpers must notice by themselves
    process.wait()
    return at_work


def wait_for_helpers(process: subprocess.Popen[bytes], seconds: float = 20.0) -> bool:
    """Whether all processes that a killed command had started end by themselves."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return False


def timed(*args: object, cwd: Path) -> float:
    """How long a command takes when nobody disturbs it."""
    started = time.monotonic()
    run(*args, cwd=cwd)
    return time.monotonic() - started


def training_table(folder: Path) -> None:
    table, labels = mixed_table((40, 60, 110))
    table.assign(label=labels).to_csv(folder / "train.csv", index=False)


FIT = ("fit", "train.csv", "--target", "label", "--preset", "fast", "--quiet")


def kill_one_file(folder: Path, command: tuple[object, ...], out: Path, kills: int, draw: random.Random) -> Tally:
    """Kill a command that replaces one file."""
    tally = Tally()
    old = out.read_bytes()
    usual = timed(*command, cwd=folder)
    new = out.read_bytes()
    assert old != new, "the test must be able to tell them apart"
    for _ in range(kills):
        out.write_bytes(old)
        process = start(*command, cwd=folder)
        tally.at_work += kill_at_random(process, folder, usual, draw)
        tally.kills += 1
        tally.while_writing += bool(temporaries(folder))
        if not wait_for_helpers(process):
            tally.problems.append("a helper outlived its command")
        if out.read_bytes() not in (old, new):
            tally.problems.append(f"{out.name} is neither the old nor the new file")
    run(*command, cwd=folder)
    if out.read_bytes() != new:
        tally.problems.append("the next run made another file")
    if temporaries(folder):
        tally.problems.append(f"left over after the next run: {[path.name for path in temporaries(folder)]}")
    return tally


def kill_fit(folder: Path, kills: int, draw: random.Random) -> Tally:
    """`gditd fit` that replaces a model."""
    training_table(folder)
    (folder / "m.gditd").write_text("the old model\n")
    return kill_one_file(folder, (*FIT, "--out", "m.gditd"), folder / "m.gditd", kills, draw)


# As the command line, but what was learned is kept after every epoch in the place of every ten seconds.
OFTEN = [
    sys.executable,
    "-c",
    "import gditd.checkpoint as c; c.SECONDS_BETWEEN = 0; from gditd.cli import main; main()",
]


def kill_resume(folder: Path, kills: int, draw: random.Random) -> Tally:
    """`gditd fit --resume` over and over: whatever came before, the end is the model of a fit that nobody stopped."""
    training_table(folder)
    usual = timed(*FIT, "--out", "unbroken.gditd", cwd=folder)
    expected = (folder / "unbroken.gditd").read_bytes()
    model, kept = folder / "m.gditd", folder / "m.gditd.checkpoint"
    tally = Tally()
    while tally.kills < kills:
        model.unlink(missing_ok=True)
        for _ in range(min(draw.randint(1, 6), kills - tally.kills)):
            process = start(*FIT, "--resume", "--out", model.name, cwd=folder, program=OFTEN)
            tally.at_work += kill_at_random(process, folder, usual, draw)
            tally.kills += 1
            tally.while_writing += bool(temporaries(folder))
            if model.exists() and model.read_bytes() != expected:
                tally.problems.append("a resumed fit came to another model")
        run(*FIT, "--resume", "--out", model.name, cwd=folder)
        if model.read_bytes() != expected:
            tally.problems.append("the last resumed fit came to another model")
        if kept.exists() or temporaries(folder):
            tally.problems.append("something is left over after the last fit")
    return tally


def kill_predict(folder: Path, kills: int, draw: random.Random) -> Tally:
    """`gditd predict --out` that replaces verdicts, with a helper process."""
    training_table(folder)
    run(*FIT, "--out", "m.gditd", cwd=folder)
    head, *rows = (folder / "train.csv").read_text().splitlines(keepends=True)
    (folder / "new.csv").write_text(head + "".join(rows) * 600)
    (folder / "v.csv").write_text("the old verdicts\n")
    command = ("predict", "m.gditd", "new.csv", "--workers", "2", "--quiet", "--out", "v.csv")
    return kill_one_file(folder, command, folder / "v.csv", kills, draw)


def bench_figures(folder: Path) -> pd.Series:
    """The results but for the times, which differ from run to run."""
    results = pd.read_csv(folder / "results.csv")
    results = results[~results["metric"].isin(SPEEDS)]
    return results.set_index(["method", "fold", "metric"])["value"].sort_index()


def kill_bench(folder: Path, kills: int, draw: random.Random) -> Tally:
    """`gditd bench` over and over, in a folder that is emptied now and then."""
    table, labels = mixed_table((40, 60, 80))
    labels[::9] = "alien"
    table.assign(label=labels).to_csv(folder / "cases.csv", index=False)
    command = ("bench", "cases.csv", "--target", "label", "--ood-class", "alien", "--folds", "3", "--epochs", "2")
    command += ("--methods", "softmax,extra-trees,gditd-paper", "--workers", "2", "--quiet", "--out")
    usual = timed(*command, "unbroken", cwd=folder)
    expected = bench_figures(folder / "unbroken")
    tally = Tally()
    while tally.kills < kills:
        shutil.rmtree(folder / "killed", ignore_errors=True)
        for _ in range(min(draw.randint(1, 6), kills - tally.kills)):
            process = start(*command, "killed", cwd=folder)
            tally.at_work += kill_at_random(process, folder, usual, draw)
            tally.kills += 1
            tally.while_writing += bool(temporaries(folder))
            if not wait_for_helpers(process):
                tally.problems.append("a worker outlived its command")
        run(*command, "killed", cwd=folder)
        found = bench_figures(folder / "killed")
        if list(found.index) != list(expected.index) or not ((found - expected).abs().fillna(0) <= NEAR).all():
            tally.problems.append("the resumed run came to another table")
        if temporaries(folder):
            tally.problems.append(f"left over after the next run: {[path.name for path in temporaries(folder)]}")
    return tally


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`gditd serve` of m.gditd, and its port."""
    process = subprocess.Popen(
        [*GDITD, "serve", "m.gditd", "--port", "0", "--quiet"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        assert found, "the service did not start"
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait()


def verdict_of(port: int, row: dict[str, object]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/predict", json.dumps({"rows": [row]}), {"content-type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return str(answer["verdicts"][0]["ood_score"])


def kill_serve(folder: Path, kills: int, draw: random.Random) -> Tally:
    """`gditd serve` while it reloads a model that was replaced: the next start must answer by the new one."""
    training_table(folder)
    models = []
    for seed in (1, 2):
        run(*FIT, "--seed", seed, "--out", "m.gditd", cwd=folder)
        models.append((folder / "m.gditd").read_bytes())
    row = {"amount": 4.0, "items": 3, "region": "north", "member": True, "day": "2024-03-01", "gap": 0.5}
    tally, scores = Tally(), {}
    for number in range(kills):
        content = models[number % 2]
        with serving(folder) as (process, port):
            shown = (folder / "m.gditd").read_bytes()
            score = verdict_of(port, row)
            if scores.setdefault(shown, score) != score:
                tally.problems.append("the restarted service answers otherwise than before")
            (folder / "next").write_bytes(content)
            (folder / "next").replace(folder / "m.gditd")
            process.send_signal(signal.SIGHUP)
            time.sleep(draw.uniform(0.0, 0.4))
            tally.at_work += process.poll() is None
            tally.kills += 1
        if (folder / "m.gditd").read_bytes() != content:
            tally.problems.append("the model file was touched")
        if temporaries(folder):
            tally.problems.append("a temporary file is left over")
    return tally


SCENARIOS = {"fit": kill_fit, "resume": kill_resume, "predict": kill_predict, "bench": kill_bench, "serve": kill_serve}


def survived(name: str, kills: int, seed: int) -> Tally:
    """Do one scenario in a folder of its own."""
    with TemporaryDirectory() as folder:
        return SCENARIOS[name](Path(folder), kills, random.Random(seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", choices=[*SCENARIOS, "all"])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    failed = False
    for name in SCENARIOS if asked.scenario == "all" else [asked.scenario]:
        tally = survived(name, asked.kills, asked.seed)
        failed |= bool(tally.problems)
        print(f"{name}: {tally}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
