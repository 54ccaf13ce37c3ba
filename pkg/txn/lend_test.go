package txn

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// machinePair is two machines of a node, of which one borrows snapshots from the other. Shards
// respond to rounds and reads at once, and to nothing else.
type machinePair struct {
	t                *testing.T
	lender, borrower *Gateway
	now              int64
	// rounds are the snapshots that shards have fixed; released are those that they need no longer
	// retain.
	rounds, released map[kv.TxnRef]bool
	csn              kv.CSN
	// lends are the snapshots that are lent and not delivered yet.
	lends []*Done
	// reads are the snapshots that were read.
	reads []kv.TxnRef
}

func newMachinePair(t *testing.T) *machinePair {
	router, err := hotshard.NewRouter(1, 1, nil)
	require.NoError(t, err)
	cfg := Config{Node: 1, Router: router, Reads: SnapshotReads, RoundGap: -1}
	p := &machinePair{t: t, lender: NewGateway(cfg), rounds: map[kv.TxnRef]bool{}, released: map[kv.TxnRef]bool{}, now: 1}
	cfg.Borrows = true
	p.borrower = NewGateway(cfg)
	return p
}

// flush delivers the output of both machines, except responses to Lend, which deliverLend delivers.
func (p *machinePair) flush() (done []Done) {
	for again := true; again; {
		again = false
		for _, g := range []*Gateway{p.borrower, p.lender} {
			out := g.Flush()
			for i := range out.Done {
				if d := out.Done[i]; g == p.lender {
					p.lends = append(p.lends, &d)
				} else {
					done = append(done, d)
				}
			}
			if out.BorrowSnapshot {
				p.lender.LendSnapshot(p.now, "lend")
				again = true
			}
			for _, name := range out.ReturnSnapshots {
				p.lender.ReturnSnapshot(p.now, name)
				again = true
			}
			for _, env := range out.Send {
				again = p.respond(g, env) || again
			}
		}
	}
	return done
}

// respond is a shard's response to a message. It reports whether there is one.
func (p *machinePair) respond(g *Gateway, env *msg.Envelope) bool {
	switch q := msg.As[msg.Read](env); {
	case msg.Is[msg.ReadPage](env) && msg.As[msg.ReadPage](env).Done:
		p.released[msg.As[msg.ReadPage](env).Txn] = true
		return false
	case q == nil:
		return false
	default:
		if q.RetainNanos > 0 {
			p.rounds[q.Reader] = true
		} else {
			require.False(p.t, p.released[q.Round], "a released snapshot is read")
			p.reads = append(p.reads, q.Round)
		}
		p.csn++
		reply := msg.ToGateway(1)
		reply.Body = &msg.ReadResponse{
			Reader:  q.Reader,
			Number:  q.Number,
			CSN:     p.csn,
			Reading: msg.Reading{Shard: env.Shard, Incarnation: 1, Number: uint64(p.csn)},
			Results: make([]msg.Result, len(q.Ops)),
		}
		g.Deliver(p.now, reply)
		return true
	}
}

func (p *machinePair) execute(n uint64) {
	ops := []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}
	p.borrower.Execute(p.now, n, kv.TxnID{Time: int64(n), Rand: n}, ops, math.MaxInt64/2, TxnOptions{Plan: PlanSnapshot})
}

// deliverLend delivers the oldest response to Lend.
func (p *machinePair) deliverLend() []Done {
	d := p.lends[0]
	p.lends = p.lends[1:]
	p.borrower.OnBorrowedSnapshot(p.now, d.Snapshot, d.Failure)
	return p.flush()
}

// TestSnapshotsAreLentToOtherMachines: a transaction that arrives while a snapshot is being fixed
// waits for the next one. Shards release a snapshot when its last reader has ended.
func TestSnapshotsAreLentToOtherMachines(t *testing.T) {
	p := newMachinePair(t)
	p.execute(1)
	p.execute(2) // after the request for the first snapshot
	require.Empty(t, p.flush())
	require.Len(t, p.lends, 1)
	require.Len(t, p.rounds, 1)
	require.Empty(t, p.released, "the snapshot is retained")

	done := p.deliverLend()
	require.Len(t, done, 1, "the second transaction waits for the next snapshot")
	require.Nil(t, done[0].Failure)
	require.Equal(t, PlanSnapshot, done[0].Plan)
	require.Len(t, p.released, 1, "the first snapshot has no reader")
	require.Len(t, p.rounds, 2)

	require.Len(t, p.deliverLend(), 1)
	require.Len(t, p.released, 2)
	require.NotEqual(t, p.reads[0], p.reads[len(p.reads)-1])
	require.NoError(t, p.borrower.CheckQuiescent())
	require.NoError(t, p.lender.CheckQuiescent())
}

// TestUnusedBorrowedSnapshotIsReturned: if all waiters have ended, the snapshot is returned at
// once. If it cannot be fixed, each waiter receives the failure.
func TestUnusedBorrowedSnapshotIsReturned(t *testing.T) {
	p := newMachinePair(t)
	ops, deadline := []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, p.now+int64(time.Second)
	p.borrower.Execute(p.now, 1, kv.TxnID{Time: 1, Rand: 1}, ops, deadline, TxnOptions{Plan: PlanSnapshot})
	require.Empty(t, p.flush())
	p.now += int64(2 * time.Second)
	p.borrower.Tick(p.now)
	done := p.flush()
	require.Len(t, done, 1, "the deadline has passed")
	require.NotNil(t, done[0].Failure)
	require.Empty(t, p.deliverLend())
	require.Len(t, p.released, 1)
	require.NoError(t, p.borrower.CheckQuiescent())
	require.NoError(t, p.lender.CheckQuiescent())

	p.execute(2)
	require.Empty(t, p.flush())
	p.lends[0] = &Done{Failure: env.Failure(msg.ReasonExhausted, kv.KindUnavailable, "the shard's node is down")}
	done = p.deliverLend()
	require.Len(t, done, 1)
	require.EqualValues(t, kv.KindUnavailable, done[0].Failure.Kind)
	require.NoError(t, p.borrower.CheckQuiescent())
}

// TestSnapshotReturnedBeforeTheLendersReadsIsReleased: the borrower's reads at a snapshot end
// before the lender's own. After these, nothing is left.
func TestSnapshotReturnedBeforeTheLendersReadsIsReleased(t *testing.T) {
	p := newMachinePair(t)
	read := func(g *Gateway, n int64) {
		ops := []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}
		g.Execute(p.now, n, kv.TxnID{Time: n, Rand: uint64(n)}, ops, math.MaxInt64/2, TxnOptions{Plan: PlanSnapshot})
	}
	read(p.lender, 101) // the others share the round after this one's
	read(p.borrower, 102)
	require.True(t, p.borrower.Flush().BorrowSnapshot)
	p.lender.LendSnapshot(p.now, "lend")
	read(p.lender, 103)

	var slow []*msg.Envelope
	for again := true; again; {
		again = false
		out := p.lender.Flush()
		for _, env := range out.Send {
			if msg.Is[msg.Read](env) && msg.As[msg.Read](env).RetainNanos == 0 {
				slow = append(slow, env) // a read of the lender's transactions
				continue
			}
			again = p.respond(p.lender, env) || again
		}
		for i := range out.Done {
			p.borrower.OnBorrowedSnapshot(p.now, out.Done[i].Snapshot, out.Done[i].Failure)
		}
	}
	require.Len(t, slow, 2)
	for _, env := range p.borrower.Flush().Send {
		p.respond(p.borrower, env)
	}
	side := p.borrower.Flush()
	require.Len(t, side.Done, 1)
	require.Len(t, side.ReturnSnapshots, 1)
	p.lender.ReturnSnapshot(p.now, side.ReturnSnapshots[0])
	require.NoError(t, p.borrower.CheckQuiescent())
	require.Error(t, p.lender.CheckQuiescent(), "the lender's transactions still read")

	for _, env := range slow {
		p.respond(p.lender, env)
	}
	require.Len(t, p.lender.Flush().Done, 2)
	require.NoError(t, p.lender.CheckQuiescent())
}

// TestViewWithoutSnapshotRegisters: a shard drains, and only the lender knows that. A view that has
// to read at a snapshot from the start cannot borrow one; it registers, instead of requesting one
// again for ever.
func TestViewWithoutSnapshotRegisters(t *testing.T) {
	p := newMachinePair(t)
	p.lender.Shards().SetDraining(1, 1)
	begin := func(n uint64) kv.TxnRef {
		ref := kv.TxnRef{TxnID: kv.TxnID{Time: p.now, Rand: n}, Attempt: 1}
		require.Nil(t, p.borrower.Begin(p.now, ref, true, TxnOptions{}))
		p.borrower.Do(p.now, n, ref, []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, 0)
		return ref
	}
	begin(101)
	first := p.borrower.Flush().Send
	require.Len(t, first, 1)
	closed := msg.ToGateway(1)
	closed.Body = &msg.ReadResponse{
		Reader:  msg.As[msg.Read](first[0]).Reader,
		Number:  msg.As[msg.Read](first[0]).Number,
		Reading: msg.Reading{Shard: first[0].Shard, Incarnation: 1, Number: 1},
		Failure: msg.Fail(msg.ReasonClosed, kv.KindAborted, "closed"),
	}
	p.borrower.Deliver(p.now, closed)

	refuse := func() Output {
		require.True(t, p.borrower.Flush().BorrowSnapshot, "the view requests a snapshot")
		p.lender.LendSnapshot(p.now, "lend")
		refused := p.lender.Flush().Done
		require.Len(t, refused, 1)
		require.NotNil(t, refused[0].Failure)
		p.borrower.OnBorrowedSnapshot(p.now, nil, refused[0].Failure)
		return p.borrower.Flush()
	}
	require.False(t, refuse().BorrowSnapshot, "the view retries after a pause")

	begin(102)
	out := refuse()
	require.False(t, out.BorrowSnapshot, "the view requests a snapshot again")
	reads := slices.DeleteFunc(out.Send, func(e *msg.Envelope) bool { return !msg.Is[msg.Read](e) })
	require.Len(t, reads, 1)
	p.respond(p.borrower, reads[0])
	done := p.borrower.Flush().Done
	require.Len(t, done, 1)
	require.Nil(t, done[0].Failure)
}
