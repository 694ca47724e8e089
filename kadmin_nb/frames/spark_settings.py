"""The settings of a Spark that does not run yet, wherever they are made. Nothing is started to find them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import documents, files
from ..errors import KadminError, UsageError

MASTER, REMOTE, PYTHON = "spark.master", "spark.remote", "spark.pyspark.python"
ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""The variable in which `pyspark`, Jupyter kernels and others have the options of `spark-submit`."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable by which a program that `spark-submit` runs knows its JVM, which has all settings already."""

_OPTIONS = {
    "--master": MASTER,
    "--remote": REMOTE,
    "--name": "spark.app.name",
    "--jars": "spark.jars",
    "--packages": "spark.jars.packages",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-java-options": "spark.driver.extraJavaOptions",
}
"""Options of `spark-submit` that are settings, of those that matter here."""

_FLAGS = {"--verbose", "-v", "--version", "--help", "-h", "--supervise", "--usage-error", "--load-spark-defaults"}
_MOST_BYTES = 1 << 16
"""Bytes of a file of settings. The time to join lines that end in a backslash grows with their square."""


@dataclass(frozen=True)
class Setting:
    """A value, and who set it."""

    value: str
    origin: str


def spark_settings() -> dict[str, Setting]:
    """What is set by name, of what is set twice the one that Spark takes.

    These are `PYSPARK_SUBMIT_ARGS`, `spark-defaults.conf` (or the file that `--properties-file` names) and, of the
    master alone, `MASTER`. What `spark-env.sh` exports only Spark's own scripts know.

    Raises
    ------
    UsageError
        `PYSPARK_SUBMIT_ARGS` is not a line of options, or a file of properties cannot be read.
    """
    given, file, and_defaults = _of_arguments(os.environ.get(ARGUMENTS, ""))
    found = {MASTER: Setting(os.environ["MASTER"], "$MASTER")} if os.environ.get("MASTER") else {}
    if file is None or and_defaults:
        found |= _of_file(_defaults(), is_needed=False)
    if file is not None:
        found |= _of_file(Path(file), is_needed=True)
    return {**found, **{name: Setting(value, f"${ARGUMENTS}") for name, value in given.items()}}


def _of_arguments(line: str) -> tuple[dict[str, str], str | None, bool]:
    """The settings among options of `spark-submit`, their file of properties, and whether the defaults count beside."""
    given: dict[str, str] = {}
    options: dict[str, str] = {}
    for option, value in _options(line):
        if option in ("--conf", "-c"):
            name, _, text = value.partition("=")
            given[name] = text
        else:
            options[option] = value
    given |= {_OPTIONS[option]: value for option, value in options.items() if option in _OPTIONS}
    return given, options.get("--properties-file"), "--load-spark-defaults" in options


def _options(line: str) -> Iterator[tuple[str, str]]:
    """The options up to the program, each with its value, or with "" if it takes none."""
    try:
        words = iter(shlex.split(line))
    except ValueError as exc:
        raise UsageError(f"${ARGUMENTS} is not a line of options: {exc}", hint="A quote is missing.") from None
    for word in words:
        if not word.startswith("-"):
            return
        option, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        yield option, "" if option in _FLAGS else value if has_value else next(words, "")


def _defaults() -> Path:
    """Where Spark looks for `spark-defaults.conf`."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    return Path(folder) / "spark-defaults.conf"


def _of_file(path: Path, is_needed: bool) -> Mapping[str, Setting]:
    """The settings of a file of Java's properties."""
    if not (is_needed or path.exists()):
        return {}
    try:
        text = files.read_text(path, "Spark's settings", _MOST_BYTES)
        return {name: Setting(value.strip(), str(path)) for _, name, value in documents.from_properties(text)}
    except (KadminError, ValueError) as exc:
        raise UsageError(f"Spark's settings cannot be read: {exc}") from None
