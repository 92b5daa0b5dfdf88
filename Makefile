# The one entry to the project. `make` alone lists what there is.
#
# Variables: ARGS="…"            more words for `landbridge up` (make run)
#            BENCH_KUBECONFIG=F  a second server to measure beside ours (make bench)
#            BENCH_ARGS="…"      more words for landbridge-bench
#            SOAK_ROUNDS=50      how many rounds make soak plays
#            RINGS="lint unit"   only these rings (make test)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TARGET := $(or $(CARGO_TARGET_DIR),target)
ARGS ?=
BENCH_KUBECONFIG ?=
BENCH_ARGS ?=
SOAK_ROUNDS ?= 50
FUZZ_SECONDS ?= 60
RINGS ?=

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: ## build quickly and run `landbridge up` here (state in .landbridge)
	@scripts/ensure-build-tools
	cargo build --profile quick -p landbridge
	@exec $(TARGET)/quick/landbridge up $(ARGS)

.PHONY: test
test: ## every ring of tests; the last lines say what was skipped and why
	@scripts/test $(RINGS)

.PHONY: soak
soak: ## SOAK_ROUNDS (50) rounds of mistakes for check, of kill -9 for store, server and operators, of faults for a lab
	@scripts/soak "$(SOAK_ROUNDS)"

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZ_SECONDS (60); needs a nightly compiler
	@scripts/fuzz "$(FUZZ_SECONDS)"

.PHONY: bench
bench: ## rates, latencies, CPU and memory of a release build
	@scripts/bench "$(BENCH_KUBECONFIG)" $(BENCH_ARGS)

.PHONY: lint
lint: ## format check, clippy, crate arrows, shell scripts
	@scripts/test lint

.PHONY: fmt
fmt: ## format the code
	cargo fmt --all

.PHONY: deny
deny: ## licences, duplicate versions, sources (installs cargo-deny when absent: minutes)
	@scripts/deny --install

.PHONY: docs
docs: ## API documentation of the crates, in target/doc
	cargo doc --workspace --no-deps

.PHONY: dist
dist: ## the binary that ships, in dist/
	@scripts/ensure-build-tools
	cargo build --profile dist -p landbridge
	@install -D -m 0755 $(TARGET)/dist/landbridge dist/landbridge
	@ls -l dist/landbridge

.PHONY: clean
clean: ## remove what was built or fetched (not .landbridge: that is state)
	cargo clean
	rm -rf build dist
