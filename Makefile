# recbot's two commands: `make demo` (a recording on disk) and `make test` (everything that proves it).
# Both install what they need on a fresh Debian 12 machine that has the Swift toolchain.

# One build configuration for all: what is tested is what is shipped, and the dependencies are built once.
SHELL  := /bin/bash -o pipefail
BUILD  := -c release -Xswiftc -enable-testing
RECBOT := .build/release/recbot
PYTHON := .venv/bin/python
FUZZ_SECONDS ?= 5

.PHONY: demo test build unit interop fuzz bench format lint clean

demo: deps
	swift build $(BUILD) --product recbot
	rm -f demo.webm demo.png
	$(RECBOT) demo --output demo.webm

test: test-deps lint unit interop fuzz

build: deps
	swift build $(BUILD) --product recbot

unit:
	swift build $(BUILD) --build-tests
	Tests/unit.sh $(BUILD)

interop: $(PYTHON)
	swift build $(BUILD) --product recbot
	swift build $(BUILD) --product peer-echo
	swift build $(BUILD) --product wire
	$(PYTHON) Tests/Interop/aiortc/test_aiortc.py .build/release/peer-echo
	RECBOT=$(RECBOT) $(PYTHON) Tests/Interop/room_server_test.py
	RECBOT=$(RECBOT) $(PYTHON) Tests/Interop/room_server_faults_test.py
	RECBOT=$(RECBOT) $(PYTHON) Tests/Interop/backend_test.py
	RECBOT=$(RECBOT) $(PYTHON) Tests/Interop/api_schema_test.py
	$(PYTHON) Tests/Interop/run.py --recbot $(RECBOT)
	$(PYTHON) Tests/Interop/faults.py --recbot $(RECBOT)
	swift build $(BUILD) --product webm-writer-loop
	RECBOT=$(RECBOT) $(PYTHON) Tests/Interop/s3_test.py
	$(PYTHON) Tests/Interop/jobs.py --recbot $(RECBOT)
	$(PYTHON) Tests/Interop/egress.py --recbot $(RECBOT)

fuzz:
	Tests/Fuzz/run.sh $(FUZZ_SECONDS)

bench: build
	swift build $(BUILD) --product compositor-bench
	swift build $(BUILD) --product codec-bench
	swift build $(BUILD) --product backend-bench
	.build/release/compositor-bench
	.build/release/codec-bench
	.build/release/backend-bench $(RECBOT)

lint:
	swift format lint --strict --recursive Package.swift Sources Tests

format:
	swift format format --in-place --recursive Package.swift Sources Tests

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
