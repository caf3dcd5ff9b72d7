# Every target sets up `.venv` by itself: with uv when it is on PATH, else with venv and pip.
# Nothing is installed that requirements.lock does not pin by hash; `make demo` installs the small
# part of it that runs the program, everything else the whole.

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
CORE := $(VENV)/.core
READY := $(VENV)/.stamp
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV ?= $(shell command -v uv 2>/dev/null)

# Tests start hundreds of processes; without bytecode each of them compiles the package once more.
unexport PYTHONDONTWRITEBYTECODE

# The first interpreter that is new enough; `make test PYTHON=python3.13 VENV=.venv-3.13` overrides.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	"$$python" -c '$(NEW_ENOUGH)' 2>/dev/null && { command -v "$$python"; break; }; done)

# The rooms that own no socket, clock or screen: their tests need nothing but Python.
PURE := catalog dialects exchange framing handoff laws thinking
# Where decisions are made, with the least per cent of lines and branches that these tests must run.
FLOORS := thinking:97 handoff:96 exchange:94 dialects/*/caller:96
COVERING := thinking exchange gateway/levels handoff dialects/*/caller \
	gateway/requests/test_hosted_history.py gateway/requests/test_hosted_settings.py \
	gateway/requests/test_open_loops.py gateway/requests/test_system_turns.py \
	gateway/requests/test_odd_bodies.py gateway/test_cited_documents.py gateway/test_error_media.py \
	gateway/test_fitted_content.py gateway/test_model_limits.py \
	gateway/test_schema_law.py gateway/quotas/test_media_bound.py laws/test_tools.py client/test_raw_errors.py \
	client/test_token_counts.py laws/test_dial.py client/test_client.py client/test_deployments.py client/test_native.py \
	client/test_repairs.py client/conversation contract/guards/test_guard.py contract/guards/test_planted.py \
	hazards/test_seals.py oracles/test_interactions.py laws/test_dialects.py laws/test_level_changes.py \
	gateway/test_several_answers.py
# What failed is run once more with nothing beside it: many tests start real processes, and a machine
# with two busy cores may be late for one of them. What is broken fails again.
ALONE := $(BIN)/pytest --last-failed --last-failed-no-failures none --inline-snapshot=disable
CATALOG := src/pondero/catalog/data/catalog.json
LISTS := src/pondero/catalog/data/lists

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(firstword $(MAKEFILE_LIST)) | tr @ '\t' | expand -t 22

$(CORE): pyproject.toml requirements.lock
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' 2>/dev/null || { \
	echo "pondero needs Python 3.11 or newer; found $(or $(PYTHON),none); try: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Installing pondero into $(VENV); this takes up to a minute."
ifeq ($(UV),)
	@{ { test -e $@ || test -e $(READY); } && $(BIN)/python -m pip --version >/dev/null 2>&1; } || "$(PYTHON)" -m venv --clear $(VENV)
	@$(BIN)/python tools/core_lock.py > $(VENV)/core.lock
	$(PIP) --require-hashes -r $(VENV)/core.lock
	$(PIP) --no-deps --no-build-isolation -e .
else
	@{ test -e $@ || test -e $(READY); } || UV_VENV_CLEAR=1 "$(UV)" venv --quiet --python "$(PYTHON)" $(VENV)
	@$(BIN)/python tools/core_lock.py > $(VENV)/core.lock
	"$(UV)" pip install --quiet --python $(BIN)/python --require-hashes -r $(VENV)/core.lock
	"$(UV)" pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
endif
	@touch $@

$(READY): $(CORE)
ifeq ($(UV),)
	$(PIP) --require-hashes -r requirements.lock
else
	"$(UV)" pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	"$(UV)" pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
endif
	@touch $@

.PHONY: demo
demo: $(CORE) ## see the dial at work; no key, no network
	$(BIN)/pondero demo

.PHONY: test
test: lint contract coverage ## lint, the contract kit (with it all of test-thinking), coverage, then the whole suite
	$(BIN)/pytest -n 4 --inline-snapshot=disable || { test $$? = 1 && $(ALONE); }

.PHONY: test-pure
test-pure: $(READY) ## only the tests of the pure rooms, with a tenth of the examples
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -n 2 --inline-snapshot=disable $(wildcard $(PURE:%=tests/%))

.PHONY: coverage
coverage: $(READY) ## branch coverage of the rooms that decide, held to a floor each
	@rm -f .coverage .coverage.*
	HYPOTHESIS_PROFILE=quick $(BIN)/coverage run -m pytest -n 2 -q --inline-snapshot=disable $(wildcard $(COVERING:%=tests/%)) || { test $$? = 1 && $(ALONE) -q; }
	@$(BIN)/coverage combine --quiet
	@set -f; failed=0; for floor in $(FLOORS); do \
	$(BIN)/coverage report --include="*/pondero/$${floor%:*}/*" --fail-under="$${floor#*:}" || failed=1; \
	done; exit $$failed

.PHONY: contract
contract: $(READY) ## every provider's contract, and our cassettes; VCR_RECORD=1 records them anew
	$(if $(VCR_RECORD),,$(BIN)/pondero contract)
	$(BIN)/pondero contract --cassettes tests/cassettes

.PHONY: test-thinking
test-thinking: $(READY) ## the same level on every provider
	$(BIN)/pytest -n 4 --inline-snapshot=disable tests/thinking
	$(BIN)/pondero contract --scenario 'thinking_*'
	$(BIN)/pondero contract --scenario 'thinking_*' --cassettes tests/cassettes

.PHONY: mutants
mutants: $(READY) ## plant known defects in a copy, one by one: the tests named for each must fail; ROWS="A93 E36"
	$(BIN)/python tests/mutations/run.py $(ROWS)

.PHONY: lint
lint: $(READY) ## ruff, mypy, import-linter, and the limits on names and prose
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/names_check.py
	$(BIN)/python tools/prose_check.py

.PHONY: format
format: $(READY) ## let ruff fix and format what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: bench
bench: $(READY) ## measure against the goals and the peers; BENCH=--no-peers skips the peers
	$(BIN)/python bench/run.py $(BENCH)

.PHONY: simulate
simulate: $(READY) ## the error of a probe's verdict, of the gateway's watch and of a sweep's decision, simulated, as tables; RUNS=4 takes four times as many
	$(BIN)/python tools/simulate_probe.py --runs $(or $(RUNS),1)
	$(BIN)/python tools/simulate_watch.py --runs $(or $(RUNS),1)
	$(BIN)/python tools/simulate_sweep.py --runs $(or $(RUNS),1)

.PHONY: agents
agents: $(READY) ## real agents through the gateway on the emulator; AGENTS=FOLDER has them, ONLY=NAME and PART=levels pick
	$(BIN)/python tools/agents/run_agents.py --folder $(or $(AGENTS),build/agents) --only "$(ONLY)" $(addprefix --part ,$(PART))

.PHONY: judge-js
judge-js: $(READY) ## Google's JavaScript SDK at the emulator and through the gateway; needs node and npm
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix build/js @google/genai@2.32.0
	PONDERO_JS=build/js $(BIN)/pytest tests/oracles/test_interactions_js.py

.PHONY: soak
soak: $(READY) ## load a gateway with faults, hang-ups and kills; SECONDS=60 in place of 30 minutes
	$(BIN)/python bench/soak.py $(SECONDS)

.PHONY: scale
scale: $(READY) ## simulate ten replicas on one Redis and one PostgreSQL; SCALE="--rate 200" is more
	$(BIN)/python bench/simulate_scale.py $(SCALE)

.PHONY: catalog
catalog: $(CATALOG) ## compile the catalog's TOML

$(CATALOG): $(shell find src/pondero/catalog -name '*.toml' -o -name '*.py' -o -path '*/lists/*.json') | $(READY)
	$(BIN)/python -c "from pondero.catalog import write_compiled; write_compiled()"
	@touch $@

.PHONY: catalog-check
catalog-check: $(READY) ## hold the catalog against the committed list; MODELS_DEV=PATH takes another
	PONDERO_CONFIG_DIR=build/nobody $(BIN)/pondero models --refresh $(or $(MODELS_DEV),$(LISTS)/models-dev.json) --check

.PHONY: catalog-list
catalog-list: $(READY) ## commit another list: MODELS_DEV=PATH, and LITELLM=PATH for its limits
	$(BIN)/python -c "from pondero.catalog import write_lists; write_lists('$(MODELS_DEV)', '$(LITELLM)')"

.PHONY: package
package: $(READY) ## build sdist and wheel into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

.PHONY: test-package
test-package: $(READY) ## the package and what depends on the platform
	$(BIN)/pytest -n 2 --inline-snapshot=disable tests/test_package.py tests/test_platforms.py tests/tools

.PHONY: release-check
release-check: ## whether this checkout may be published as TAG=v1.2.3
	"$(PYTHON)" tools/release_check.py "$(TAG)"

.PHONY: changelog
changelog: ## write the fragments in changes/ into CHANGELOG.md, for a release
	"$(PYTHON)" tools/changelog.py

.PHONY: docs
docs: $(READY) ## write the tables that come from the catalog and the code
	$(BIN)/python docs/generate.py

.PHONY: session
session: $(READY) ## record the terminal session of the README again: docs/pictures/session.svg
	$(BIN)/python docs/session.py

.PHONY: site
site: $(READY) ## build the documentation into site/, strictly
	$(BIN)/mkdocs build --strict --site-dir site

# Keeps the pins that still fit; `make lock UPGRADE=--upgrade` takes the newest of everything.
.PHONY: lock
lock: ## pin every dependency by hash, for all platforms
	@test -n "$(UV)" || test -x build/uv/bin/uv || { \
	"$(PYTHON)" -m venv build/uv && build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv; }
	$(or $(UV),build/uv/bin/uv) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    --all-extras --group dev $(UPGRADE) --output-file requirements.lock pyproject.toml

.PHONY: clean
clean: ## remove everything a build, a test or a bench left behind
	rm -rf .venv .venv-* .bench .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist site htmlcov .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
