"""Files that we write: whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb import files
from kadmin_nb.plans.journal import Journal
from kadmin_nb.plans.journal.storage import opened
from tests.full_disk import killed_before_call, no_more_than, small_disk

BEFORE, AFTER = b"before\n" * 5_000, b"after\n" * 50_000


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path):
    """`plan approve` was killed, and the reviewed plan was gone."""
    contents = []
    for number in range(1, 200):
        place = tmp_path / "p.json"
        place.write_bytes(BEFORE)
        was_killed = killed_before_call(number, lambda: files.write(tmp_path / "p.json", AFTER), files.__file__)
        contents.append(place.read_bytes())
        if not was_killed:
            break
    assert len(contents) > 10
    assert set(contents) == {BEFORE, AFTER}
    assert contents[-1] == AFTER


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EINVAL, errno.ENOTSUP])
def test_a_folder_that_the_disk_did_not_take(tmp_path, monkeypatch, code):
    """The disk failed as the file's name was written, and the plan was saved, they said; after a crash it was gone."""
    real = os.fsync

    def failing(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(os, "fsync", failing)
    is_failure = code in (errno.EIO, errno.ENOSPC)
    with pytest.raises(kn.Invalid, match=r"p\.json cannot be written") if is_failure else nullcontext():
        files.write(tmp_path / "p.json", AFTER)
    with pytest.raises(kn.PlanRefused, match=r"the journal .* cannot be written") if is_failure else nullcontext():
        opened(tmp_path / "j.jsonl").close()


@pytest.mark.parametrize("size", [0, 1, 4096, len(AFTER) - 1])
def test_no_room(size, tmp_path):
    """The disk was full, and half of a file was there."""
    place = tmp_path / "p.json"
    place.write_bytes(BEFORE)
    with no_more_than(size), pytest.raises(kn.Invalid, match=r"p\.json cannot be written: File too large") as raised:
        files.write(place, AFTER)
    assert raised.value.code == "EFBIG"
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"p.json": BEFORE}


def test_a_full_disk(tmp_path):
    """The disk was full, and the tool said that the file was not found."""
    with small_disk(tmp_path / "disk") as is_mounted:
        if not is_mounted:  # no right to mount: /dev/full says the same
            with pytest.raises(kn.Invalid, match="/dev/full cannot be written"):
                files.write(Path("/dev/full"), AFTER)
            return
        (tmp_path / "disk" / "p.json").write_bytes(BEFORE)
        with pytest.raises(kn.Invalid, match=r"p\.json cannot be written: No space left on device") as raised:
            files.write(tmp_path / "disk" / "p.json", AFTER)
        assert raised.value.code == "ENOSPC"
        assert {one.name: one.read_bytes() for one in (tmp_path / "disk").iterdir()} == {"p.json": BEFORE}


def test_a_block_that_fails_leaves_the_file_as_it_was(tmp_path):
    place = tmp_path / "p.json"
    place.write_bytes(BEFORE)
    with pytest.raises(ZeroDivisionError), files.writing(place) as file:
        file.write(AFTER[: 1 // 0])
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"p.json": BEFORE}


def test_every_folder_that_is_made_has_the_mode(tmp_path):
    """~/.local/state/kadmin-nb could be written by everybody, and only the last folder in it was mine."""
    (there := tmp_path / "there").mkdir(mode=0o750)
    umask = os.umask(0)
    try:
        files.make_folder(there / "a" / "b" / "c", mode=0o700)
        files.make_folder(there / "a" / "d", mode=0o700)
        with Journal.open(there / "state" / "kadmin-nb" / "journal" / "id" / "plan.jsonl"):
            pass
    finally:
        os.umask(umask)
    made = {str(place.relative_to(there)): stat.S_IMODE(place.stat().st_mode) for place in there.rglob("*")}
    assert set(made) >= {"a", "a/b/c", "a/d", "state", "state/kadmin-nb", "state/kadmin-nb/journal/id"}
    assert set(made.values()) == {0o700}
    assert stat.S_IMODE(there.stat().st_mode) == 0o750
    (there / "file").touch()
    for place in (there / "file", there / "file" / "below"):
        with pytest.raises(kn.KadminError):
            files.make_folder(place)


def test_mode_and_owner_stay(tmp_path):
    """A plan for three people was mine alone after it was approved."""
    place = tmp_path / "p.json"
    place.write_bytes(BEFORE)
    place.chmod(0o640)
    os.chown(place, os.getuid(), os.getgid())
    files.write(place, AFTER)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    umask = os.umask(0o027)
    try:
        files.write(tmp_path / "new.json", AFTER)
        files.write(tmp_path / "private.json", AFTER, mode=0o600)
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "private.json").stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    """The link to the plan in the shared folder became a file of its own."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "p.json").symlink_to("shared/plan.json")
    for content in (BEFORE, AFTER):
        files.write(tmp_path / "p.json", content)
        assert (tmp_path / "p.json").is_symlink()
        assert (tmp_path / "shared" / "plan.json").read_bytes() == content


def test_what_is_no_file_is_not_replaced(tmp_path):
    """`--save /dev/stdout >> plans` replaced the file that held the plans before."""
    program = "from pathlib import Path; from kadmin_nb import files; files.write(Path('/dev/stdout'), 'after')"
    place = tmp_path / "plans"
    place.write_text("before")
    with place.open("a") as out:
        done = subprocess.run([sys.executable, "-c", program], stdout=out, stderr=subprocess.PIPE, check=False)
    assert (place.read_text(), b"/dev/stdout cannot be written" in done.stderr) == ("before", True)
    with pytest.raises(kn.Invalid, match="/dev/null cannot be written: it is a folder, a pipe or a device"):
        files.write(Path(os.devnull), "nobody reads it")


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("no/p.json", kn.NotFound, "No such file or directory"),
        ("file/p.json", kn.NotFound, "Not a directory"),
        (".", kn.Invalid, "it is a folder, a pipe or a device"),
        ("x" * 300, kn.Invalid, "File name too long"),
    ],
)
def test_a_place_that_cannot_be_written(name, kind, told, tmp_path):
    """I was told a stack trace instead of what is wrong with the place."""
    (tmp_path / "file").write_text("")
    with pytest.raises(kind, match=f"cannot be written: {told}"):
        files.write(tmp_path / name, AFTER)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_file_that_nobody_may_write_to(tmp_path, monkeypatch):
    """A plan that was made read-only was overwritten, as its folder was not."""
    place = tmp_path / "p.json"
    place.write_bytes(BEFORE)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write to every file
    with pytest.raises(kn.Invalid, match="cannot be written: Permission denied"):
        files.write(place, AFTER)
    assert place.read_bytes() == BEFORE
