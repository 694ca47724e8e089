"""Kafka's jars: only those whose sums are committed, or an installed Kafka's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kadmin_nb import jars as jars_module
from kadmin_nb import local
from kadmin_nb.errors import Invalid, NotFound, Unsupported
from kadmin_nb.frames.spark import DELTA


@pytest.fixture
def download(monkeypatch):
    """Stand in for Ivy: 'download' files of these names and contents."""

    def download(contents):
        def retrieve(release, places, into, progress):
            for name, content in contents.items():
                (into / name).write_bytes(content)

        monkeypatch.setattr(jars_module, "_retrieve", retrieve)

    return download


@pytest.fixture
def two_sums(monkeypatch):
    """Two committed files, 'a' and 'b'."""
    sums = {
        "org/one/a/1/a.jar": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "org/one/b/1/b.jar": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
    }
    monkeypatch.setattr(jars_module, "_committed_sums", lambda release: sums)


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ({"a.jar": b"a", "b.jar": b"x"}, "b.jar in .* has SHA-256 2d711642b726b044"),
        ({"a.jar": b"a"}, "b.jar in .* it is missing"),
    ],
    ids=["another content", "one too few"],
)
def test_a_wrong_jar_is_named_and_nothing_is_used(cache, download, two_sums, contents, says):
    """Something in the download is not what was published."""
    download(contents)
    with pytest.raises(Invalid, match=says):
        local.find_jars()
    assert [path.name for path in (cache / "kafka").iterdir()] == [".4.4.0.lock"]


def test_a_right_download_is_used_and_made_once(cache, download, two_sums):
    download({"a.jar": b"a", "b.jar": b"b"})
    first = local.find_jars()
    download({})
    assert local.find_jars() == first
    assert [jar.name for jar in first.jars] == ["a.jar", "b.jar"]


def test_delta_s_jars_are_checked_too(cache, download, two_sums):
    """Spark fetched Delta by its name and version, and ran whatever came."""
    download({"a.jar": b"a", "b.jar": b"x"})
    with pytest.raises(Invalid, match=r"Delta's jar b.jar in .* has SHA-256 2d711642b726b044"):
        DELTA.jars()
    download({"a.jar": b"a", "b.jar": b"b"})
    assert [jar.parent for jar in DELTA.jars()] == [cache / "delta" / "4.4.0"] * 2


def test_a_jar_that_changed_in_the_cache_is_refused(cache, download, two_sums):
    """The disk, or somebody, changed a file after the download."""
    download({"a.jar": b"a", "b.jar": b"b"})
    local.find_jars().jars[1].write_bytes(b"B")
    with pytest.raises(Invalid, match="has SHA-256"):
        local.find_jars()


def test_a_version_without_sums_is_refused(cache):
    with pytest.raises(Unsupported, match=r"Kafka 2\.8\.0; there are 4\.4\.0, .*3\.9\.2"):
        local.find_jars("2.8.0")


@pytest.mark.slow
def test_a_download_that_fails_says_what_ivy_said(cache, monkeypatch, tmp_path):
    """No network: one line that says so, and no half of a download left to be used."""
    settings = tmp_path / "nowhere.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="no"/><resolvers>'
        '<ibiblio name="no" m2compatible="true" root="http://127.0.0.1:9/"/></resolvers></ivysettings>'
    )
    monkeypatch.setenv("KADMIN_IVY_SETTINGS", str(settings))
    with pytest.raises(NotFound, match=r"downloading Kafka 4\.4\.0 failed: .*127\.0\.0\.1:9"):
        local.find_jars()
    assert not (cache / "kafka" / "4.4.0").exists()


def test_each_sum_is_of_a_place_in_maven_s_layout():
    """A line had the name alone, and that version could not be downloaded."""
    for file in Path(jars_module.__file__).with_name("sums").iterdir():
        for line in file.read_text().splitlines():
            digest, place = line.split()
            *group, artifact, version, name = place.split("/")
            assert (len(digest), bool(group), name) == (64, True, f"{artifact}-{version}.jar"), line
