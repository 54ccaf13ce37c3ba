package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// leases answers renewals, and keeps everything else that is sent from its shard.
func (p *pair) leases() (renewed int) {
	for _, env := range p.side.Flush().Send {
		q := msg.As[msg.RenewLease](env)
		if q == nil {
			continue
		}
		renewed++
		reply := msg.ToGateway(1)
		reply.Body = &msg.RenewLeaseResponse{Reader: q.Reader, Number: q.Number, Shard: env.Shard, Ok: true}
		p.side.Deliver(p.now, reply)
	}
	return renewed
}

// pinned is the view of pinnedInACall.
var pinned = kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 1}, Attempt: 1}

// pinnedInACall has a view's time run out while a read of it is lost.
func (p *pair) pinnedInACall(t *testing.T) {
	t.Helper()
	require.Nil(t, p.side.Begin(p.now, pinned, true, How{}))
	p.side.Do(p.now, 1, pinned, []msg.Op{{Kind: msg.OpGet, Key: []byte("a")}}, 0)
	require.Len(t, p.flush(), 1)
	p.side.Do(p.now, 2, pinned, []msg.Op{{Kind: msg.OpGet, Key: []byte("b")}}, 0)
	require.Len(t, p.side.Flush().Send, 1, "a read that is lost")
	p.now += int64(kv.DefaultOpenBudget)
	p.side.Tick(p.now)
	require.True(t, p.side.Flush().Borrow)
}

// endsBy has the view's call answered, and it ends well by a plan.
func (p *pair) endsBy(t *testing.T, plan Plan) {
	t.Helper()
	done := p.lent()
	require.Len(t, done, 1)
	require.Nil(t, done[0].Failure)
	require.EqualValues(t, 2, done[0].Token)
	p.side.Commit(p.now, 3, pinned, p.now+1)
	done = p.flush()
	require.Len(t, done, 1)
	require.Nil(t, done[0].Failure)
	require.Equal(t, plan, done[0].Plan)
	require.NoError(t, p.side.Quiet())
	require.NoError(t, p.lender.Quiet())
}

// TestLeasesAreRenewedWhilePinned: a view is pinned in the middle of a call, on a machine
// that has nothing else to do and borrows its rounds. The round takes longer than a lease,
// and so long the view's are renewed: it reads on at the state.
func TestLeasesAreRenewedWhilePinned(t *testing.T) {
	p := newPair(t)
	p.pinnedInACall(t)
	p.lender.Lend(p.now, "lend")

	renewed := 0
	for end := p.now + 2*int64(kv.DefaultLease); p.now < end; {
		p.now = min(p.side.Flush().Next, end)
		p.side.Tick(p.now)
		renewed += p.leases()
	}
	require.Greater(t, renewed, 4)

	require.Empty(t, p.flush(), "the shards have answered the round")
	p.endsBy(t, PlanSnapshot)
}

// TestAViewReadsOnWhereThereIsNoState: it is pinned in the middle of a call, and the
// machine that would lend it a state has heard that a node leaves before its own has. It
// needs nothing of that node.
func TestAViewReadsOnWhereThereIsNoState(t *testing.T) {
	p := newPair(t)
	p.pinnedInACall(t)
	p.lender.Shards().SetLeaving(0, 1)
	p.lender.Lend(p.now, "lend")
	require.Empty(t, p.flush())

	p.endsBy(t, PlanInteractive)
}
