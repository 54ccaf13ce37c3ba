package simulated

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/app"
)

// Options describe a run.
type Options struct {
	// Nodes have Shards ordinary shards together, by default one each.
	Nodes, Shards int
	// HotKeys is how many of the hottest keys are on the hot shard.
	HotKeys int
	// Clients is how many run on each node, in a closed loop.
	Clients int
	// Reads says how read-only transactions read.
	Reads txn.Reads
	// Order is that in which transactions lock and decide.
	Order txn.Order
	// Sharing says what is made of it that operations commute.
	Sharing shard.Sharing
	// AppOptions say which application runs, if any.
	AppOptions
	// Workload is what the clients run. Its clients, its rate and its times
	// are not used.
	Workload workload.Options
	// Delay is how long a message takes between nodes.
	Delay time.Duration
	// Fsync is how long an fsync takes; 0 is a log that is durable at once.
	Fsync time.Duration
	// Warm precedes the measured part, Measure is its length.
	Warm, Measure time.Duration
	Counted
	// Drain has the clients stop after that, and the run go on until the
	// cluster is at rest.
	Drain bool
	// UnsealAfter is that of the shards; 0 is their default.
	UnsealAfter time.Duration
	Baseline
	// Auto has keys moved to the hot shard as they get hot; otherwise those that
	// were put there stay alone.
	Auto bool
	// Costs are what is charged.
	Costs Costs
	// Beside is what runs beside the workload; nil for nothing.
	Beside *Beside
	// MaxInFlight bounds the transactions of a gateway. Default 16,384.
	MaxInFlight int
	// Seed determines what the clients draw.
	Seed uint64
	// Ended, if set, is called at the end of each transaction.
	Ended func(t workload.Txn, d txn.Done)

	// meter, if set, takes down what calls really take.
	meter *meter
}

// AppOptions make clients run an application.
type AppOptions struct {
	// App, if set, makes an application whose transactions the clients run, instead of those of Workload. OneByOne runs
	// each operation of it as a transaction of its own.
	App      func(app.Env) (app.App, error)
	OneByOne bool
	// OnlyClient: one client at a time uses the application, although it is configured for as many as there would be.
	OnlyClient bool
	// Batches: cores process everything that waits for the same machine at once, as nodes do, in one step or one flush.
	// It is charged one by one.
	Batches bool
}

// Counted bounds the parts of a run by transactions instead of time: WarmTxns end before the measured part, and
// MeasureTxns in it. If transactions become more expensive as data grows, only runs of equal numbers can be compared.
type Counted struct{ WarmTxns, MeasureTxns int }

// Baseline turns off what nodes do, for comparison.
type Baseline struct {
	// OneLane: cores process everything in the order of arrival.
	OneLane bool
	// NoHeat: gateways do not learn which keys are hot.
	NoHeat bool
	// OneBound: gateways and shards admit in the order of arrival, without shares.
	OneBound bool
}

func (o Options) withDefaults() Options {
	if o.Nodes == 0 {
		o.Nodes = 20
	}
	if o.Shards == 0 {
		o.Shards = o.Nodes
	}
	if o.Clients == 0 {
		o.Clients = 10
	}
	if o.Delay == 0 {
		o.Delay = 20 * time.Microsecond
	}
	if o.Measure == 0 {
		o.Measure = 100 * time.Millisecond
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = kv.DefaultMaxInFlight
	}
	o.Workload.Seed, o.Workload.Clients = o.Seed, o.Clients*o.Nodes
	return o
}
