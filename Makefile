# ChokaQ SQL. `make` prints what there is.

SHELL := /bin/bash
.DEFAULT_GOAL := help
export CARGO_TARGET_DIR := $(CURDIR)/target

FUZZ_SECONDS := 600
VENV := target/venv
MAXDOP := $(VENV)/bin/maxdop
TSQL := procedures/mssql migrations/mssql sql/mssql driver/src/deploy/verify/mssql driver/src/deploy/verify/babelfish

.PHONY: help setup setup-postgres demo test fuzz lint deny format bench peers soak migration dist test-dist release

help: ## print this
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: setup-postgres $(MAXDOP) ## install what is missing: PostgreSQL's server binaries (Debian), maxdop (PyPI)

setup-postgres:
	@scripts/setup-postgres

$(MAXDOP): scripts/requirements.txt
	@scripts/setup-python $(VENV)

demo: setup-postgres ## the story of one dead letter, on a PostgreSQL of its own
	@env -u DATABASE_URL -u CHOKAQ_DATABASE_URL cargo run --package chokaq -- demo

test: setup-postgres ## every test, on every engine that is here; says how many cases ran on which
	scripts/test

fuzz: setup-postgres ## every fuzz target, each for FUZZ_SECONDS, 600 unless set
	CHOKAQ_FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test --package chokaq --lib --bins fuzz_ -- --nocapture --test-threads 1
	CHOKAQ_FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test --test fuzz -- --nocapture --test-threads 1

lint: $(MAXDOP) ## rustfmt, clippy, chokaq lint, and maxdop for SQL Server 2017, 2022 and 2025
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	cargo clippy --package chokaq --lib --no-default-features --quiet -- --deny warnings
	cargo run --quiet --package chokaq -- lint --contract tests/contract.txt procedures migrations
	$(MAXDOP) --check --parser-version 2017 $(TSQL)
	$(MAXDOP) --check --parser-version 2022 $(TSQL)
	$(MAXDOP) --check --parser-version 2025 $(TSQL)

deny: ## licences, sources and known faults of the dependencies; needs cargo-deny, and the network for the faults
	@command -v cargo-deny > /dev/null || { echo 'make deny: cargo install cargo-deny --locked' >&2; exit 1; }
	cargo deny check

format: $(MAXDOP) ## format Rust and T-SQL in place
	cargo fmt --all
	$(MAXDOP) --write --parser-version 2017 $(TSQL)

bench: setup-postgres ## criterion: the fetch, the purge, the driver; CHOKAQ_BENCH=short for a smoke run
	cargo bench --package chokaq-bench

peers: setup-postgres ## the kit beside other queues and the floor; PARTS=throughput,claim,sessions,purge,snapshot ARGS=...
	cargo run --release --package chokaq-bench --bin peers -- $(if $(PARTS),--parts $(PARTS)) $(ARGS)

soak: setup-postgres ## an hour of work, operators, sweeps and purges, checked throughout; ARGS="--minutes 5 --engine mssql"
	cargo run --release --package chokaq-bench --bin soak -- $(ARGS)

dist: ## the files of a release, in target/dist: installers, PostgreSQL's extension, sql/, checksums
	@scripts/dist

test-dist: setup-postgres dist ## install from these files, and run the suite of PostgreSQL over the extension
	scripts/test-dist

release: ## freeze the migrations and the contract of the version in Cargo.toml
	@scripts/release

migration: ## NAME=usp_X: copy a changed procedure, both twins, to the next free number
	@scripts/migration "$(NAME)"
