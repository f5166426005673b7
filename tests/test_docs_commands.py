"""Every `gditd` line in the README and in docs/ is one that the real command line takes, and most of them run.

The app itself parses the lines of `console` and `sh` blocks, so every command, option and value must exist. Those that
take a moment are then run on prepared tables, page by page and in order. Commands in running text may be cut short, so
of these only the names of command and options are looked up.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

from docs.making.commands import reference
from gditd import presets
from gditd.bench import method_names
from gditd.cli import app
from tests.cli.conftest import invoke
from tests.test_docs import run_page

ROOT = Path(__file__).parents[1]
GROUP: Any = typer.main.get_command(app)
# The others take minutes, or never end.
RUN = ("fit", "predict", "evaluate", "explain", "inspect", "export", "synthesize", "sign", "keygen")

BLOCK = re.compile(r"^ *```(?:console|sh|bash)\n([\s\S]*?)^ *```$", flags=re.MULTILINE)
FENCED = re.compile(r"^ *```[\s\S]*?^ *```$", flags=re.MULTILINE)
INLINE = re.compile(r"`(gditd [^`]+)`")
REDIRECTION = re.compile(r"\s2?>>?\s*\S+")
ASSIGNMENT = re.compile(r"^(?:\w+=(?:\$\([^)]*\)|\S*) )+")

Argv = list[str]


def shell_lines(text: str) -> Iterator[str]:
    """What is typed in the blocks of a page: lines after `$ `, or all lines of a block without such."""
    for found in BLOCK.finditer(text):
        lines = found[1].replace("\\\n", " ").splitlines()
        typed = [line.strip()[2:] for line in lines if line.strip().startswith("$ ")]
        yield from typed or [line.strip() for line in lines]


def gditd_commands(line: str) -> Iterator[Argv]:
    """What follows `gditd` in each part of a pipe; variables in front and redirections behind are the shell's."""
    for part in line.split("|"):
        bare = ASSIGNMENT.sub("", part.strip())
        if bare.startswith("gditd "):
            yield shlex.split(REDIRECTION.sub("", bare), comments=True)[1:]


def commands_of(text: str) -> list[Argv]:
    """Every command in the blocks of a page, in order."""
    return [argv for line in shell_lines(text) for argv in gditd_commands(line)]


def parse(argv: Argv) -> None:
    """Let the command read its arguments, without running it; a usage error says what is wrong."""
    if argv[0] not in GROUP.commands:
        raise AssertionError(f"there is no command gditd {argv[0]}")
    context = GROUP.commands[argv[0]].make_context(argv[0], list(argv[1:]))
    known = {*method_names(), "gditd"}
    for name in (context.params.get("methods") or "gditd").split(","):
        assert name in known or name.startswith("pyod:"), f"there is no method {name}"


def look_up(text: str) -> None:
    """Check the names of command and options only."""
    command, *rest = text.split()[1:]
    options = {option for param in GROUP.params for option in param.opts} | {"--help", "--install-completion"}
    if command in GROUP.commands:
        params = GROUP.commands[command].params
        options = {option for param in params for option in [*param.opts, *param.secondary_opts]} | {"--help"}
    else:
        assert command in options or command.isupper(), f"there is no command gditd {command}"
    for word in rest:
        assert not word.startswith("--") or word in options, f"gditd {command} has no option {word}"


def pages() -> dict[str, str]:
    """The text of every page, the reference as it is made for the site."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in found}
    return texts | {"the command reference": reference()}


def quick(argv: Argv) -> bool:
    """Whether a command takes a moment. Spark has tests of its own, which share one start of it."""
    return argv[0] in RUN and "spark" not in argv


PAGES = pages()
COMMANDS = {name: commands for name, text in PAGES.items() if (commands := commands_of(text))}
RUNNING = {
    name: running
    for name, commands in COMMANDS.items()
    if name != "the command reference" and (running := [argv for argv in commands if quick(argv)])
}


@pytest.mark.parametrize("page", COMMANDS)
def test_commands_in_blocks_are_understood(page: str) -> None:
    for argv in COMMANDS[page]:
        try:
            parse(argv)
        except Exception as error:
            raise AssertionError(f"{page}: gditd {shlex.join(argv)}: {error}") from error


def test_commands_in_running_text_exist() -> None:
    for page, text in PAGES.items():
        for found in INLINE.findall(FENCED.sub("", text)):
            try:
                look_up(found)
            except AssertionError as error:
                raise AssertionError(f"{page}: {error}") from None


def test_the_reference_has_every_command() -> None:
    headings = re.findall(r"^## gditd (\w+)$", PAGES["the command reference"], flags=re.MULTILINE)
    assert headings == list(GROUP.commands)
    for name, command in GROUP.commands.items():
        section = PAGES["the command reference"].split(f"## gditd {name}\n")[1].split("\n## ")[0]
        for param in command.params:
            assert param.help in section
            assert param.opts[0] in section or param.metavar in section


# --- running them ---


def cases(n: int, seed: int) -> pd.DataFrame:
    """Rows with every column that the pages speak of; what tells the kinds apart is `amount`."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["refund", "fraud", "mule"], n, p=[0.6, 0.25, 0.15])
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "name": [f"customer {seed}-{row}" for row in range(n)],
            "card_number": rng.integers(10**8, size=n),
            "amount": np.round(
                pd.Series(kind).map({"refund": 20.0, "fraud": 60.0, "mule": 100.0}) + rng.normal(size=n), 2
            ),
            "visits": rng.poisson(4, n),
            "city": rng.choice(["Bonn", "Ulm", "Jena"], n),
            "kind": kind,
        }
    )


def parts(n: int, seed: int) -> pd.DataFrame:
    """The parts of the README and of the command line's page; one calls their label kind, the other state."""
    made = cases(n, seed)[["amount", "visits", "city", "kind"]]
    return made.assign(state=made["kind"].map({"refund": "good", "fraud": "worn", "mule": "broken"}))


@pytest.fixture
def quick_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a command runs does not depend on how long it trains."""
    for name, settings in presets.PRESETS.items():
        monkeypatch.setitem(
            presets.PRESETS, name, replace(settings, max_epochs=3, n_members=min(settings.n_members, 2))
        )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_presets: None) -> Path:
    """A folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    parts(240, seed=0).to_csv("parts.csv", index=False)
    parts(60, seed=1).to_csv("test.csv", index=False)
    parts(20, seed=2).to_csv("new.csv", index=False)
    cases(240, seed=3).to_csv("cases.csv", index=False)
    cases(240, seed=3).to_parquet("cases.parquet")
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", RUNNING)
def test_commands_in_blocks_run(page: str, folder: Path) -> None:
    if RUNNING[page][0][0] != "fit":
        assert invoke("fit", "parts.csv", "--target", "state").exit_code == 0
    for argv in RUNNING[page]:
        result = invoke(*argv, stdin=Path("new.csv").read_text() if "-" in argv else None)
        assert result.exit_code == 0, f"{page}: gditd {shlex.join(argv)}: {result.stderr}"
        for option in ("--out", "--report"):
            if option in argv:
                written = folder / argv[argv.index(option) + 1]
                assert written.is_file(), f"{page}: gditd {shlex.join(argv)} wrote no {written.name}"


@pytest.mark.filterwarnings("ignore")
def test_the_readme_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_presets: None) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("README.md", PAGES["README.md"])
    for argv in RUNNING["README.md"]:
        result = invoke(*argv)
        assert result.exit_code == 0, f"gditd {shlex.join(argv)}: {result.stderr}"


# --- make and scripts ---


def test_make_targets_and_scripts_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for page, text in PAGES.items():
        for target in re.findall(r"(?:^|`)make ([a-z-]+)\b", text, flags=re.MULTILINE):
            assert target in targets, f"{page}: there is no make {target}"
        for script in re.findall(r"\bpython ((?:benchmarks|examples|docs)/\S+\.py)", text):
            assert (ROOT / script).is_file(), f"{page}: there is no {script}"


# --- the tests of the tests ---


EXAMPLE = """
Run `gditd fit --report` now.

```console
$ KEY=$(openssl rand) gditd serve m.gditd --port 0   # a remark
Serving gditd fit
$ zcat new.csv.gz | gditd predict m.gditd - \\
    --quiet | grep OOD > found.csv
```
```sh
gditd inspect m.gditd --json > "out.json"
```
```text
$ gditd nothing
```
"""


def test_finds_what_is_typed() -> None:
    assert commands_of(EXAMPLE) == [
        ["serve", "m.gditd", "--port", "0"],
        ["predict", "m.gditd", "-", "--quiet"],
        ["inspect", "m.gditd", "--json"],
    ]
    assert INLINE.findall(FENCED.sub("", EXAMPLE)) == ["gditd fit --report"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("gditd fitt parts.csv --target state", "there is no command gditd fitt"),
        ("gditd fit parts.csv", "target"),
        ("gditd fit parts.csv --target state --sed 1", "--sed"),
        ("gditd fit parts.csv --target state --preset slow", "slow"),
        ("gditd bench gas --methods gditd,extratrees", "there is no method extratrees"),
        ("gditd inspect a.gditd b.gditd", "b.gditd"),
    ],
)
def test_lies_are_found(line: str, complaint: str) -> None:
    (argv,) = gditd_commands(line)
    with pytest.raises(Exception, match=complaint):
        parse(argv)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("gditd fitt", "no command gditd fitt"), ("gditd fit --reports x.html", "gditd fit has no option --reports")],
)
def test_lies_in_running_text_are_found(text: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        look_up(text)
