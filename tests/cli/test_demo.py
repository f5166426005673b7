import json
import os
import re
import sys

import pandas as pd
import pytest

import gditd
from gditd.cli.tasks.demo import run as demo_run
from gditd.cli.tasks.demo import story
from gditd.cli.tasks.demo.tables import N_FEATURES, NEVER_SEEN, desk_tables
from gditd.cli.tasks.demo.words import in_words
from tests.cli.conftest import invoke
from tests.report.pages import read

FILES = ["disputes-new.csv", "disputes-train.csv", "disputes.gditd", "report.html", "verdicts.csv"]
ROWS = 1_500


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A demo's folder, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "my demo"
    result = invoke("demo", "--rows", ROWS, "--out", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    return folder, result.stdout


def flat(text):
    return " ".join(text.split())


def test_leaves_tables_model_verdicts_and_report(shown):
    folder, _ = shown
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert [path.name for path in folder.parent.iterdir()] == ["my demo"]
    train, new, verdicts = (
        pd.read_csv(folder / f"{name}.csv") for name in ("disputes-train", "disputes-new", "verdicts")
    )
    assert len(train) + len(new) == ROWS
    assert NEVER_SEEN not in set(train["kind"])
    assert set(new["kind"]) == {*train["kind"], NEVER_SEEN}
    assert verdicts[new.columns].equals(new)
    assert verdicts["reason"].notna().equals(verdicts["verdict"] == "OOD")
    assert set(gditd.load(folder / "disputes.gditd").classes_) == set(train["kind"])
    page = read(folder / "report.html")
    assert {"map", "alarms", "flagged"} < set(page.anchors)
    assert str(folder / "disputes-new.csv") in page.text


def test_the_kind_never_seen_is_caught_more_often_than_known_ones(shown):
    verdicts = pd.read_csv(shown[0] / "verdicts.csv")
    flagged = (verdicts["verdict"] == "OOD").groupby(verdicts["kind"]).mean()
    known = flagged.drop(NEVER_SEEN)
    assert flagged[NEVER_SEEN] > 0.1
    assert flagged[NEVER_SEEN] > 2 * known.max()


def test_tells_what_a_desk_wants_to_know(shown):
    folder, output = shown
    text = flat(output)
    verdicts = pd.read_csv(folder / "verdicts.csv")
    flagged = verdicts["verdict"] == "OOD"
    caught = int((flagged & (verdicts["kind"] == NEVER_SEEN)).sum())
    assert f"{flagged.sum():,} flagged OOD" in text
    assert f"Caught: {caught} of 75 disputes of the new kind" in text
    assert "labelled disputes (900 legitimate and 169 third-party fraud)" in text
    assert re.search(r"at most 5\.0% are flagged by mistake", text)
    strangest = verdicts[flagged]["ood_score"].idxmax() + 1
    assert re.search(rf"Row {strangest:,}, (a false alarm|rightly flagged): it really was", text)
    assert f"{folder}/report.html" in output


def test_what_it_says_to_type_works(shown, run):
    folder, output = shown
    commands = re.findall(r"^  gditd (explain|inspect) '(.+?)'(.*)$", output, flags=re.MULTILINE)
    assert [name for name, *_ in commands] == ["explain", "inspect"]
    for name, model, rest in commands:
        run(name, model, *(part.strip("'") for part in re.findall(r"'.+?'|\S+", rest)))
    again = folder.parent / "again.csv"
    run("predict", folder / "disputes.gditd", folder / "disputes-new.csv", "--explain", 3, "--out", again)
    assert again.read_bytes() == (folder / "verdicts.csv").read_bytes(), "predict gives the same verdicts"


def test_json_and_an_earlier_demo(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GDITD_VERIFY", "of-models-by-others.pub.pem")
    (tmp_path / "gditd-demo").mkdir()
    demo = ("demo", "--rows", 500, "--seed", 3)
    quiet = run(*demo, "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    (tmp_path / "gditd-demo" / "mine.txt").write_text("mine")
    first = (tmp_path / "gditd-demo" / "verdicts.csv").read_bytes()
    result = run(*demo, "--json")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert (tmp_path / "gditd-demo" / "verdicts.csv").read_bytes() == first, "the same seed gives the same demo"
    assert sorted(path.name for path in (tmp_path / "gditd-demo").iterdir()) == sorted([*FILES, "mine.txt"])
    assert document["files"]["report"] == "gditd-demo/report.html"
    assert (document["seed"], document["never_seen"]) == (3, NEVER_SEEN)
    assert (document["learned"]["rows"], document["evaluation"]["n_rows"]) == (356, 144)
    assert document["evaluation"]["unseen_classes"][0]["class"] == NEVER_SEEN
    assert document["flagged"] == (pd.read_csv("gditd-demo/verdicts.csv")["verdict"] == "OOD").sum()
    scores = [strange["ood_score"] for strange in document["strangest"]]
    assert scores == sorted(scores, reverse=True)
    assert any("calibrated together" in note for note in document["notes"])


def test_bad_input(fail, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "report.html").write_text("mine")
    assert "is a file: give the name of a folder" in fail("demo", "--out", "file")
    assert "is a file" in fail("demo", "--out", "link")
    assert "there is no folder no" in fail("demo", "--out", "no/demo")
    assert "files that are not the demo's" in fail("demo", "--out", "full")
    assert "--rows" in fail("demo", "--rows", 100)
    assert "--seed" in fail("demo", "--seed", -1)
    monkeypatch.setattr(os, "access", lambda *_: False)  # the superuser may write anywhere
    assert "no files can be written in ." in fail("demo")


def test_ctrl_c_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def interrupted(*_, **__):
        assert len(list(tmp_path.glob(".gditd-demo.*/*.csv"))) == 2
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_run, "learn", interrupted)
    result = invoke("demo", "--rows", 500, "--json")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted: no file was written\n")
    assert list(tmp_path.iterdir()) == []


def test_tables_have_the_shares_asked_for_and_words_for_every_column():
    train, new = (table.to_pandas() for table in desk_tables(1_000, seed=0))
    assert train["kind"].value_counts().to_dict() == {"legitimate": 600, "third-party fraud": 112}
    assert new["kind"].value_counts().to_dict() == {"legitimate": 200, "third-party fraud": 38, NEVER_SEEN: 50}
    assert len(train.columns) == N_FEATURES + 1
    words = [in_words(column) for column in train.columns[:-1]]
    assert len(set(words)) == N_FEATURES
    assert not any("_" in text or re.search(r"\b(30d|all)\b", text) for text in words)
    assert in_words("amount_sum_7d_atm") == "amount sum 7d atm"


def test_every_outcome_of_a_promise_is_told(capsys):
    known = {"class": "a", "rows": 100, "false_alarm_rate": 0.09, "promise": 0.05}
    figures = {
        "n_rows": 100 * len(story.OUTCOMES) + 10,
        "id_accuracy": 0.9,
        "classes": [known] * len(story.OUTCOMES),
        "unseen_classes": [{"class": NEVER_SEEN, "rows": 10, "ood_recall": 0.0}],
    }
    story.judged({"evaluation": figures, "flagged": 0}, list(story.OUTCOMES))
    story.reasons([])
    text = flat(capsys.readouterr().out)
    assert all(word in text for word in ("Within chance:", "Shared:", "Not kept:", "None was flagged"))
    assert "Caught: 0 of 10" in text


def test_the_program_is_named_as_the_shell_finds_it(tmp_path, monkeypatch):
    script = tmp_path / "bin dir" / "gditd"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert story.program() == f"'{script}'"
    monkeypatch.setenv("PATH", str(script.parent))
    assert story.program() == "gditd"
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert story.program() == "gditd"
