package simulated

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Result is what a run did in its measured part.
type Result struct {
	Options Options
	// Begun counts transactions over the whole run, Ended those of them that
	// have ended.
	Begun, Ended int
	// Reads and Updates are what committed.
	Reads, Updates Kind
	// All is both together.
	All Kind
	// ReadAborts counts attempts of read-only transactions that were aborted.
	ReadAborts int
	// PerSecond is what committed.
	PerSecond float64
	// Held is for how long updates were held, all together: where one was on
	// two shards at once, twice. HeldShare is that as a part of the sum of
	// their latencies.
	Held      time.Duration
	HeldShare float64
	// Messages between nodes, and steps of shards, of each that committed.
	Messages, Steps float64
	// Rows of the logs, and fsyncs if these take time, of each that committed.
	Rows, Syncs float64
	// Work is what each node's core has to do for each that committed, Gateways the
	// part of it that gateways do: for the clients of their own node.
	Work, Gateways []time.Duration
	// Busy is the part of the time for which cores worked: of all, and of the
	// one that worked most.
	Busy, Busiest float64
	// Beside is of what ran beside the workload.
	Beside BesideResult
	// Counts are of all shards together.
	Counts Counts
}

// Kind is about one kind of transaction.
type Kind struct {
	Committed, Failed int
	// Aborts counts attempts before the last.
	Aborts         int
	Mean, P50, P99 time.Duration

	latencies []int64
	total     int64
}

// Counts are sums over the shards.
type Counts struct {
	// Holds, Waits, Refusals, Unseals are those of the snapshot-queues.
	Holds, Waits, Refusals, Unseals uint64
	// ReadWait is for how long readers waited, LockWait for how long requests
	// for locks did.
	ReadWait, LockWait, held time.Duration
}

func (c *cluster) counts() (k Counts) {
	for _, s := range c.shards {
		x := s.m.Status(0)
		k.Holds += x.Queues.Holds
		k.Waits += x.Queues.Waits
		k.Refusals += x.Queues.Refusals
		k.Unseals += x.Queues.Unseals
		k.held += time.Duration(x.Queues.HeldNanos)
		k.ReadWait += time.Duration(x.Stats.ReadWaitNanos)
		k.LockWait += time.Duration(x.Stats.LockWait.Nanos)
	}
	return k
}

func (k Counts) minus(o Counts) Counts {
	return Counts{k.Holds - o.Holds, k.Waits - o.Waits, k.Refusals - o.Refusals, k.Unseals - o.Unseals,
		k.ReadWait - o.ReadWait, k.LockWait - o.LockWait, k.held - o.held}
}

// tally counts as a run goes.
type tally struct {
	ids      uint64
	messages int
	steps    int
	rows     int
	syncs    int
	begun    int
	over     int

	measuring     bool
	reads, writes Kind
	readAborts    int
	// before is what there was when measuring began.
	before struct {
		messages, steps int
		rows, syncs     int
		counts          Counts
		worked, gateway []int64
	}
}

func (t *tally) begin(c *cluster) {
	t.measuring = true
	t.before.messages, t.before.steps, t.before.counts = t.messages, t.steps, c.counts()
	t.before.rows, t.before.syncs = t.rows, t.syncs
	for _, n := range c.nodes {
		t.before.worked = append(t.before.worked, n.worked)
		t.before.gateway = append(t.before.gateway, n.gateway)
	}
}

// ended counts a transaction that has ended.
func (t *tally) ended(reads bool, f *msg.Failure, aborts int, took int64) {
	t.over++
	if !t.measuring {
		return
	}
	k := &t.writes
	if reads {
		k = &t.reads
		t.readAborts += aborts
		if f != nil && kv.Kind(f.Kind) == kv.KindAborted {
			t.readAborts++
		}
	}
	k.Aborts += aborts
	if f != nil {
		k.Failed++
		return
	}
	k.Committed++
	k.total += took
	k.latencies = append(k.latencies, took)
}

// end gives the result of a measured part that took so long.
func (t *tally) end(c *cluster, took time.Duration) Result {
	t.measuring = false
	all := Kind{Committed: t.reads.Committed + t.writes.Committed, total: t.reads.total + t.writes.total,
		latencies: slices.Concat(t.reads.latencies, t.writes.latencies)}
	r := Result{Options: c.opt, Begun: t.begun, Ended: t.over, Reads: t.reads.summed(), Updates: t.writes.summed(),
		ReadAborts: t.readAborts, All: all.summed()}
	r.Counts = c.counts().minus(t.before.counts)
	committed := float64(max(t.reads.Committed+t.writes.Committed, 1))
	r.PerSecond = committed / took.Seconds()
	r.Held = r.Counts.held
	r.HeldShare = float64(r.Held) / float64(max(t.writes.total, 1))
	r.Messages, r.Steps = float64(t.messages-t.before.messages)/committed, float64(t.steps-t.before.steps)/committed
	r.Rows, r.Syncs = float64(t.rows-t.before.rows)/committed, float64(t.syncs-t.before.syncs)/committed
	for i, n := range c.nodes {
		r.Work = append(r.Work, time.Duration(float64(n.worked-t.before.worked[i])/committed))
		r.Gateways = append(r.Gateways, time.Duration(float64(n.gateway-t.before.gateway[i])/committed))
		busy := float64(n.worked-t.before.worked[i]) / float64(took)
		r.Busy += busy / float64(len(c.nodes))
		r.Busiest = max(r.Busiest, busy)
	}
	return r
}

// summed has the quantiles in place of the single latencies.
func (k Kind) summed() Kind {
	if n := len(k.latencies); n > 0 {
		slices.Sort(k.latencies)
		k.Mean = time.Duration(k.total / int64(n))
		k.P50, k.P99 = time.Duration(k.latencies[n/2]), time.Duration(k.latencies[n*99/100])
	}
	k.latencies = nil
	return k
}
