package simulated

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
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
	// App, if set, makes an application whose transactions the clients run, in the
	// place of Workload's. OneByOne runs each operation of it as a transaction of
	// its own.
	App      func(app.Env) (app.App, error)
	OneByOne bool
	// OnlyClient has the application used by one client at a time, though it knows
	// of as many as there would be.
	OnlyClient bool
	// Batches has cores do all that waits for the same machine at once, as nodes
	// do: one step, or one flush. It costs what it costs one by one.
	Batches bool
	// Workload is what the clients run. Its clients, its rate and its times
	// are not used.
	Workload workload.Options
	// Delay is how long a message takes between nodes.
	Delay time.Duration
	// Fsync is how long an fsync takes; 0 is a log that is durable at once.
	Fsync time.Duration
	// Warm precedes the measured part, Measure is its length.
	Warm, Measure time.Duration
	// WarmTxns and MeasureTxns, if MeasureTxns is set, stand in their place: so many
	// transactions end before the measured part, and in it, however long that takes.
	// Where transactions become dearer as data grows, only runs that did as many can
	// be compared.
	WarmTxns, MeasureTxns int
	// Drain has the clients stop after that, and the run go on until the
	// cluster is at rest.
	Drain bool
	// OneLane has cores take everything first come, first served.
	OneLane bool
	// UnsealAfter and HoldBound are those of the shards; 0 is their
	// default.
	UnsealAfter, HoldBound time.Duration
	// Auto has keys moved to the hot shard as they get hot; otherwise those that
	// were put there stay alone.
	Auto bool
	// NoHeat has gateways not hear which keys are hot.
	NoHeat bool
	// Costs are what is charged.
	Costs Costs
	// Beside is what runs beside the workload; nil for nothing.
	Beside *Beside
	// OneBound has gateways and shards do without shares: whoever comes first has
	// the places. It is a baseline.
	OneBound bool
	// MaxInFlight bounds the transactions of a gateway. Default 16,384.
	MaxInFlight int
	// Seed determines what the clients draw.
	Seed uint64
	// Ended, if set, hears of each transaction that has ended.
	Ended func(t workload.Txn, d txn.Done)

	// meter, if set, takes down what calls really take.
	meter *meter
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
