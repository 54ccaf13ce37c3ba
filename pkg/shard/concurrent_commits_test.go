package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Two commits of one attempt, under which one transaction was applied twice or lost a write
// (docs/decisions/0033). They come from two gateways, or from one that has restarted.

var otherCommits = map[string]kv.CommitID{"of another gateway": otherGateway, "after a restart": restarted}

// moveToHot moves gk from shard 1 to the hot shard 2.
func (f *steps) moveToHot() {
	m := nthTxn(2)
	out := msg.Op{Kind: msg.OpMoveOut, Key: []byte("gk"), To: 2, Type: uint32(entry.TypeMoved)}
	r := f.lock(m, 1, 1, out)
	in := msg.Op{Kind: msg.OpMoveIn, Seq: 1, Key: []byte("gk"), Type: r.Results[0].Type, Value: r.Results[0].Value,
		Version: r.Results[0].Version}
	id := kv.CommitID{Gateway: 1, Incarnation: 1, Number: 2}
	f.send(prepareMsg(m, id, 1, 2, msg.Piece{Ops: []msg.Op{out}, ReadSet: &msg.ReadSet{Grants: r.Grants}}),
		commitMsg(m, id, 2, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{in}}))
	require.True(f.t, f.answer().Committed)
}

// TestVoteForAnotherCommitIsAnsweredWithAbort: X adds to gk (shard 1) and to j (shard 0, the last agent), and
// commits. gk moves. The acknowledgement of shard 1 is in flight when the client sends X again, which prepares
// on shard 2. If the last agent answered that vote with the commit, X would be applied to gk twice.
func TestVoteForAnotherCommitIsAnsweredWithAbort(t *testing.T) {
	for name, again := range otherCommits {
		t.Run(name, func(t *testing.T) {
			f, x := newSteps(t, 3), nthTxn(1)
			f.hold = func(e *msg.Envelope) bool { return msg.Is[msg.DecisionAck](e) && msg.As[msg.DecisionAck](e).Txn == x }
			f.send(prepareMsg(x, firstCommit, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}),
				commitMsg(x, firstCommit, 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}}))
			require.True(t, f.answer().Committed)
			require.Len(t, f.held, 1, "the acknowledgement")
			f.moveToHot()

			f.send(prepareMsg(x, again, 2, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}),
				commitMsg(x, again, 0, []kv.ShardID{2}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}}))
			f.hold = func(*msg.Envelope) bool { return false }
			f.send(f.held...)
			f.tick(2 * time.Second)
			f.tick(4 * time.Second)
			require.EqualValues(t, 1, f.count(0, "j"))
			require.EqualValues(t, 1, f.count(2, "gk"), "X has been applied to gk twice")
		})
	}
}

// TestVoteWithoutIncarnationCountsForItsCommitOnly: the gateway of the second commit has just started and does
// not know the incarnation of the last agent.
func TestVoteWithoutIncarnationCountsForItsCommitOnly(t *testing.T) {
	for name, again := range otherCommits {
		t.Run(name, func(t *testing.T) {
			f, x := newSteps(t, 3), nthTxn(1)
			f.hold = func(e *msg.Envelope) bool { return msg.Is[msg.DecisionAck](e) && msg.As[msg.DecisionAck](e).Txn == x }
			p, k := prepareMsg(x, firstCommit, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}),
				commitMsg(x, firstCommit, 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}})
			msg.As[msg.Prepare](p).LastAborts, msg.As[msg.CommitRequest](k).Aborts = 7, 7
			f.send(p, k)
			require.True(t, f.answer().Committed)

			p = prepareMsg(x, again, 2, 0, msg.Piece{Ops: []msg.Op{addOp("other", 0)}})
			msg.As[msg.Prepare](p).LastIncarnation = 0
			f.send(p)
			f.tick(2 * time.Second)
			require.False(t, f.get(2, "other").Found, "no commit request relies on this vote")
		})
	}
}

// TestPreparedRowCountsForItsCommitOnly: a gateway fails between two messages; its commit request has arrived,
// its prepare request has not. The client sends X again by a gateway that does not know that gk has moved, and
// divides X otherwise. The prepared row of that division must not complete the first commit, which would lose
// the write of gk.
func TestPreparedRowCountsForItsCommitOnly(t *testing.T) {
	for name, again := range otherCommits {
		t.Run(name, func(t *testing.T) {
			f, x := newSteps(t, 3), nthTxn(1)
			f.moveToHot()
			last := msg.Piece{Ops: []msg.Op{addOp("j", 2)}}
			f.send(commitMsg(x, firstCommit, 0, []kv.ShardID{2}, last)) // the Prepare of gk and h is lost
			f.tick(10 * time.Millisecond)
			f.send(commitMsg(x, again, 0, []kv.ShardID{1, 2}, last),
				prepareMsg(x, again, 2, 0, msg.Piece{Ops: []msg.Op{addOp("h", 1)}}),
				prepareMsg(x, again, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}))
			f.tick(2 * time.Second)
			f.tick(4 * time.Second)
			f.send(commitMsg(x, again, 0, []kv.ShardID{1, 2}, last))
			require.False(t, f.answer().Committed)
			require.False(t, f.get(0, "j").Found, "a part of X was applied")
			require.False(t, f.get(2, "h").Found, "a part of X was applied")
		})
	}
}

// TestAcknowledgementCountsForItsCommitOnly: a participant acknowledges another commit than the one that the
// last agent has decided, which is repeated until its own acknowledgement arrives.
func TestAcknowledgementCountsForItsCommitOnly(t *testing.T) {
	f := newSteps(t, 3)
	acknowledgeAnother(f)
	f.tick(2 * time.Second)
	require.EqualValues(t, 1, f.count(1, "gk"), "the decision is repeated")
}

// acknowledgeAnother has shard 1 acknowledge another commit than the decided one, whose decision is lost.
func acknowledgeAnother(f *steps) {
	x := nthTxn(1)
	f.hold = func(e *msg.Envelope) bool { return msg.Is[msg.Decision](e) }
	f.send(prepareMsg(x, firstCommit, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}),
		commitMsg(x, firstCommit, 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}}))
	require.True(f.t, f.answer().Committed)
	other := msg.ToShard(0)
	other.Body = &msg.DecisionAck{Txn: x, CommitID: otherGateway, Shard: 1}
	f.send(other)
	f.hold = func(*msg.Envelope) bool { return false }
}

// TestOtherOperationsUnderCommittedIDAreRejected by the last agent and by a participant, from memory and from
// the log, with any attempt and commit.
func TestOtherOperationsUnderCommittedIDAreRejected(t *testing.T) {
	const these, those = 11, 12
	f, x := newSteps(t, 3), nthTxn(1)
	send := func(id kv.CommitID, attempt uint32, fingerprint uint64) *msg.CommitResponse {
		ref := x
		ref.Attempt = attempt
		p, k := prepareMsg(ref, id, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}),
			commitMsg(ref, id, 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}})
		msg.As[msg.Prepare](p).Fingerprint, msg.As[msg.CommitRequest](k).Fingerprint = fingerprint, fingerprint
		f.send(p, k)
		return f.answer()
	}
	require.True(t, send(firstCommit, 1, these).Committed)
	for attempt := uint32(1); attempt <= 2; attempt++ {
		for _, id := range otherCommits {
			require.True(t, send(id, attempt, these).Committed, "the same operations; the response was lost")
			a := send(id, attempt, those)
			require.False(t, a.Committed)
			require.Equal(t, kv.KindInvalid, kv.Kind(a.Failure.Kind), a.Failure.Text)
		}
	}
	// Shard 1 has applied X, and is the last agent of what comes now.
	k := commitMsg(x, otherGateway, 1, nil, msg.Piece{Ops: []msg.Op{addOp("g", 0)}})
	msg.As[msg.CommitRequest](k).Fingerprint = those
	f.send(k)
	require.Equal(t, kv.KindInvalid, kv.Kind(f.answer().Failure.Kind))
	require.EqualValues(t, 1, f.count(0, "j"))
	require.EqualValues(t, 1, f.count(1, "gk"))
}

// TestVoteForAppliedTransactionIsAnsweredWithAbort: shard 1 has applied X as a participant. A gateway that
// does not know that commit chooses shard 1 as the last agent of X, and its prepare request arrives first.
func TestVoteForAppliedTransactionIsAnsweredWithAbort(t *testing.T) {
	for name, again := range otherCommits {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", restarts: ", restarts), func(t *testing.T) {
				f, x := newSteps(t, 3), nthTxn(1)
				f.send(prepareMsg(x, firstCommit, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}),
					commitMsg(x, firstCommit, 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}}))
				require.True(t, f.answer().Committed)
				p := prepareMsg(x, again, 2, 1, msg.Piece{Ops: []msg.Op{addOp("other", 0)}})
				if restarts {
					f.restart(1)
					msg.As[msg.Prepare](p).LastIncarnation = 2
				}
				f.send(p)
				require.Zero(t, f.shards[2].M.Status(0).Prepared)
				require.Zero(t, f.shards[1].M.Status(0).Records)
				require.NoError(t, f.shards[1].M.Check())
				require.False(t, f.get(2, "other").Found)
			})
		}
	}
}
