# Everything that a person runs from a checkout. Needs Python 3.11+, make and access to a package index.
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
BIN := .venv/bin
ENGINE ?= docker

.PHONY: demo test test-image system-packages lint audit format bench docs clean

demo: .venv/.run
	@$(BIN)/fullwarp demo

test: system-packages .venv/.test
	$(BIN)/pytest -n 2

# ENGINE=podman does, too; the format of its own has no health check.
test-image: .venv/.test
	$(ENGINE) build $(if $(filter %podman,$(ENGINE)),--format docker) -t fullwarp .
	TEST_IMAGE=fullwarp ENGINE=$(ENGINE) $(BIN)/pytest tests/deploy/test_engine.py

system-packages:
	@.ci/system-packages

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: .venv/.test
	@.ci/audit

format: .venv/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.test
	@$(BIN)/python -m bench.run

docs: .venv/.test
	$(BIN)/python -m terminal.reference docs/reference
	$(BIN)/python -m api.reference docs/reference
	$(BIN)/python -c "from pathlib import Path; from cli import program; from terminal.options_reference import write_options; \
	  write_options(program, Path('docs/reference'))"

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Fullwarp needs Python 3.11 or newer, and $(PYTHON) is older. Try: make PYTHON=python3.12 demo" >&2; exit 2; }
ifdef UV
	$(UV) venv -q --python "$$(command -v $(PYTHON))" .venv
else
	@$(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "Python's venv is missing. On Debian, as root: apt-get install python3-venv" >&2; exit 2; }
endif

# The demo's ninety days are part of its installation: what is there is kept, and a day is added when one has passed.
.venv/.run: $(BIN)/python pyproject.toml constraints.txt
	$(call install,.)
	@echo "Adding up ninety days of the simulated cluster, once: about half a minute on two cores." >&2
	-@$(BIN)/fullwarp --demo report --by none --since 90d >/dev/null
	@touch $@

.venv/.test: $(BIN)/python pyproject.toml constraints.txt
	$(call install,.[test])
	@touch $@ .venv/.run

ifdef UV
install = $(UV) pip install -q -p $(BIN)/python -c constraints.txt -e '$(1)'
else
install = $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '$(1)'
endif
