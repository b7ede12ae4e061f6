# A thin front; the build itself is in CMakeLists.txt and CMakePresets.json.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 30
SIM_ARGUMENTS ?= --seed 1 --seeds 20 --days 30 --destinations 50 --messages 2000 --faults all
NIGHTLY_SIM_ARGUMENTS ?= --seed 1000 --seeds 500 --days 90 --destinations 200 --messages 10000 --faults all
NIGHTLY_FUZZ_SECONDS ?= 600
EXAMPLES ?= 50
NIGHTLY_EXAMPLES ?= 300
MUTATE ?= --sample 300
NIGHTLY_MUTANTS ?= 1000
# What is drawn follows from the commit: each night others, and the same again when it is repeated.
NIGHTLY_SEED ?= $(shell git rev-parse HEAD 2>/dev/null | tr -dc 0-9 | cut -c1-6)
SEED ?= 1
ROUNDS ?= 1000
DEVICE_ROUNDS ?= 240
LINK_ROUNDS ?= 70
MATRIX_ROUNDS ?= 200
LXMF_ROUNDS ?= 100
RPC_ROUNDS ?= 300
CRASH_SEED ?= 1
CRASH = build/release/tests/crash_rounds
DAMAGES ?= 1000
DAMAGE_SEED ?= 1
export JOBS EXAMPLES SEED

POSTRIDER = build/release/postrider

.DEFAULT_GOAL := release
.PHONY: release test run demo crash damage sim bench fuzz lint lint-all format test-asan test-tsan interop interop-lxmf api-test mutants web-test nightly clean help program deps deps-clang deps-interop deps-mutants deps-web

release: program ## Build build/release/postrider (the default)

test: build-release ## Build once, run all fast tests and the checks of the repository
	scripts/run-tests build/release

run: program ## Start the daemon on ./data to try it out; Ctrl-C stops it
	@exec $(POSTRIDER) serve --dev --data ./data

demo: program ## See it work: 5,000 messages, bad receivers, a kill -9 in the middle
	$(POSTRIDER) demo

crash: build-release ## Kill the daemon ROUNDS (1000) times, with devices DEVICE_ROUNDS (240) more, two over links LINK_ROUNDS (70) for each way, with Matrix servers MATRIX_ROUNDS (200), two with LXMF LXMF_ROUNDS (100), callers and a service by HTTP and by sessions RPC_ROUNDS (300) each; first show that it would notice
	$(CRASH) --daemon $(POSTRIDER) --break sync --rounds 50 --seed $(CRASH_SEED) --expect lost
	$(CRASH) --daemon build/release/tests/postrider_planted --plant reply-before-commit \
	  --rounds 200 --seed $(CRASH_SEED) --expect lost
	$(CRASH) --daemon $(POSTRIDER) --rounds $(ROUNDS) --seed $(CRASH_SEED)
	$(CRASH) --world device --daemon $(POSTRIDER) --break sync --rounds 20 --seed $(CRASH_SEED) --expect lost
	$(CRASH) --world device --daemon build/release/tests/postrider_planted --sinks $(POSTRIDER) \
	  --plant one-look-is-absence --rounds 50 --seed $(CRASH_SEED) --expect order
	$(CRASH) --world device --daemon $(POSTRIDER) --rounds $(DEVICE_ROUNDS) --seed $(CRASH_SEED)
	POSTRIDER_LINK_ROUNDS=$(LINK_ROUNDS) build/release/tests/crash_test --gtest_filter='*LinkRounds*'
	POSTRIDER_MATRIX_ROUNDS=$(MATRIX_ROUNDS) POSTRIDER_MATRIX_SEED=$(CRASH_SEED) POSTRIDER_PATIENCE=240 \
	  python3 tests/e2e/matrix_rounds_test.py
	POSTRIDER_LXMF_ROUNDS=$(LXMF_ROUNDS) POSTRIDER_LXMF_SEED=$(CRASH_SEED) POSTRIDER_PATIENCE=240 \
	  python3 tests/e2e/lxmf_test.py
	POSTRIDER_RPC_ROUNDS=$(RPC_ROUNDS) POSTRIDER_RPC_SEED=$(CRASH_SEED) POSTRIDER_PATIENCE=240 \
	  python3 tests/e2e/rpc_test.py
	POSTRIDER_RPC_ROUNDS=$(RPC_ROUNDS) POSTRIDER_RPC_SEED=$(CRASH_SEED) POSTRIDER_PATIENCE=240 \
	  python3 tests/e2e/rpc_session_test.py

damage: build-release ## Damage what killed and closed daemons leave behind DAMAGES (1000) times; none may be silent
	build/release/tests/damage_rounds --daemon $(POSTRIDER) --damages $(DAMAGES) --seed $(DAMAGE_SEED)

sim: program ## Simulate months of faults for every profile (SIM_ARGUMENTS=…)
	$(POSTRIDER) sim --profile webhook $(SIM_ARGUMENTS)
	$(POSTRIDER) sim --profile drill $(SIM_ARGUMENTS)
	$(POSTRIDER) sim --profile device $(SIM_ARGUMENTS)

bench: program ## Build and run the benchmarks
	cmake --build build/release -j $(JOBS) --target benches
	@for bench in build/release/bench/*_bench; do \
	  [ -x "$$bench" ] || { echo "There are no benchmarks in bench/ yet."; continue; }; \
	  echo "== $$(basename $$bench)"; $$bench || exit 1; done

fuzz: deps-clang build-fuzz ## Run every fuzzer for FUZZ_SECONDS (30) each
	scripts/run-fuzzers build/fuzz $(FUZZ_SECONDS)

lint: deps-clang build/dev/build.ninja ## Check format, layers, requirement lists; clang-tidy on changed files
	scripts/lint build/dev

lint-all: deps-clang build/dev/build.ninja ## The same with clang-tidy on all files
	scripts/lint build/dev --all

format: deps-clang ## Format all sources
	git ls-files --cached --others --exclude-standard '*.cc' '*.h' | sort -u | xargs -r ls 2>/dev/null | xargs -r clang-format-14 -i

test-asan: build-asan ## All tests with the address and undefined-behaviour sanitizers
	scripts/run-tests build/asan

test-tsan: build-tsan ## All tests with the thread sanitizer
	scripts/run-tests build/tsan

interop: deps-interop build-release ## Against what others wrote: nginx, Standard Webhooks, official gRPC and ChirpStack packages, two Synapses, generated clients
	scripts/interop build/release

interop-lxmf: build-release ## Against Python peers of LXMF, which it installs into build/ under a licence of their own: opt in by calling it
	scripts/interop-lxmf build/release

api-test: deps-interop build-release ## Requests drawn from /openapi.json, good and bad, EXAMPLES (50) for each operation
	scripts/test-api build/release

mutants: deps-mutants build-mutants ## Mutate core/ and the tables (MUTATE=--sample 300 --seed 1), list what no test notices
	tools/mutate --build build/mutants $(MUTATE)

web-test: deps-web build-release ## The dashboard in real headless Chromium
	scripts/test-web build/release

nightly: test ## Everything that takes long: sanitizers, long simulations, long fuzzing
	$(MAKE) test-asan
	$(MAKE) test-tsan
	$(MAKE) interop
	$(MAKE) api-test EXAMPLES=$(NIGHTLY_EXAMPLES) SEED=$(NIGHTLY_SEED)
	$(MAKE) web-test
	$(MAKE) damage DAMAGE_SEED=$(NIGHTLY_SEED)
	$(MAKE) sim SIM_ARGUMENTS="$(NIGHTLY_SIM_ARGUMENTS)"
	POSTRIDER_CRASH_POINTS=all build/release/tests/sim_test --gtest_filter='*CrashPointsOf.LoseNothingAndDoubleNothing/*:LinkWorlds.NoCrashPoint*'
	POSTRIDER_FLOOD=1000000 build/release/tests/sim_test --gtest_filter='StagedWorld.AFlood*'
	$(MAKE) mutants MUTATE="--sample $(NIGHTLY_MUTANTS) --seed $(NIGHTLY_SEED)"
	$(MAKE) fuzz FUZZ_SECONDS=$(NIGHTLY_FUZZ_SECONDS)

clean: ## Remove all build results
	rm -rf build

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

deps:
	@scripts/install-deps --check 2>/dev/null || scripts/install-deps

deps-clang: deps
	@scripts/install-deps --check clang 2>/dev/null || scripts/install-deps clang

deps-interop: deps
	@scripts/install-deps --check interop 2>/dev/null || scripts/install-deps interop

deps-mutants: deps
	@scripts/install-deps --check mutants 2>/dev/null || scripts/install-deps mutants

deps-web: deps
	@scripts/install-deps --check web 2>/dev/null || scripts/install-deps web

# Ninja configures again by itself when a CMake file or the list of sources changes; only a new preset needs help.
build/%/build.ninja: CMakePresets.json | deps
	cmake --preset $*
	@touch $@
build/fuzz/build.ninja: | deps-clang

build-%: deps build/%/build.ninja
	@scripts/build $*

# The program alone, without the tests: half of the steps.
program: deps build/release/build.ninja
	@scripts/build release postrider

.PRECIOUS: build/%/build.ninja
