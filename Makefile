# recbot's commands for a developer: `make demo` (a recording on disk) and three tiers of tests (Tests/README.md):
# `make check` before each commit, `make test` (everything that is promised), `make endurance` (the long forms).
# All install what they need on a fresh Debian 12 machine that has the Swift toolchain.

# What is shipped: optimized, with the Swift runtime linked in. Scenarios run this program; unit tests are a debug build.
SHELL  := /bin/bash -o pipefail
BUILD  := -c release --static-swift-stdlib -Xlinker --no-export-dynamic
RECBOT := .build/release/recbot
PYTHON := .venv/bin/python
TIERS  := python3 Tests/tiers.py --recbot=$(RECBOT) $(if $(FUZZ_SECONDS),--fuzz=$(FUZZ_SECONDS))
HOURS  ?= 0
TOOLS  := wire peer-echo kit-bot bots webm-writer-loop hearing limits-bench
BENCHES := recbot compositor-bench codec-bench frontier-bench decoder-bench compose-bench room-bench curve-bench kit-bench session-bench backend-bench fleet-bench token-bench

.PHONY: demo check test endurance build programs unit-tests unit interop fuzz bench docs format lint clean

demo: deps
	swift build $(BUILD) --product recbot
	rm -f demo.webm demo.png
	$(RECBOT) demo --output demo.webm

check: test-deps $(PYTHON)
	$(TIERS) check

test: test-deps $(PYTHON)
	$(TIERS) test

endurance: test-deps $(PYTHON)
	$(TIERS) endurance --hours=$(HOURS)

build: deps
	swift build $(BUILD) --product recbot

# What scenarios run. Named one by one: a build of everything takes the tools of all dependencies along.
programs:
	@for name in recbot $(TOOLS); do echo "== $$name"; swift build $(BUILD) --product $$name || exit 1; done

# A debug build. Named: without it SwiftPM builds the tools of all packages too.
unit-tests:
	swift build --product recbotPackageTests

# The parts of `make test` alone.
unit: unit-tests
	Tests/unit.sh

interop: $(PYTHON) programs
	$(PYTHON) Tests/Interop/run.py --recbot $(RECBOT)

fuzz:
	Tests/Fuzz/run.sh $(or $(FUZZ_SECONDS),2)

bench: deps
	deploy/install-deps.sh --bench
	@for name in $(BENCHES); do echo "== $$name"; swift build $(BUILD) --product $$name || exit 1; done
	.build/release/compositor-bench
	.build/release/codec-bench
	.build/release/frontier-bench
	.build/release/decoder-bench
	.build/release/compose-bench $(RECBOT)
	.build/release/room-bench $(RECBOT)
	.build/release/curve-bench $(RECBOT)
	.build/release/kit-bench $(RECBOT)
	.build/release/session-bench
	.build/release/backend-bench $(RECBOT)
	.build/release/fleet-bench
	.build/release/token-bench

# Web pages of the library RecbotKit, in .build/docs: `python3 -m http.server --directory .build/docs`, /documentation/recbotkit.
docs: unit-tests
	rm -rf .build/docs
	deploy/api-docs.sh .build/docs

lint:
	swift format lint --strict --recursive Package.swift Sources Tests Examples

format:
	swift format format --in-place --recursive Package.swift Sources Tests Examples

.PHONY: deps test-deps
deps:
	deploy/install-deps.sh

test-deps:
	deploy/install-deps.sh --tests

$(PYTHON): Tests/Interop/requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --requirement Tests/Interop/requirements.txt
	touch $(PYTHON)

clean:
	rm -rf .build .venv

# Installing: `make install` (PREFIX=/usr/local, DESTDIR= for a folder that becomes another machine's root), `make deb` (a
# Debian package), `make check-package` (all of it tried on bare Debian machines in folders). As root install only:
# `make build && sudo make install`.
PREFIX  ?= /usr/local
PROGRAM := .build/release/recbot

.PHONY: install deb check-package
install:
	test -x $(PROGRAM) || $(MAKE) build
	deploy/install.sh $(PROGRAM) $(PREFIX) $(DESTDIR)

deb: build
	deploy/install-deps.sh --package
	deploy/debian/build.sh $(PROGRAM)

check-package: $(PYTHON)
	deploy/install-deps.sh --package
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement Tests/Package/requirements.txt
	test -x $(PROGRAM) || $(MAKE) build
	$(PYTHON) Tests/Package/check.py $(PROGRAM) $(if $(ONLY),--only=$(ONLY))
