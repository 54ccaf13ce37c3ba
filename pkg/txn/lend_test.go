package txn

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/stretchr/testify/require"
)

// pair is two machines of a node: the second borrows from the first. Shards answer
// rounds at once, and nothing else.
type pair struct {
	t            *testing.T
	lender, side *Gateway
	now          int64
	// rounds are those that the shards have seen, forgot those that they were told to
	// forget.
	rounds, forgot map[kv.TxnRef]bool
	index          kv.Index
	// asked are the calls of Lend that have no answer yet.
	asked []*Done
	// reads are the kept states that were read at.
	reads []kv.TxnRef
}

func newPair(t *testing.T) *pair {
	router, err := hotshard.NewRouter(1, 1, nil)
	require.NoError(t, err)
	cfg := Config{Node: 1, Router: router, Reads: SnapshotReads, RoundGap: -1}
	p := &pair{t: t, lender: NewGateway(cfg), rounds: map[kv.TxnRef]bool{}, forgot: map[kv.TxnRef]bool{}, now: 1}
	cfg.Borrows = true
	p.side = NewGateway(cfg)
	return p
}

// flush does what the machines want, but for the answers to Lend, which wait.
func (p *pair) flush() (done []Done) {
	for again := true; again; {
		again = false
		for _, g := range []*Gateway{p.side, p.lender} {
			out := g.Flush()
			for i := range out.Done {
				if d := out.Done[i]; g == p.lender {
					p.asked = append(p.asked, &d)
				} else {
					done = append(done, d)
				}
			}
			if out.Borrow {
				p.lender.Lend(p.now, "lend")
				again = true
			}
			for _, name := range out.GiveBack {
				p.lender.GiveBack(p.now, name)
				again = true
			}
			for _, env := range out.Send {
				again = p.answer(g, env) || again
			}
		}
	}
	return done
}

// answer is the shard's.
func (p *pair) answer(g *Gateway, env *msg.Envelope) bool {
	switch q := msg.As[msg.Read](env); {
	case msg.Is[msg.ReadPage](env) && msg.As[msg.ReadPage](env).Done:
		p.forgot[msg.As[msg.ReadPage](env).Txn] = true
		return false
	case q == nil:
		return false
	default:
		if q.KeepNanos > 0 {
			p.rounds[q.Reader] = true
		} else {
			require.False(p.t, p.forgot[q.Kept], "a state is read that the shards may have forgotten")
			p.reads = append(p.reads, q.Kept)
		}
		p.index++
		reply := msg.ToGateway(1)
		reply.Body = &msg.ReadResponse{Reader: q.Reader, Number: q.Number, Index: p.index, Reading: msg.Reading{Shard: env.Shard, Incarnation: 1, Number: uint64(p.index)},
			Results: make([]msg.Result, len(q.Ops))}
		g.Deliver(p.now, reply)
		return true
	}
}

func (p *pair) execute(n uint64) {
	p.side.Execute(p.now, n, kv.TxnID{Time: int64(n), Rand: n}, []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, math.MaxInt64/2, How{Plan: PlanSnapshot})
}

// lent answers the oldest Lend.
func (p *pair) lent() []Done {
	d := p.asked[0]
	p.asked = p.asked[1:]
	p.side.Borrowed(p.now, d.State, d.Failure)
	return p.flush()
}

// TestStatesAreLentToOtherMachines: who comes while a state is on its way waits for the
// next one, and the shards forget a state when all who read at it have ended.
func TestStatesAreLentToOtherMachines(t *testing.T) {
	p := newPair(t)
	p.execute(1)
	p.execute(2) // it has come after the first asked
	require.Empty(t, p.flush())
	require.Len(t, p.asked, 1)
	require.Len(t, p.rounds, 1)
	require.Empty(t, p.forgot, "the state is kept")

	done := p.lent()
	require.Len(t, done, 1, "the second waits for the next")
	require.Nil(t, done[0].Failure)
	require.Equal(t, PlanSnapshot, done[0].Plan)
	require.Len(t, p.forgot, 1, "nobody reads at the first state any more")
	require.Len(t, p.rounds, 2)

	require.Len(t, p.lent(), 1)
	require.Len(t, p.forgot, 2)
	require.NotEqual(t, p.reads[0], p.reads[len(p.reads)-1])
	require.NoError(t, p.side.Quiet())
	require.NoError(t, p.lender.Quiet())
}

// TestABorrowedStateNobodyWaitsForIsGivenBack, and if there is none all hear why.
func TestABorrowedStateNobodyWaitsForIsGivenBack(t *testing.T) {
	p := newPair(t)
	p.side.Execute(p.now, 1, kv.TxnID{Time: 1, Rand: 1}, []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, p.now+int64(time.Second), How{Plan: PlanSnapshot})
	require.Empty(t, p.flush())
	p.now += int64(2 * time.Second)
	p.side.Tick(p.now)
	done := p.flush()
	require.Len(t, done, 1, "it was too late")
	require.NotNil(t, done[0].Failure)
	require.Empty(t, p.lent())
	require.Len(t, p.forgot, 1)
	require.NoError(t, p.side.Quiet())
	require.NoError(t, p.lender.Quiet())

	p.execute(2)
	require.Empty(t, p.flush())
	p.asked[0] = &Done{Failure: env.Failure(msg.ReasonExhausted, kv.KindUnavailable, "the shard's node is down")}
	done = p.lent()
	require.Len(t, done, 1)
	require.EqualValues(t, kv.KindUnavailable, done[0].Failure.Kind)
	require.NoError(t, p.side.Quiet())
}

// TestAStateThatIsGivenBackBeforeItsLenderHasReadIsNotLent: of one state, the borrower's reads end
// before those of the lender's own transactions. When these have ended too nothing is left.
func TestAStateThatIsGivenBackBeforeItsLenderHasReadIsNotLent(t *testing.T) {
	p := newPair(t)
	read := func(g *Gateway, n int64) {
		ops := []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}
		g.Execute(p.now, n, kv.TxnID{Time: n, Rand: uint64(n)}, ops, math.MaxInt64/2, How{Plan: PlanSnapshot})
	}
	read(p.lender, 101) // its round is in flight when the others come, which share the next one
	read(p.side, 102)
	require.True(t, p.side.Flush().Borrow)
	p.lender.Lend(p.now, "lend")
	read(p.lender, 103)

	var slow []*msg.Envelope
	for again := true; again; {
		again = false
		out := p.lender.Flush()
		for _, env := range out.Send {
			if msg.Is[msg.Read](env) && msg.As[msg.Read](env).KeepNanos == 0 {
				slow = append(slow, env) // a read of the lender's own
				continue
			}
			again = p.answer(p.lender, env) || again
		}
		for i := range out.Done {
			p.side.Borrowed(p.now, out.Done[i].State, out.Done[i].Failure)
		}
	}
	require.Len(t, slow, 2)
	for _, env := range p.side.Flush().Send {
		p.answer(p.side, env)
	}
	side := p.side.Flush()
	require.Len(t, side.Done, 1)
	require.Len(t, side.GiveBack, 1)
	p.lender.GiveBack(p.now, side.GiveBack[0])
	require.NoError(t, p.side.Quiet())
	require.Error(t, p.lender.Quiet(), "its own transactions still read")

	for _, env := range slow {
		p.answer(p.lender, env)
	}
	require.Len(t, p.lender.Flush().Done, 2)
	require.NoError(t, p.lender.Quiet())
}

// TestAViewThatCannotBorrowAStateRegisters: a shard is about to stop, of which only the lender knows. A
// view that is to be pinned from the start borrows no state, and registers in the place of asking again.
func TestAViewThatCannotBorrowAStateRegisters(t *testing.T) {
	p := newPair(t)
	p.lender.Shards().SetLeaving(1, 1)
	begin := func(n uint64) kv.TxnRef {
		ref := kv.TxnRef{TxnID: kv.TxnID{Time: p.now, Rand: n}, Attempt: 1}
		require.Nil(t, p.side.Begin(p.now, ref, true, How{}))
		p.side.Do(p.now, n, ref, []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, 0)
		return ref
	}
	begin(101)
	first := p.side.Flush().Send
	require.Len(t, first, 1)
	closed := msg.ToGateway(1)
	closed.Body = &msg.ReadResponse{
		Reader:  msg.As[msg.Read](first[0]).Reader,
		Number:  msg.As[msg.Read](first[0]).Number,
		Reading: msg.Reading{Shard: first[0].Shard, Incarnation: 1, Number: 1},
		Failure: msg.Fail(msg.ReasonClosed, kv.KindAborted, "closed"),
	}
	p.side.Deliver(p.now, closed)

	refuse := func() Output {
		require.True(t, p.side.Flush().Borrow, "it is to be pinned")
		p.lender.Lend(p.now, "lend")
		refused := p.lender.Flush().Done
		require.Len(t, refused, 1)
		require.NotNil(t, refused[0].Failure)
		p.side.Borrowed(p.now, nil, refused[0].Failure)
		return p.side.Flush()
	}
	require.False(t, refuse().Borrow, "it begins anew after a pause")

	begin(102)
	out := refuse()
	require.False(t, out.Borrow, "it asks again, for ever if the lender refuses at once")
	reads := slices.DeleteFunc(out.Send, func(e *msg.Envelope) bool { return !msg.Is[msg.Read](e) })
	require.Len(t, reads, 1)
	p.answer(p.side, reads[0])
	done := p.side.Flush().Done
	require.Len(t, done, 1)
	require.Nil(t, done[0].Failure)
}
