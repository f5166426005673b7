import pytest

from gditd.atomic import whole_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_appears_when_it_is_whole(tmp_path):
    with whole_folder(tmp_path / "made") as folder:
        (folder / "a").write_text("1")
        assert not (tmp_path / "made").exists()
    assert names(tmp_path) == ["made"]
    assert (tmp_path / "made" / "a").read_text() == "1"
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "plain").stat().st_mode, "others may read it as usual"


def test_a_folder_that_is_there_keeps_its_other_files(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "mine").write_text("mine")
    with whole_folder(tmp_path) as folder:
        (folder / "a").write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    assert {name: (tmp_path / name).read_text() for name in names(tmp_path)} == {"a": "new", "mine": "mine"}


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_what_fails(tmp_path, there, error):
    out = tmp_path / "out"
    if there:
        out.mkdir()
        (out / "a").write_text("old")
    with pytest.raises(error), whole_folder(out) as folder:
        (folder / "a").write_text("new")
        raise error
    assert names(tmp_path) == (["out"] if there else [])
    assert not there or (out / "a").read_text() == "old"
