"""`gditd serve` before it serves: what is refused, and what reaches the settings."""

from typer.testing import CliRunner

import gditd.cli.tasks.serve as task
from gditd.cli import app


def refused(*args):
    result = CliRunner().invoke(app, ["serve", *map(str, args)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_refusals(model_file, tmp_path):
    assert "there is no file or folder" in refused(tmp_path / "nothing.gditd")
    assert "--port" in refused(model_file, "--port", 70_000)
    assert "key is empty" in refused(model_file, "--api-key", " ")
    assert "nowhere.invalid" in refused(model_file, "--host", "nowhere.invalid")


def test_a_missing_extra(model_file, monkeypatch):
    monkeypatch.setattr(task, "find_spec", lambda name: None)
    assert refused(model_file) == 'error: gditd serve needs: pip install "gditd[serve]"\n'


def test_settings(model_file, monkeypatch):
    started = {}
    monkeypatch.setattr("gditd.serve.run.serve", lambda settings, **place: started.update(settings=settings, **place))
    monkeypatch.setenv("GDITD_API_KEY", "from-the-environment")
    result = CliRunner().invoke(
        app, ["serve", str(model_file), "--port", "0", "--max-body", "2.5", "--max-rows", "7", "--timeout", "3"]
    )
    assert result.exit_code == 0, result.stderr
    settings = started["settings"]
    assert (started["host"], started["port"], settings.models) == ("127.0.0.1", 0, (model_file,))
    assert (settings.api_key, settings.max_body, settings.max_rows) == ("from-the-environment", 2_500_000, 7)
    assert (settings.timeout, settings.max_waiting, settings.quiet) == (3.0, 256, False)


def test_help_does_not_show_the_key(monkeypatch):
    monkeypatch.setenv("GDITD_API_KEY", "hush")
    result = CliRunner().invoke(app, ["serve", "--help"])
    assert result.exit_code == 0
    assert "hush" not in result.stdout


def test_defaults_agree_with_the_settings(model_file, monkeypatch):
    from gditd.serve.settings import Settings

    started = {}
    monkeypatch.setattr("gditd.serve.run.serve", lambda settings, **place: started.update(settings=settings))
    monkeypatch.delenv("GDITD_API_KEY", raising=False)
    assert CliRunner().invoke(app, ["serve", str(model_file)]).exit_code == 0
    assert started["settings"] == Settings((model_file,))
