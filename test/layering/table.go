package layering

import "strings"

// Layer is a set of packages with one rule for what they may import.
type Layer struct {
	Name string
	// Packages are paths; with "/..." at the end, everything below as well.
	Packages []string
	// Imports are the layers that may be imported, this one included if it is
	// listed.
	Imports []string
	// OwnFamily narrows imports within the layer to packages below the same
	// pkg/NAME: engines know each other, and nothing of transports.
	OwnFamily bool
	// Pure packages are values and functions: see pure.go.
	Pure bool
	// Outside are the modules besides the standard library that may be
	// imported; nil is any.
	Outside []string
}

// Table is the architecture, from the bottom up (docs/architecture.md describes
// it in words). The first layer that has a package is the package's.
var Table = []Layer{
	{
		Name:     "words",
		Packages: []string{"pkg/kv", "pkg/mutant", "pkg/vclock"},
		Imports:  []string{"words"},
		Pure:     true, Outside: []string{"github.com/cespare/xxhash"},
	},
	{
		Name:     "messages",
		Packages: []string{"pkg/msg", "pkg/entry"},
		Imports:  []string{"words", "messages"},
		Pure:     true, Outside: []string{"github.com/gogo/protobuf", "google.golang.org/protobuf/encoding/protowire"},
	},
	{
		// What operations are and which of them commute: the machines lock by it,
		// and receipts are put into words by it, at the client as well.
		Name:     "types",
		Packages: []string{"pkg/adt", "pkg/adt/check", "pkg/adt/paged", "pkg/adt/tree"},
		Imports:  []string{"words", "messages", "types"},
		Pure:     true, Outside: []string{},
	},
	{
		Name:     "parts",
		Packages: []string{"pkg/txn/admission", "pkg/snapshotqueue", "pkg/snapshot", "pkg/hotshard", "pkg/mvcc", "pkg/users"},
		Imports:  []string{"words", "messages", "types", "parts"},
		Pure:     true, Outside: []string{"github.com/cespare/xxhash"},
	},
	{
		// What a gateway sees of the world around it, and pieces of transactions.
		Name:     "gateway environment",
		Packages: []string{"pkg/txn/env", "pkg/txn/piece"},
		Imports:  []string{"words", "messages", "types", "parts"},
		Pure:     true, Outside: []string{"github.com/cespare/xxhash"},
	},
	{
		// What a gateway knows of the cluster.
		Name:     "gateway knowledge",
		Packages: []string{"pkg/txn/shards", "pkg/txn/routing", "pkg/txn/heat"},
		Imports:  []string{"words", "messages", "types", "parts", "gateway environment"},
		Pure:     true, Outside: []string{},
	},
	{
		// What a transaction is made of: requests that are open, and what came of them.
		Name: "gateway legs",
		Packages: []string{"pkg/txn/commitreq", "pkg/txn/lockreq", "pkg/txn/page", "pkg/txn/readreq", "pkg/txn/round",
			"pkg/txn/session",
			"pkg/txn/status"},
		Imports: []string{"words", "messages", "types", "parts", "gateway environment", "gateway knowledge", "gateway legs"},
		Pure:    true, Outside: []string{},
	},
	{
		// One small type for each kind of transaction.
		Name:     "gateway flows",
		Packages: []string{"pkg/txn/flow"},
		Imports:  []string{"words", "messages", "types", "parts", "gateway environment", "gateway knowledge", "gateway legs"},
		Pure:     true, Outside: []string{},
	},
	{
		// What a shard holds: locks, records, keys, outcomes, heat.
		Name: "shard state",
		Packages: []string{"pkg/shard/step", "pkg/shard/expiry", "pkg/shard/contention", "pkg/shard/locktable",
			"pkg/shard/outcome", "pkg/shard/record", "pkg/shard/timeofday",
			"pkg/shard/store"},
		Imports: []string{"words", "messages", "types", "parts", "shard state"},
		Pure:    true, Outside: []string{},
	},
	{
		Name:     "shard execution",
		Packages: []string{"pkg/shard/exec"},
		Imports:  []string{"words", "messages", "types", "parts", "shard state"},
		Pure:     true, Outside: []string{},
	},
	{
		// What a shard knows of attempts of which it is a participant, and their lock requests.
		Name:     "shard attempts",
		Packages: []string{"pkg/shard/attempt", "pkg/shard/interactive"},
		Imports:  []string{"words", "messages", "types", "parts", "shard state", "shard execution", "shard attempts"},
		Pure:     true, Outside: []string{},
	},
	{
		// Both sides of the commit, and reads of the past, on top of the execution.
		Name:     "shard roles",
		Packages: []string{"pkg/shard/agent", "pkg/shard/past"},
		Imports:  []string{"words", "messages", "types", "parts", "shard state", "shard execution", "shard attempts"},
		Pure:     true, Outside: []string{},
	},
	{
		Name:     "shard readers",
		Packages: []string{"pkg/shard/readers"},
		Imports:  []string{"words", "messages", "types", "parts", "shard state", "shard execution", "shard roles"},
		Pure:     true, Outside: []string{},
	},
	{
		Name: "whole",
		// The two machines: a shard, and a gateway.
		Packages: []string{"pkg/shard", "pkg/txn"},
		Imports: []string{"words", "messages", "types", "parts", "shard state", "shard execution", "shard attempts",
			"shard roles", "shard readers",
			"gateway environment", "gateway knowledge", "gateway legs", "gateway flows"},
		Pure: true, Outside: []string{},
	},
	{
		// The log of a shard, and what waits for it.
		Name:     "shard logs",
		Packages: []string{"pkg/shardlog"},
		Imports:  []string{"words", "messages"},
		Pure:     true, Outside: []string{},
	},
	{
		// The replicated log of a shard: Raft, leases, promises.
		Name:     "consensus",
		Packages: []string{"pkg/consensus"},
		Imports:  []string{"words"},
		Pure:     true, Outside: []string{"go.etcd.io/raft/v3"},
	},
	{
		Name:     "wire",
		Packages: []string{"pkg/rpc/..."},
		Imports:  []string{"words", "messages", "types", "wire"},
	},
	{
		Name: "world",
		Packages: []string{"pkg/engine/...", "pkg/clock/...", "pkg/transport/...",
			"pkg/membership/...", "pkg/shardlog/logtest"},
		Imports:   []string{"words", "messages", "shard logs", "consensus", "wire", "world"},
		OwnFamily: true,
	},
	{
		// The file of a node's identity, which is that of package membership.
		Name:     "catalog",
		Packages: []string{"pkg/catalog/..."},
		Imports:  []string{"words", "world"},
	},
	{
		// The logs of a node's replicas, as rows of an engine.
		Name:     "replica logs",
		Packages: []string{"pkg/raftlog/..."},
		Imports:  []string{"words", "messages", "consensus", "world", "replica logs"},
		Outside:  []string{"go.etcd.io/raft/v3", "github.com/stretchr/testify"},
	},
	{
		// Who is who, and who may come in: certificates, tokens, limits.
		Name:     "security",
		Packages: []string{"pkg/certs", "pkg/guard", "pkg/guard/memory"},
		Imports:  []string{"words", "messages", "parts", "wire", "security"},
	},
	{
		// Shells count into it, and it reads the counters of what they run.
		Name:     "instruments",
		Packages: []string{"pkg/metrics/...", "pkg/logs", "pkg/trace", "pkg/activity"},
		Imports:  []string{"words", "messages", "parts", "whole", "wire", "world", "security", "instruments"},
	},
	{
		// What the shells decide between steps and the log. The simulation runs it.
		Name:     "gathering",
		Packages: []string{"pkg/node/groupcommit"},
		Imports:  []string{"words", "messages", "shard logs", "whole", "world"},
		Pure:     true, Outside: []string{},
	},
	{
		// The same for a shard with replicas.
		Name:     "replication",
		Packages: []string{"pkg/node/replication"},
		Imports:  []string{"words", "messages", "shard logs", "consensus", "whole"},
		Pure:     true, Outside: []string{"go.etcd.io/raft/v3"},
	},
	{
		// Which node should lead which shard.
		Name:     "balance",
		Packages: []string{"pkg/node/balance"},
		Imports:  []string{"words"},
		Pure:     true, Outside: []string{},
	},
	{
		Name:     "shells",
		Packages: []string{"pkg/node/...", "pkg/gateway/..."},
		Imports: []string{"words", "messages", "types", "parts", "shard logs", "consensus", "whole", "wire", "world",
			"instruments", "replica logs", "gathering", "replication", "balance", "shells"},
	},
	{
		// What the program brings along of the files for those who run it.
		Name:     "files",
		Packages: []string{"deploy"},
		Outside:  []string{},
	},
	{
		// What the Go client sends and receives: encoded requests and responses, without
		// operations and data types.
		Name:     "client link",
		Packages: []string{"pkg/internal/link"},
		Imports:  []string{"words", "wire", "client link"},
	},
	{
		// The Go client is an edge that stands on the wire alone: a program that
		// imports it does not get a server with it.
		Name:     "client",
		Packages: []string{"pkg/client/...", "pkg/internal/clientlink", "pkg/backup"},
		Imports:  []string{"words", "messages", "types", "wire", "client link", "client"},
	},
	{
		Name: "edges",
		Packages: []string{"pkg/server/...", "pkg/console", "pkg/load/workload", "pkg/load/app", "pkg/load/dist/...",
			"pkg/load/clientstore", "pkg/load/loadtest", "pkg/cli/..."},
		Imports: []string{"words", "messages", "types", "parts", "whole", "wire", "world", "security", "instruments",
			"shells",
			"files", "client", "edges"},
	},
	{
		// A whole node, or a whole cluster, inside a program.
		Name:     "assembly",
		Packages: []string{"pkg/embed/...", "pkg/load/experiment/...", "pkg/linchpintest"},
		Imports: []string{"words", "messages", "types", "parts", "whole", "wire", "world", "security", "instruments",
			"shells", "catalog", "consensus", "replica logs",
			"client", "edges", "assembly"},
	},
	{
		// The checkers of histories are for tests and zetaload.
		Name:     "judges",
		Packages: []string{"pkg/history/..."},
		Imports:  []string{"words", "messages", "judges"},
	},
	{
		// The programs, and package program: what theirs is made of who have data
		// types of their own, as the examples do.
		Name:     "wiring",
		Packages: []string{"cmd/...", "pkg/program", "examples/..."},
		Imports: []string{"words", "messages", "types", "parts", "whole", "wire", "world", "security", "instruments",
			"shells",
			"client", "edges", "assembly", "judges", "wiring"},
	},
	{
		Name:     "tools",
		Packages: []string{"tools/..."},
		Imports:  []string{"words", "types", "instruments", "tools"},
	},
	{
		Name:     "tests",
		Packages: []string{"test/..."},
		Imports: []string{"words", "messages", "types", "parts", "whole", "wire", "world", "security", "instruments",
			"shells",
			"gathering", "files", "client", "edges", "assembly", "judges", "wiring", "tests", "tools"},
	},
}

// Homes are modules that only some packages may import, tests included.
var Homes = map[string][]string{
	"github.com/cockroachdb/pebble/v2": {"pkg/engine/pebblestore", "pkg/raftlog/logtest", "pkg/node/replication",
		"tools", "test"},
	"go.etcd.io/bbolt":         {"pkg/catalog", "tools", "test"},
	"gonum.org/v1/plot":        {"pkg/load/experiment/hotornot"},
	"go.opentelemetry.io/otel": {"pkg/trace", "pkg/client", "test"},
	"github.com/peterh/liner":  {"pkg/cli/shell"},
}

// TestOnly are modules for tests and for packages that tests are made of.
var TestOnly = []string{
	"github.com/stretchr/testify", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/cockroachdb/datadriven",
	"github.com/prometheus/prometheus", "github.com/chromedp", "github.com/creack/pty",
}

// layerOf finds a package's layer.
func layerOf(table []Layer, pkg string) *Layer {
	for i := range table {
		for _, pattern := range table[i].Packages {
			dir, all := strings.CutSuffix(pattern, "/...")
			if pkg == dir || all && under(pkg, dir) {
				return &table[i]
			}
		}
	}
	return nil
}

// family is the part of a path that OwnFamily compares: pkg/NAME.
func family(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// forTests reports whether a package is what tests are made of: it lies under
// test or its name ends in "test".
func forTests(pkg string) bool {
	return under(pkg, "test") || strings.HasSuffix(pkg, "test")
}
