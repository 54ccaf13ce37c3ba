# The verbs of this repository. `make help` lists them.
#
# Nothing has to be installed but Go (the version in go.mod) and make: tools are
# pinned in go.mod and run with `go tool`.

GO       ?= go
# FUZZTIME is how long `make fuzz` runs each target.
FUZZTIME ?= 5s
# SEEDS and DURATION bound `make sim`: how many random seeds each simulation
# tries, and for how long at most.
SEEDS    ?= 20000
DURATION ?= 10m
# ROUNDS is how often `make adt-check` tries to refute each data type.
ROUNDS   ?= 20000
# BENCH selects benchmarks, BENCHTIME is how long each runs.
BENCH     ?= .
BENCHTIME ?= 1s
# COMPARE are more flags of `make compare`: COMPARE='--rounds 9'.
COMPARE ?=
# PKGS are the packages that build, test and bench look at.
PKGS ?= ./...
# RACE_PKGS are run with the race detector: machines, shells and edges. The
# engines are left to `make race`: crashing file systems are slow under it.
RACE_PKGS ?= $$($(GO) list ./pkg/... | grep -v /pkg/engine)
# The simulations and scenarios. They run once more with rules broken on
# purpose (package mutant), each of which must be caught.
SIM_PKGS ?= ./pkg/mutant ./test/sim... ./test/scenario

SOURCES = cmd examples pkg test tools

.PHONY: help build test race lint fuzz sim bench compare proto generate adt-check check test-all test-race test-mutants test-compare

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the programs into bin/
	$(GO) build -trimpath -o bin/ ./cmd/...

test: lint adt-check test-all test-race test-mutants ## everything that must pass before a change lands

lint: ## go vet, gofmt, staticcheck, stale generated code, layering
	@unformatted=$$(gofmt -l $(SOURCES)); if [ -n "$$unformatted" ]; then \
		echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PKGS)
	$(GO) vet -tags mutants $(SIM_PKGS)
	$(GO) run ./tools/protogen -check
	$(GO) run ./tools/typesdoc -check
	$(GO) test ./test/layering
	$(GO) tool staticcheck $(PKGS)

test-all:
	$(GO) test -timeout 10m $(PKGS)

test-race:
	$(GO) test -race -timeout 10m $(RACE_PKGS)

test-mutants:
	$(GO) test -tags mutants -timeout 10m $(SIM_PKGS)

# The comparison is a module of its own. What needs a store that is not
# installed is skipped.
test-compare:
	cd test/compare && $(GO) vet ./... && $(GO) tool -modfile=../../go.mod staticcheck ./...
	cd test/compare && $(GO) test -timeout 10m ./...

race: ## all tests with the race detector
	$(GO) test -race -timeout 20m $(PKGS)

fuzz: ## fuzz every target for FUZZTIME
	$(GO) run ./tools/fuzzall -time $(FUZZTIME)

sim: ## simulate clusters for long: SEEDS seeds, at most DURATION
	$(GO) test -count=1 -v -timeout 0 ./test/sim -run 'TestSim$$' -args -seeds $(SEEDS) -duration $(DURATION)

bench: ## Go benchmarks that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PKGS)

compare: ## one counter, beside PostgreSQL, etcd and Redis: more flags in COMPARE
	cd test/compare && $(GO) run . --install $(COMPARE)

adt-check: ## try for long to refute what data types declare: ROUNDS of each
	$(GO) run ./cmd/linchpin check-types --rounds $(ROUNDS)

generate: proto ## generate what is generated: protocol code, and docs/types.md
	$(GO) run ./tools/typesdoc

proto: ## generate the code of all .proto files anew
	$(GO) run ./tools/protogen

check: build test race fuzz ## build, test, race and a short fuzz: all of it
