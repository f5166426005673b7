"""Find and read the files of a publication, loose or zipped, or say what to download."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from gditd.datasets.base import DataFolder, DatasetError

DATA_VARIABLE = "GDITD_DATA"


class RawFile(NamedTuple):
    """The bytes of one file and how error messages call it."""

    label: str
    content: bytes


@dataclass(frozen=True)
class Publication:
    """Where a data set is published and the names that its files carry.

    Attributes
    ----------
    name : the data set, for messages.
    where : publisher, page and file to download, for messages.
    files : the files that are read; each may also be gzipped (`.gz`).
    archives : case-insensitive patterns of the zip as downloaded, tried in this order.
    subfolders : folders inside the data folder in which unpacked files are looked for.
    """

    name: str
    where: str
    files: tuple[str, ...]
    archives: tuple[str, ...] = ()
    subfolders: tuple[str, ...] = ()

    def read(self, data: DataFolder = None) -> dict[str, RawFile]:
        """Read every file from the folder `data`, or from the one that GDITD_DATA names.

        Unpacked files go first: the pattern of a zip may match another publisher's file.
        """
        folder = self._folder(data)
        found = self._unpacked(folder)
        missing = [file for file in self.files if file not in found]
        if not missing:
            return {file: _read_loose(path) for file, path in found.items()}
        archive = self._archive(folder)
        if archive is not None:
            return _read_zip(archive, self.files)
        problem = f"not found in {folder}" if not found else f"{', '.join(missing)} missing in {folder}"
        raise DatasetError(f"{self.name}: {problem}. {self._cure()}")

    def _folder(self, data: DataFolder) -> Path:
        chosen = data if data is not None else os.environ.get(DATA_VARIABLE)
        if not chosen:
            raise DatasetError(f"{self.name}: no data folder is set. {self._cure()}")
        folder = Path(chosen).expanduser()
        if not folder.is_dir() or not os.access(folder, os.R_OK | os.X_OK):
            raise DatasetError(f"{self.name}: {folder} is not a readable folder. {self._cure()}")
        return folder

    def _unpacked(self, folder: Path) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for file in self.files:
            candidates = (folder / sub / (file + suffix) for sub in ("", *self.subfolders) for suffix in ("", ".gz"))
            path = next((path for path in candidates if path.is_file()), None)
            if path is not None:
                found[file] = path
        return found

    def _archive(self, folder: Path) -> Path | None:
        zips = sorted(path for path in folder.iterdir() if path.is_file())
        matches = (path for pattern in self.archives for path in zips if fnmatch(path.name.lower(), pattern.lower()))
        return next(matches, None)

    def _cure(self) -> str:
        looked_for = (*self.archives, _shortened(self.files))
        return (
            f"Download it from {self.where}, put it in a folder and name that folder with --data DIR, "
            f"load_dataset(..., data=DIR) or the variable {DATA_VARIABLE}. "
            f"Files looked for: {' or '.join(looked_for)}"
        )


def _shortened(files: tuple[str, ...]) -> str:
    return ", ".join(files) if len(files) <= 4 else f"{files[0]} ... {files[-1]}"


def _read_loose(path: Path) -> RawFile:
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: cannot be read, download it again ({error})") from error
    return RawFile(str(path), content)


def _read_zip(path: Path, files: Iterable[str]) -> dict[str, RawFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {file: _member(path, archive.namelist(), file) for file in files}
            return {file: RawFile(f"{path}: {member}", archive.read(member)) for file, member in members.items()}
    # An encrypted member is a RuntimeError, an unknown compression a NotImplementedError (its subclass).
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise DatasetError(f"{path}: not a readable zip file, download it again ({error})") from error


def _member(path: Path, members: list[str], file: str) -> str:
    matches = [member for member in members if PurePosixPath(member).name == file]
    if not matches:
        raise DatasetError(f"{path}: the zip file holds no {file}; is it another data set?")
    # Some re-packed archives carry a second copy in a deeper folder.
    return min(matches, key=lambda member: (member.count("/"), member))
