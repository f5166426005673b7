"""Keys and signatures on the command line: --verify wherever a model is loaded."""

import os
import re
import shutil
import stat
import subprocess

import pytest

from gditd.cli.trust import VARIABLE, only_signed_by
from tests.cli.conftest import invoke

pytest.importorskip("cryptography", reason='needs cryptography: pip install "gditd[sign]"')


@pytest.fixture(scope="module")
def keyring(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keyring")
    for name in ("ours", "theirs"):
        assert invoke("keygen", folder / name).exit_code == 0
    return folder


@pytest.fixture
def signed(folder, keyring, run, tmp_path):
    run("sign", folder / "model.gditd", "--key", keyring / "ours.key.pem", "--out", tmp_path / "signed.gditd")
    return tmp_path / "signed.gditd"


def commands(folder, model):
    return [
        ("predict", model, folder / "test.csv", "--quiet"),
        ("evaluate", model, folder / "test.csv", "--target", "label"),
        ("explain", model, folder / "test.csv", "--rows", "1"),
        ("inspect", model),
        ("inspect", model, "--privacy"),
    ]


def test_every_command_that_loads_a_model_verifies(folder, signed, keyring, run, fail):
    for command in commands(folder, signed):
        run(*command, "--verify", keyring / "ours.pub.pem")
        assert "signed with another key" in fail(*command, "--verify", keyring / "theirs.pub.pem")
    for command in commands(folder, folder / "model.gditd"):
        run(*command)
        assert "it is not signed" in fail(*command, "--verify", keyring / "ours.pub.pem")


def test_serve_verifies_too(folder, signed, keyring, fail):
    serve = ("serve", folder / "model.gditd", "--port", "0")
    assert "it is not signed" in fail(*serve, "--verify", keyring / "ours.pub.pem")
    assert "signed with another key" in fail("serve", signed, "--port", "0", "--verify", keyring / "theirs.pub.pem")


def test_a_reload_takes_no_model_that_is_not_signed(folder, signed, keyring):
    models = pytest.importorskip("gditd.serve.models", reason="needs FastAPI")
    with only_signed_by(keyring / "ours.pub.pem"):
        registry = models.Registry((signed,))
        registry.load()
        before = registry.all()
        shutil.copy(folder / "model.gditd", signed)
        assert "it is not signed" in registry.reload().failures["signed"]
        assert registry.all() == before, "the old model stays"


def test_the_environment_asks_for_it_once_and_for_all(signed, keyring, run, fail, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(keyring / "theirs.pub.pem"))
    assert "signed with another key" in fail("inspect", signed)
    run("inspect", signed, "--verify", keyring / "ours.pub.pem")
    assert os.environ[VARIABLE] == str(keyring / "theirs.pub.pem"), "an option is of one command only"


def test_verifying_leaves_nothing_behind(signed, keyring, run):
    run("inspect", signed, "--verify", keyring / "ours.pub.pem")
    assert VARIABLE not in os.environ


def test_inspect_says_who_signed(folder, signed, keyring, run):
    assert "Not signed." in run("inspect", folder / "model.gditd").stdout
    assert "by its own account" in run("inspect", signed).stdout
    assert re.search(
        r"Signed with the key [0-9a-f]{16}, verified",
        run("inspect", signed, "--verify", keyring / "ours.pub.pem").stdout,
    )


def test_fit_signs(folder, keyring, run, fail, tmp_path):
    fit = ("fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--quiet")
    run(*fit, "--out", tmp_path / "m.gditd", "--sign", keyring / "ours.key.pem")
    run("inspect", tmp_path / "m.gditd", "--verify", keyring / "ours.pub.pem")
    assert "no private key" in fail(*fit, "--out", "other.gditd", "--sign", keyring / "ours.pub.pem")


def test_sign_in_place_replaces_a_signature(signed, keyring, run):
    assert re.search(
        r"is signed with the key [0-9a-f]{16}", run("sign", signed, "--key", keyring / "theirs.key.pem").stdout
    )
    run("inspect", signed, "--verify", keyring / "theirs.pub.pem")
    assert [path.name for path in signed.parent.iterdir()] == ["signed.gditd"]


def test_no_key_is_written_over(folder, keyring, run, fail, tmp_path):
    key = tmp_path / "k.key.pem"
    shutil.copy(keyring / "ours.key.pem", key)
    before = key.read_bytes()
    fit = ("fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--quiet", "--sign", key)
    for command in (("sign", folder / "model.gditd", "--key", key), fit):
        assert f"--out {key} would replace the input {key}" in fail(*command, "--out", key)
        assert key.read_bytes() == before


def test_keygen(run, fail, tmp_path):
    run("keygen", tmp_path / "k")
    assert stat.S_IMODE((tmp_path / "k.key.pem").stat().st_mode) == 0o600
    assert (tmp_path / "k.pub.pem").read_text().startswith("-----BEGIN PUBLIC KEY-----")
    before = (tmp_path / "k.key.pem").read_bytes()
    assert "is there already" in fail("keygen", tmp_path / "k")
    assert (tmp_path / "k.key.pem").read_bytes() == before
    assert "there is no folder" in fail("keygen", tmp_path / "no" / "k")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_keys_of_openssl_work(folder, run, tmp_path):
    private, public = tmp_path / "o.key.pem", tmp_path / "o.pub.pem"
    made = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("this openssl has no Ed25519")
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    run("sign", folder / "model.gditd", "--key", private, "--out", tmp_path / "m.gditd")
    run("inspect", tmp_path / "m.gditd", "--verify", public)
