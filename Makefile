# The verbs of this repository. `make help` lists them.
#
# Nothing has to be installed but Go (the version in go.mod) and make: tools are
# pinned in go.mod and run with `go tool`.

GO       ?= go
# FUZZTIME is how long `make fuzz` runs each target.
FUZZTIME ?= 5s
# SEEDS and DURATION bound `make sim`: how many random seeds each simulation
# tries, and for how long at most. DURATION is also how long `make soak` lasts.
SEEDS    ?= 20000
DURATION ?= 10m
# ROUNDS is how often `make adt-check` tries to refute each data type.
ROUNDS   ?= 20000
# SEED determines the faults of `make soak`; without one it is drawn. REPLICAS is how
# many replicas its shards have.
SEED ?=
REPLICAS ?= 3
# BENCH selects benchmarks, BENCHTIME is how long each runs.
BENCH     ?= .
BENCHTIME ?= 1s
# CONTESTS are benchmarks that step pairs of machines: a number of steps says how
# long they run, and a second would be too few.
CONTESTS := ^Benchmark(AbstractLocks|AgainstItself|LoadReports)$$
# COMPARE are more flags of `make compare`: COMPARE='--rounds 9'.
COMPARE ?=
# PKGS are the packages that build, test and bench look at.
PKGS ?= ./...
# NO_RACE are the packages below pkg whose tests run without the race detector: those
# that have nothing to race with (test/layering sees to it), and those whose tests
# crash file systems, which are slow under it. `make race` has all.
NO_RACE := adt consensus entry hotshard kv load/dist msg mutant mvcc node/replication raftlog shard snapshot snapshotqueue txn users vclock engine
# RACE_PKGS are the others: shells and edges. Each test runs once: with the race
# detector, with the mutants, or as it is.
RACE_PKGS ?= $$($(GO) list ./pkg/... | grep -v -E '/pkg/($(subst $(eval) ,|,$(NO_RACE)))(/|$$)')
# NEEDS are packages of Debian whose programs tests run; PACKAGE=PROGRAM is not
# needed where the program is.
NEEDS ?= gcc=gcc libc6-dev=gcc prometheus chromium iproute2 python3=python3 python3-venv nodejs=node npm=npm
# The simulations and scenarios. They run in the build in which rules can be broken on
# purpose (package mutant), each of which must be caught.
SIM_PKGS ?= ./pkg/mutant ./test/sim... ./test/scenario ./pkg/shard ./pkg/shard/locktable ./pkg/consensus ./pkg/raftlog/logtest \
	./pkg/txn/env ./pkg/txn/readreq
# REST_PKGS are those that neither run with the race detector nor with the mutants: of
# two lists, the second of which is told twice, the lines that are there once.
REST_PKGS ?= $$( ($(GO) list $(PKGS); $(GO) list $(RACE_PKGS) $(SIM_PKGS) | sed p) | sort | uniq -u )
# LONG_PKGS begin first, so that none of them runs alone at the end.
LONG_PKGS ?= ./test/security ./test/integration ./test/faults
# LONG_RACE_PKGS are those of RACE_PKGS that begin first.
LONG_RACE_PKGS ?= ./pkg/embed
# NO_RACE_TESTS are tests of NO_RACE_TEST_PKGS, without their "Test": the race detector would falsify counts of
# allocations, and has nothing to find where one goroutine checks large histories, which it slows down seven times.
NO_RACE_TESTS ?= Allocations.* CheckAgreesWithExactCheck CheckDetectsMutations CheckMatchesReference \
	IncrementalRoundsMatchFullRounds LongHistoriesAreAccepted UnknownInitialStateMatchesReference
NO_RACE_TEST_PKGS ?= ./pkg/client ./pkg/embed ./pkg/history ./pkg/server
NO_RACE_NAMES = ^Test($(subst $(eval) ,|,$(strip $(NO_RACE_TESTS))))$$

# What is tested is what is shipped: programs without cgo (deploy/docker). Only the race
# detector needs cgo; the C code that pebble then brings is not worth optimising.
export CGO_ENABLED ?= 0
WITH_CGO = CGO_ENABLED=1 CGO_CFLAGS=-O0
RACE = $(WITH_CGO) $(GO) test -race
# `make lint` vets all packages, in both builds; go test would do part of it again.
TEST = $(GO) test -vet=off

SOURCES = cmd deploy examples pkg test tools

.PHONY: help needs build test race lint fuzz sim soak bench compare figures proto generate adt-check check staticcheck lint-rest test-all test-race test-mutants test-compare

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the programs into bin/
	$(GO) build -trimpath -o bin/ ./cmd/...

test: ## everything that must pass before a change lands
	@$(MAKE) --no-print-directory needs & $(MAKE) --no-print-directory lint; status=$$?; wait; exit $$status
	@$(MAKE) --no-print-directory test-all test-race test-mutants

# Garbage that is collected later takes a tenth off compiling.
lint: export GOGC = 400
lint: ## go vet, gofmt, staticcheck, stale generated code, layering
	@unformatted=$$(gofmt -l $(SOURCES)); if [ -n "$$unformatted" ]; then \
		echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PKGS)
	@$(MAKE) --no-print-directory -j2 -Otarget staticcheck lint-rest

# staticcheck uses one CPU, so it runs beside the rest.
staticcheck:
	$(GO) tool staticcheck $(PKGS)

lint-rest:
	$(GO) vet -tags mutants $(SIM_PKGS)
	cd test/compare && $(GO) vet ./...
	$(GO) run ./tools/protogen -check
	$(GO) run ./tools/typesdoc -check
	$(GO) run ./tools/metricsdoc -check
	$(GO) run ./tools/dashboards -check
	$(GO) run ./cmd/linchpin reference --check docs/cli.md
	$(GO) run ./test/bench/figures -check
	$(TEST) ./test/layering

# needs installs the programs of others that tests run, where that is possible;
# where it is not, those tests say that they are skipped.
needs:
	@.ci/needs $(NEEDS) || true

# Four packages at a time: those with real processes mostly wait.
test-all: needs
	$(TEST) -p 4 -timeout 10m $(LONG_PKGS) $(REST_PKGS)
	$(TEST) -timeout 10m -run '$(NO_RACE_NAMES)' $(NO_RACE_TEST_PKGS)

test-race: needs
	GOGC=400 $(WITH_CGO) $(GO) build -race $(RACE_PKGS)
	$(RACE) -vet=off -timeout 10m -skip '$(NO_RACE_NAMES)' $(LONG_RACE_PKGS) $(RACE_PKGS)

# Machines and simulations allocate much and keep little.
sim test-mutants: export GOGC = 400
test-mutants:
	$(TEST) -tags mutants -timeout 10m $(SIM_PKGS)

# The comparison is a module of its own. What needs a store that is not
# installed is skipped. Its tests build linchpin, which the go command does not know
# they depend on, and files of another module it would not look at: they always run.
test-compare:
	cd test/compare && $(GO) vet ./... && $(GO) tool -modfile=../../go.mod staticcheck ./...
	cd test/compare && $(GO) test -count=1 -timeout 10m ./...

race: ## all tests with the race detector
	$(RACE) -timeout 20m $(PKGS)

fuzz: ## fuzz every target for FUZZTIME
	$(GO) run ./tools/fuzzall -time $(FUZZTIME)

sim: ## simulate clusters for long: SEEDS seeds, at most DURATION
	$(GO) test -count=1 -v -timeout 0 ./test/sim -run 'TestSim$$|TestReplicas$$|TestMembers$$' -args -seeds $(SEEDS) -duration $(DURATION)
	$(GO) test -count=1 -v -timeout 0 ./pkg/consensus -run Schedules -args -schedules $(SEEDS)

soak: ## every fault under every workload on real nodes for DURATION, with SEED
	$(GO) test -count=1 -v -timeout 0 ./test/soak -run 'TestSoak$$' -args -duration $(DURATION) -replicas $(REPLICAS) $(if $(SEED),-seed $(SEED))

bench: ## Go benchmarks that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' $(if $(filter .,$(BENCH)),-skip '$(CONTESTS)') -benchtime $(BENCHTIME) -benchmem $(PKGS)
	$(if $(filter .,$(BENCH)),$(GO) test -run '^$$' -bench '$(CONTESTS)' -benchtime 10000x ./pkg/shard)

compare: ## one counter, beside PostgreSQL, etcd and Redis: more flags in COMPARE
	cd test/compare && $(GO) run . --install $(COMPARE)

adt-check: ## try for long to refute what data types declare: ROUNDS of each
	$(GO) run ./cmd/linchpin check-types --rounds $(ROUNDS)

generate: proto ## generate what is generated: protocol code, pages, dashboards
	$(GO) run ./tools/typesdoc
	$(GO) run ./tools/metricsdoc
	$(GO) run ./tools/dashboards
	$(GO) run ./cmd/zetaload reference docs/zetaload.md
	$(GO) run ./cmd/linchpin reference docs/cli.md
	$(GO) run ./test/bench/figures

figures: ## measure the figures of README and comparison anew, 20 minutes on a quiet machine
	cd test/compare && $(GO) run . --install --json ../../docs/figures/compare.json $(COMPARE)
	$(GO) run ./test/bench hot --only increments --json docs/figures/hot.json
	$(GO) run ./cmd/zetaload experiment hot-or-not --modes 2pc,auto --json docs/figures/hot-or-not.json
	$(GO) run ./test/bench/figures

proto: ## generate the code of all .proto files anew
	$(GO) run ./tools/protogen

check: build test race fuzz ## build, test, race and a short fuzz: all of it
