"""A real Prometheus on loopback, in a folder of its own, that scrapes one endpoint each two seconds."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from kadmin_nb.local.local_kafka import _free_ports

CONFIG = """
global: {{scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - {{job_name: kadmin_nb, static_configs: [{{targets: ["{target}"]}}]}}
"""


class RealPrometheus:
    """Asked by its HTTP API."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer."""
        with urlopen(f"{self.url}/api/v1/{path}?{urlencode(query)}", timeout=20) as answer:
            return json.load(answer)["data"]

    def value(self, query: str) -> list[dict[str, Any]]:
        """The series of a query, now."""
        return list(self.get("query", query=query)["result"])

    def is_ready(self) -> bool:
        try:
            with urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except (URLError, OSError):
            return False


@contextmanager
def running(program: str, target: str, rules: Path, folder: Path) -> Iterator[RealPrometheus]:
    """One that scrapes this address, and ends with the block."""
    (folder / "prometheus.yml").write_text(CONFIG.format(rules=rules, target=target))
    (port,) = _free_ports(1)
    words = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]  # fmt: skip
    with (folder / "prometheus.log").open("w") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            server, until = RealPrometheus(port), time.monotonic() + 60
            while not server.is_ready():
                assert process.poll() is None, (folder / "prometheus.log").read_text()
                assert time.monotonic() < until
                time.sleep(0.1)
            yield server
        finally:
            process.terminate()
