# Each target does everything it needs from a bare clone, and skips what is there. Paths are relative, as
# make cannot handle a space in one; recipes run in this folder whatever it is called.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
KAFKAS := 4.4.0 3.9.2
MORE_KAFKAS := 4.3.1 4.2.0 4.1.1 4.0.1

# The suite starts some hundred Pythons: where the environment forbids bytecode, each would compile everything again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install browser spark-archive prometheus kafka kafkas demo test test-fast test-long test-versions check shape pictures reference bench bench-full docs docs-check docs-serve lock sbom release binder clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: kafka ## a real Kafka: quotas, which limit binds a client, a change planned, applied, verified
	@$(VENV)/bin/kadmin-nb demo

test: kafkas browser prometheus spark-archive ## every test, on the local Kafka, Spark, the notebooks and a browser (some 12 minutes on 2 fast cores)
	@$(RUN) -m pytest tests -n 3 --dist loadscope

test-fast: install ## the tests that need neither a broker nor Spark, on all cores (a minute or two)
	@$(RUN) -m pytest tests -m "not broker and not spark and not secure and not slow" -n logical --dist loadscope

test-long: kafkas ## all of what make test samples: every pair of faults, every order of two editors, real orchestrators (over an hour)
	@$(RUN) -m pytest tests -m long

test-versions: kafkas ## what each version of Kafka does, on all that we speak to (3 minutes)
	@$(RUN) -m tests.kafka_jars $(MORE_KAFKAS)
	@$(RUN) -m pytest tests/admin -k conformance -m "broker or versions"

pictures: kafka browser ## what people see, as pictures in out/pictures: notebooks in two hosts, two widths, two themes; terminals (4 minutes)
	@$(RUN) -m pytest tests/browser/test_pictures.py -m long

check: install ## formatting, lint, types
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy

shape: kafka ## how large and how scattered the code is, and how far a typed line travels in it; nothing fails
	@$(RUN) -m tests.architecture.shape

reference: install ## the pages of docs/reference, from the code
	@$(RUN) docs/reference/generate.py

bench: kafka browser ## the figures, as a table and as JSON (17 minutes to half an hour; it fails where one is missed)
	@$(RUN) -m benchmarks

bench-full: kafka browser ## the same at full size
	@$(RUN) -m benchmarks --full

install: $(VENV)/installed ## the virtual environment, with everything in it

kafka: install
	@$(RUN) -m tests.kafka_jars

spark-archive: install # what halves the start of the tests' Sparks
	@$(RUN) -m tests.spark_archive

prometheus: install # what evaluates the alerts and the board: the machine's, or Debian's package
	@$(RUN) -m tests.prometheus.installed

browser: install # a Chromium for the tests of the widgets: the machine's, or one that is fetched
	@$(RUN) -m tests.browser.presence

kafkas: install
	@$(RUN) -m tests.kafka_jars $(KAFKAS)

# pyspark is an sdist: what builds it is locked as well, so it is installed first and used as it is.
# --require-hashes holds for every package; where they come from is pip's own business (its index, its mirror).
PIP := $(RUN) -m pip --disable-pip-version-check install --no-warn-script-location --timeout 60

$(VENV)/installed: pyproject.toml $(VENV)/locked
	@echo "== installing kadmin_nb itself"
	@$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/locked: requirements/build.txt requirements/dev.txt $(VENV)/made
	@echo "== installing the locked packages (about 1 GB to download, 5 to 10 minutes, once)"
	@$(PIP) --quiet --require-hashes --requirement requirements/build.txt
	@$(PIP) --require-hashes --no-build-isolation --requirement requirements/dev.txt
	@touch $@

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "This needs Python 3.11 or newer; $(PYTHON) is: $$($(PYTHON) --version 2>&1)."; \
	  echo "Hint: name another one, as in: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: its venv or ensurepip module is missing."; \
	  echo "Hint: on Debian and Ubuntu that is the package python3-venv; or make PYTHON=another $(MAKECMDGOALS)"; exit 1; }
	@echo "== making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# What these three run has an environment of its own, out of a lock of its own: wheels alone, so that nothing is built.
# uv takes the certificates of the system, as pip does.
TOOLS := rm -rf .lock && $(PYTHON) -m venv .lock && .lock/bin/python -m pip --disable-pip-version-check install \
  --quiet --require-hashes --only-binary :all: --requirement requirements/tools.txt
COMPILE := .lock/bin/uv --system-certs pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header

lock: ## renew the locked requirements from pyproject.toml, and what Binder installs from them
	@$(TOOLS)
	@$(COMPILE) requirements/build.in -o requirements/build.txt
	@$(COMPILE) requirements/tools.in -c requirements/build.txt -o requirements/tools.txt
	@$(COMPILE) pyproject.toml --extra all --group dev -c requirements/constraints.in -o requirements/dev.txt
	@$(COMPILE) pyproject.toml --extra all --resolution lowest-direct -o requirements/lowest.txt
	@$(COMPILE) requirements/kerberos.in -c requirements/dev.txt -o requirements/kerberos.txt
	@.lock/bin/python binder/derive.py
	@rm -rf .lock

docs: install ## the site in out/site, without a network; a page whose outputs were not run says so
	@$(RUN) docs/build_site.py

docs-check: kafka ## run what the pages show: typed lines, SQL, notebooks (10 to 20 minutes)
	@$(RUN) -m pytest tests/approved/test_typed_pages.py tests/analytics/test_sql_page.py
	@$(RUN) docs/build_site.py --run-notebooks

docs-serve: docs ## the site on http://localhost:8000
	@$(RUN) -m http.server 8000 --bind 127.0.0.1 --directory out/site

sbom: install ## renew the bill of materials that the wheel carries, from the environment
	@$(TOOLS)
	@.lock/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml $(RUN) | $(RUN) requirements/sbom.py
	@rm -rf .lock

release: kafka ## the packages in dist/, built twice, looked into, and installed with each extra (20 minutes); all but the upload
	@$(TOOLS)
	@$(RUN) -m tests.packaging.release
	@rm -rf .lock

binder: install ## what Binder installs, from the locked requirements
	@$(RUN) binder/derive.py

clean: ## remove the virtual environment and what was built (not the cache of downloads)
	@rm -rf $(VENV) .lock build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
