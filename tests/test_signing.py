"""Signatures: who made a model file, and that nobody changed it since."""

from __future__ import annotations

import base64
import builtins
import re
from pathlib import Path
from typing import Any

import pytest

import gditd
from gditd import GDITDClassifier, ModelFileError
from gditd.detectors import ExtraTrees
from gditd.model_file.seal import SIGNATURE, seal
from gditd.model_file.signed_file import sign_file, signer_of
from gditd.model_file.signing import PASSWORD, KeyFileError, new_key_pair, private_key, public_key
from tests.robustness.model_bytes import model_bytes, numbers

pytest.importorskip("cryptography", reason='needs cryptography: pip install "gditd[sign]"')


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the keys ours and theirs."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ours", "theirs"):
        private, public, _ = new_key_pair()
        (folder / f"{name}.key.pem").write_bytes(private)
        (folder / f"{name}.pub.pem").write_bytes(public)
    return folder


@pytest.fixture
def signed(keys: Path, tmp_path: Path) -> Path:
    path = tmp_path / "signed.gditd"
    path.write_bytes(model_bytes("forest"))
    sign_file(path, keys / "ours.key.pem", path)
    return path


def refusal(path: Path, key: Any) -> str:
    with pytest.raises(ModelFileError, match=rf"^cannot load {re.escape(str(path))}: ") as caught:
        gditd.load(path, verify=key)
    return str(caught.value)


class TestVerifying:
    def test_a_signed_model_is_read(self, signed: Path, keys: Path) -> None:
        for key in (keys / "ours.pub.pem", str(keys / "ours.pub.pem"), public_key(keys / "ours.pub.pem")):
            assert isinstance(gditd.load(signed, verify=key), ExtraTrees)
        assert isinstance(gditd.load(signed), ExtraTrees), "a signature is no obstacle to those who do not ask for one"

    def test_a_signature_changes_nothing_else(self, signed: Path) -> None:
        data = bytearray(signed.read_bytes())
        seal(data)
        assert bytes(data) == model_bytes("forest")

    def test_save_signs_too(self, keys: Path, tmp_path: Path) -> None:
        model = ExtraTrees(n_estimators=2, random_state=0).fit(*numbers())
        model.save(tmp_path / "m.gditd", sign=keys / "ours.key.pem")
        assert isinstance(ExtraTrees.load(tmp_path / "m.gditd", verify=keys / "ours.pub.pem"), ExtraTrees)
        assert "another key" in refusal(tmp_path / "m.gditd", keys / "theirs.pub.pem")

    def test_another_key(self, signed: Path, keys: Path) -> None:
        assert "it is signed with another key (" in refusal(signed, keys / "theirs.pub.pem")

    def test_no_signature(self, keys: Path, tmp_path: Path) -> None:
        (tmp_path / "m.gditd").write_bytes(model_bytes("forest"))
        assert "it is not signed, and a signature was asked for" in refusal(tmp_path / "m.gditd", keys / "ours.pub.pem")

    def test_no_model_at_all(self, keys: Path, tmp_path: Path) -> None:
        (tmp_path / "m.gditd").write_bytes(b"\x10" + bytes(400))
        assert "not a gditd model" in refusal(tmp_path / "m.gditd", keys / "ours.pub.pem")

    @pytest.mark.parametrize("place", [0.05, 0.3, 0.6, 0.999])
    def test_content_changed_by_someone_who_can_compute_a_checksum(
        self, signed: Path, keys: Path, place: float
    ) -> None:
        data = bytearray(signed.read_bytes())
        signature = bytes(data[SIGNATURE]).decode()
        data[int(place * len(data)) + SIGNATURE.stop * (place < 0.1)] ^= 1
        seal(data, signature)
        signed.write_bytes(data)
        assert "its signature does not fit its content" in refusal(signed, keys / "ours.pub.pem")

    def test_a_signature_of_another_file(self, signed: Path, keys: Path, tmp_path: Path) -> None:
        signature = signed.read_bytes()[SIGNATURE].decode()
        other = bytearray(model_bytes("network"))
        seal(other, signature)
        (tmp_path / "other.gditd").write_bytes(other)
        assert "does not fit its content" in refusal(tmp_path / "other.gditd", keys / "ours.pub.pem")

    def test_our_key_beside_their_signature(self, signed: Path, keys: Path) -> None:
        data = bytearray(signed.read_bytes())
        ours = base64.b64decode(bytes(data[SIGNATURE]))[:32]
        sign_file(signed, keys / "theirs.key.pem", signed)
        data = bytearray(signed.read_bytes())
        theirs = base64.b64decode(bytes(data[SIGNATURE]))[32:]
        seal(data, base64.b64encode(ours + theirs).decode())
        signed.write_bytes(data)
        assert "does not fit its content" in refusal(signed, keys / "ours.pub.pem")

    @pytest.mark.parametrize("text", ["!" * 128, "é" * 64, " " * 128])
    def test_a_signature_that_is_none(self, signed: Path, keys: Path, text: str) -> None:
        data = bytearray(signed.read_bytes())
        data[SIGNATURE] = text.encode()[:128]
        signed.write_bytes(data)
        assert "its signature is damaged" in refusal(signed, keys / "ours.pub.pem")

    def test_every_bit_of_the_signature_counts(self, signed: Path, keys: Path) -> None:
        content = signed.read_bytes()
        for place in range(SIGNATURE.start, SIGNATURE.stop, 5):
            data = bytearray(content)
            data[place] ^= 1
            signed.write_bytes(data)
            refusal(signed, keys / "ours.pub.pem")
            with pytest.raises(ModelFileError):
                gditd.load(signed)


class TestSigning:
    def test_the_signer_is_named(self, signed: Path, keys: Path, tmp_path: Path) -> None:
        fingerprint = sign_file(signed, keys / "theirs.key.pem", tmp_path / "again.gditd")
        assert signer_of(tmp_path / "again.gditd") == fingerprint
        assert signer_of(signed) != fingerprint
        (tmp_path / "m.gditd").write_bytes(model_bytes("forest"))
        assert signer_of(tmp_path / "m.gditd") is None

    def test_a_damaged_file_is_not_signed(self, keys: Path, tmp_path: Path) -> None:
        path = tmp_path / "m.gditd"
        path.write_bytes(model_bytes("forest")[:-1] + b"?")
        before = path.read_bytes()
        with pytest.raises(ModelFileError, match="checksum"):
            sign_file(path, keys / "ours.key.pem", path)
        assert path.read_bytes() == before


class TestKeys:
    @pytest.mark.parametrize("content", [b"", b"no key", b"-----BEGIN PUBLIC KEY-----\n", bytes(100_000)])
    def test_what_is_no_key(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "k.pem").write_bytes(content)
        for read in (private_key, public_key):
            with pytest.raises(KeyFileError, match=r"k\.pem is "):
                read(tmp_path / "k.pem")

    def test_the_wrong_one_of_a_pair(self, keys: Path) -> None:
        with pytest.raises(KeyFileError, match="no private key"):
            private_key(keys / "ours.pub.pem")
        with pytest.raises(KeyFileError, match="no public key"):
            public_key(keys / "ours.key.pem")

    def test_keys_of_other_kinds(self, tmp_path: Path) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        pem = serialization.Encoding.PEM
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
        for read, content in ((private_key, private), (public_key, public)):
            (tmp_path / "k.pem").write_bytes(content)
            with pytest.raises(KeyFileError, match="not an Ed25519 key"):
                read(tmp_path / "k.pem")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(KeyFileError, match=r"cannot read the key .*none\.pem: No such file"):
            public_key(tmp_path / "none.pem")

    def test_a_password(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(PASSWORD, "secret")
        (tmp_path / "k.pem").write_bytes(new_key_pair()[0])
        assert private_key(tmp_path / "k.pem")
        monkeypatch.setenv(PASSWORD, "wrong")
        with pytest.raises(KeyFileError, match="its password is wrong"):
            private_key(tmp_path / "k.pem")
        monkeypatch.delenv(PASSWORD)
        with pytest.raises(KeyFileError, match=f"give it in the environment as {PASSWORD}"):
            private_key(tmp_path / "k.pem")

    def test_a_password_that_the_key_does_not_need(self, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(PASSWORD, "secret")
        assert private_key(keys / "ours.key.pem")

    def test_without_the_library(self, signed: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        imported = builtins.__import__

        def without(name: str, *args: Any, **kwargs: Any) -> Any:
            if name.startswith("cryptography"):
                raise ImportError(name)
            return imported(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(KeyFileError, match=re.escape('pip install "gditd[sign]"')):
            gditd.load(signed, verify=keys / "ours.pub.pem")
        assert isinstance(gditd.load(signed), ExtraTrees), "those who do not ask need nothing"


def test_load_of_a_class_takes_its_own_models_only(signed: Path) -> None:
    with pytest.raises(ModelFileError, match=r"holds a ExtraTrees, not a GDITDClassifier: use gditd\.load"):
        GDITDClassifier.load(signed)
    assert isinstance(ExtraTrees.load(signed), ExtraTrees)
