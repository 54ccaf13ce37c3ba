package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// renewLeases responds to lease renewals and drops all other messages. It returns the number of
// renewals.
func (p *machinePair) renewLeases() (renewed int) {
	for _, env := range p.borrower.Flush().Send {
		q := msg.As[msg.RenewLease](env)
		if q == nil {
			continue
		}
		renewed++
		reply := msg.ToGateway(1)
		reply.Body = &msg.RenewLeaseResponse{Reader: q.Reader, Number: q.Number, Shard: env.Shard, Ok: true}
		p.borrower.Deliver(p.now, reply)
	}
	return renewed
}

// viewRef is the view of openWaitingView.
var viewRef = kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 1}, Attempt: 1}

// openWaitingView opens a view that requests a snapshot after 50 ms, while a read of it is lost.
func (p *machinePair) openWaitingView(t *testing.T) {
	t.Helper()
	require.Nil(t, p.borrower.Begin(p.now, viewRef, true, TxnOptions{}))
	p.borrower.Do(p.now, 1, viewRef, []msg.Op{{Kind: msg.OpGet, Key: []byte("a")}}, 0)
	require.Len(t, p.flush(), 1)
	p.borrower.Do(p.now, 2, viewRef, []msg.Op{{Kind: msg.OpGet, Key: []byte("b")}}, 0)
	require.Len(t, p.borrower.Flush().Send, 1, "a read that is lost")
	p.now += int64(kv.DefaultOpenBudget)
	p.borrower.Tick(p.now)
	require.True(t, p.borrower.Flush().BorrowSnapshot)
}

// requirePlan delivers the response to Lend, and requires that the view then commits by a read
// plan.
func (p *machinePair) requirePlan(t *testing.T, plan Plan) {
	t.Helper()
	done := p.deliverLend()
	require.Len(t, done, 1)
	require.Nil(t, done[0].Failure)
	require.EqualValues(t, 2, done[0].Handle)
	p.borrower.Commit(p.now, 3, viewRef, p.now+1)
	done = p.flush()
	require.Len(t, done, 1)
	require.Nil(t, done[0].Failure)
	require.Equal(t, plan, done[0].Plan)
	require.NoError(t, p.borrower.CheckQuiescent())
	require.NoError(t, p.lender.CheckQuiescent())
}

// TestLeasesAreRenewedWhileAwaitingSnapshot: a view waits for a snapshot with a read in flight, on
// a machine that borrows its rounds. The round takes longer than a lease. The leases are renewed,
// and the view continues at the snapshot.
func TestLeasesAreRenewedWhileAwaitingSnapshot(t *testing.T) {
	p := newMachinePair(t)
	p.openWaitingView(t)
	p.lender.LendSnapshot(p.now, "lend")

	renewed := 0
	for end := p.now + 2*int64(kv.DefaultLease); p.now < end; {
		p.now = min(p.borrower.Flush().Next, end)
		p.borrower.Tick(p.now)
		renewed += p.renewLeases()
	}
	require.Greater(t, renewed, 4)

	require.Empty(t, p.flush(), "the shards have answered the round")
	p.requirePlan(t, PlanSnapshot)
}

// TestViewStaysRegisteredWithoutSnapshot: a view waits for a snapshot with a read in flight, and
// the lender refuses, since a node drains. The view needs no shard of that node, and continues
// registered.
func TestViewStaysRegisteredWithoutSnapshot(t *testing.T) {
	p := newMachinePair(t)
	p.openWaitingView(t)
	p.lender.Shards().SetDraining(0, 1)
	p.lender.LendSnapshot(p.now, "lend")
	require.Empty(t, p.flush())

	p.requirePlan(t, PlanInteractive)
}
