package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// drawResends draws a history of one-shots whose clients send each id again, to one gateway or two. Keys move,
// acknowledgements are late, gateways restart, and each gateway has several machines.
func drawResends(seed int64) Options {
	o := Draw(seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0x3333))
	o.Shards, o.Nodes, o.Machines = 2+r.IntN(2), 2+r.IntN(2), r.IntN(4)
	o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = 2, 4, 0, 2+r.IntN(2), 40
	o.MoveEvery = time.Duration(pick(r, 1, 3)) * time.Millisecond
	o.HeatEvery, o.FalseHeatMaps = 0, time.Millisecond
	o.Cuts, o.Jumps, o.Views, o.OneShotViews, o.TickLate = 0, 0, 0, 0, 0
	o.Jitter, o.Sync, o.DiskRead, o.Step = 100*time.Microsecond, 0, 0, 0
	o.Memory, o.MaxWaiters, o.KeyReferences, o.KeyWaiters = 0, 0, 0, 0
	o.Slots, o.Fills, o.Drains, o.Batch = 0, 0, 0, 0
	o.Mix = Mix{OneShot: 20, MaxOps: 2, Think: time.Millisecond}
	o.Mix.Resend, o.Mix.Twice = pick(r, 0.5, 1), pick(r, 0, 0.3)
	o.Mix.Ops = OpMix{Get: 1, Put: 2, Add: 6, AddGet: 2, Condition: 1}
	o.Objects, o.Expiring, o.Order, o.SentOnce = 0, false, txn.HotLast, false
	o.Anchored, o.AckLate = true, time.Duration(pick(r, 0, 20, 100))*time.Millisecond
	o.Crashes, o.Every, o.Down, o.LogPerShard = pick(r, 0, 20), 5*time.Millisecond, 2*time.Millisecond, true
	o.Faults = FaultMix{Gateway: 6, Torn: 2, Log: 1}
	o.Loss, o.Straggle, o.StraggleMax = pick(r, 0, 0.02), pick(r, 0, 0.1), 30*time.Millisecond
	o.Dup, o.Learned = pick(r, 0, 0.2), true
	return o
}

// TestResentIDsCommitOnce runs histories of drawResends.
func TestResentIDsCommitOnce(t *testing.T) { runSeeds(t, min(*timeFlag, 10*time.Second), drawResends) }
