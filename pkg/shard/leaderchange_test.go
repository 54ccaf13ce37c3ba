package shard_test

// What becomes of each piece of the state of a shard when its leader changes (R14), and the test that shows it:
//
//	versions, intents, chains, pages          TestRowsAreRecovered/versions; pages: TestReplicasServeRetainedStates
//	CSN                                       TestLeaderStartsAtItsCSN
//	write number                              TestWriteNumbersAreNotUsedAgain
//	moves                                     TestVersionsRiseOverMoves (one replica: the same row)
//	grants, waits, phases                     TestLocksAreLost/grants; a transfer: TestNoLocksAreGrantedBeforeATransfer
//	lock requests, responses, pushes          TestLocksAreLost/requests
//	promises, epochs                          TestRecoveredIntentsAreSealedAnew
//	blocked times, closed queues              TestReadersAreForgotten/closed
//	registrations, responses, notices         TestRegistrationEndsWithTheLeaderLease
//	readers that have deregistered            TestReadersAreForgotten/deregistered
//	states retained for rounds                TestNextLeaderServesTheStatesOfEarlierOnes
//	highest fixed CSN                         the same: what is visible there is not overwritten
//	low watermark, retained CSNs              testdata/replica_reads.txt, TestReplicasServeRetainedStates
//	snapshot registry                         TestRowsAreRecovered/snapshots
//	id clock, spans of ids                    TestTransferCutsOffTheReserveOfIDs
//	clock                                     TestNewLeaderBelievesTheClockOfItsNode
//	fences, outcomes, moved keys, rules       TestRowsAreRecovered
//	finished commits                          TestOnlyAppliedCommitsAreAcknowledged
//	tombstones of aborts                      TestAbortedAttemptsStayAborted
//	commit records: pending, votes            TestPendingCommitsAreAborted
//	commit records: committed                 TestCommittedRecordsAreRepeated
//	the last SetHotPolicy requests            TestOutdatedPoliciesAreRejected
//	meters, rankings, pairs, pace             TestHeatMapsNameTheTerm
//	deadlines of keys                         TestRowsAreRecovered/deadlines
//	notes of garbage                          TestStatesOfEarlierLeadersAreCollectedLater, testdata/replica_reads.txt
//	reads in flight, wake-ups, late rows      TestDeposedMachineIsSilent in pkg/node/replication
//
// No test shows that the first transactions find the hot keys in memory: nothing prefetches them yet (R13.13).

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/golden"
)

// hotLeaders is the hot shard, with its leaders. The home of keys that begin with g is another shard. What it sends
// to other shards is in held.
func hotLeaders(t *testing.T) *leaders {
	f := newLeadersWith(t, func(c *shard.Config) {
		c.Lease, c.Node, c.HoldBound = 2*time.Second, 1, 10*time.Millisecond
		c.Home = func(key []byte) kv.ShardID {
			if key[0] == 'g' {
				return 5
			}
			return 0
		}
		c.Snapshots = shard.SnapshotConfig{Every: time.Second, History: time.Minute, Node: 1}
		c.Heat = shard.HeatConfig{Every: 10 * time.Millisecond, Nodes: 1, Node: 1}
	})
	f.hold = func(e *msg.Envelope) bool { return e.Gateway == 0 && e.Shard != 0 }
	f.at(time.Minute)
	return f
}

// message sends a message to the shard, and returns the last response to the gateway, nil if there is none.
func (f *leaders) message(body msg.Body) *msg.Envelope {
	e, sent := msg.ToShard(0), len(f.out)
	e.Body = body
	f.held = nil
	f.send(e)
	var last *msg.Envelope
	for _, e := range f.out[sent:] {
		if !msg.Is[msg.Announcement](e) && !msg.Is[msg.Due](e) {
			last = e
		}
	}
	return last
}

// lastOf returns the last message of a kind to a gateway, nil if there is none.
func lastOf[T any](f *leaders) *T {
	for _, e := range slices.Backward(f.out) {
		if msg.Is[T](e) {
			return msg.As[T](e)
		}
	}
	return nil
}

// requestOf is a commit request for the present leader.
func (f *leaders) requestOf(n int64, with []kv.ShardID, text string) *msg.CommitRequest {
	ops, err := golden.Ops(text)
	require.NoError(f.t, err)
	q := msg.As[msg.CommitRequest](commitMsg(kv.TxnRef{TxnID: kv.TxnID{Time: f.now, Rand: uint64(n)}, Attempt: 1},
		kv.CommitID{Gateway: 1, Incarnation: 1, Number: uint64(n)}, 0, with, msg.Piece{Ops: ops}))
	q.Piece.Incarnation = f.machine().Incarnation()
	return q
}

// run executes a transaction of this shard.
func (f *leaders) run(n int64, text string) *msg.CommitResponse {
	m := f.message(f.requestOf(n, nil, text))
	require.NotNil(f.t, m)
	return msg.As[msg.CommitResponse](m)
}

// next has the next leader begin, on a node whose clock has been steady for a day.
func (f *leaders) next() {
	f.held = nil
	csn := f.machine().CSN()
	f.restartWith(0, func(rec *shard.Recovered) {
		rec.Replica = &shard.Replica{CSN: csn, SteadyNanos: int64(24 * time.Hour)}
	})
}

func (f *leaders) results(n int64, text string) string {
	r := f.run(n, text)
	require.Nil(f.t, r.Failure)
	return golden.Results(r.Results)
}

func TestRowsAreRecovered(t *testing.T) {
	for name, run := range map[string]func(f *leaders){
		"versions": func(f *leaders) {
			f.run(1, "put a 1; set.add s x y; set.add s z; add n 5")
			f.run(2, "set.add s w; add n 1")
			const all = "get a; set.len s; set.contains s w; get n"
			before := f.results(3, all)
			f.next()
			require.Equal(f.t, before, f.results(4, all))
			require.Contains(f.t, before, "6@")
		},
		"outcomes": func(f *leaders) {
			q := f.requestOf(1, nil, "put a 1")
			first := msg.As[msg.CommitResponse](f.message(q))
			f.next()
			again := msg.As[msg.CommitResponse](f.message(q))
			require.True(f.t, again.Committed)
			require.Equal(f.t, first.Results, again.Results, "it is not executed again")
		},
		"fences": func(f *leaders) {
			q := f.requestOf(1, nil, "put a 1")
			r := msg.As[msg.QueryTxnResponse](f.message(&msg.QueryTxn{Id: q.Txn.TxnID, Gateway: 1}))
			require.True(f.t, r.Fenced)
			f.next()
			q.Piece.Incarnation = f.machine().Incarnation()
			require.False(f.t, msg.As[msg.CommitResponse](f.message(q)).Committed)
		},
		"moved keys": func(f *leaders) {
			require.Equal(f.t, msg.ReasonMoved, f.run(1, "get gk").Failure.Reason)
			require.Nil(f.t, f.run(2, "movein gk x@0.0.1").Failure)
			f.next()
			require.Contains(f.t, f.results(3, "get gk"), "x")
		},
		"snapshots": func(f *leaders) {
			made := f.message(&msg.RetainSnapshot{Request: nthTxn(f.now), Gateway: 1, Incarnation: f.machine().Incarnation(),
				Fixed: f.now, Name: "x", TtlNanos: int64(time.Hour), Clock: []msg.ShardCSN{{Shard: 0, CSN: f.machine().CSN()}}})
			want := msg.As[msg.SnapshotResponse](made)
			require.Nil(f.t, want.Failure)
			f.next()
			find := &msg.FindSnapshot{Request: nthTxn(f.now + 1), Gateway: 1, Name: "x"}
			found := msg.As[msg.SnapshotResponse](f.message(find))
			require.Equal(f.t, want.Snapshots[0].Number, found.Snapshots[0].Number)
			f.at(3 * time.Hour)
			require.NotNil(f.t, msg.As[msg.SnapshotResponse](f.message(find)).Failure, "it expires by the node's clock (R14.4)")
		},
		"rules": func(f *leaders) {
			status := msg.As[msg.HotStatusResponse](f.message(&msg.HotStatusRequest{Request: nthTxn(f.now), Gateway: 1}))
			f.message(&msg.SetHotPolicy{Request: nthTxn(f.now + 1), Gateway: 1, Incarnation: status.Incarnation,
				Change: status.Change, Rule: &msg.HotRule{Key: []byte("k"), Order: uint32(hotshard.Pin)}})
			f.next()
			status = msg.As[msg.HotStatusResponse](f.message(&msg.HotStatusRequest{Request: nthTxn(f.now + 2), Gateway: 1}))
			require.Len(f.t, status.Rules, 1)
		},
		"deadlines": func(f *leaders) {
			f.run(1, "put a 1 ttl 30")
			f.next()
			f.at(time.Duration(f.now) + time.Minute)
			due := false
			for _, e := range f.out {
				due = due || msg.Is[msg.Due](e) && msg.As[msg.Due](e).ExpireKey != nil
			}
			require.True(f.t, due, "its node's gateway is requested to delete it")
		},
	} {
		t.Run(name, func(t *testing.T) { run(hotLeaders(t)) })
	}
}

// TestWriteNumbersAreNotUsedAgain: a new leader skips a reserve, and after a transfer nothing (R13.7, R14.5).
func TestWriteNumbersAreNotUsedAgain(t *testing.T) {
	f := hotLeaders(t)
	written := func(n int64) uint64 {
		f.run(n, "put a 1")
		return f.run(n+1, "get a").Results[0].Version.Write
	}
	last := written(1)
	f.next()
	require.Greater(t, written(3), last+900)
	last = written(5)
	_, err := f.shards[0].Store.Append([]entry.Group{{Entries: f.machine().TransferEntries()}})
	require.NoError(t, err)
	f.next()
	require.Equal(t, last+1, written(7))
}

func TestLocksAreLost(t *testing.T) {
	lock := func(f *leaders, n int64) *msg.LockResponse {
		ops, err := golden.Ops("get! k")
		require.NoError(f.t, err)
		m := f.message(&msg.Lock{Txn: nthTxn(n), Gateway: 1, Number: 1, Ops: ops})
		if m == nil {
			return nil
		}
		return msg.As[msg.LockResponse](m)
	}
	t.Run("grants", func(t *testing.T) {
		f := hotLeaders(t)
		held := lock(f, 1)
		f.next()
		require.NotNil(t, lock(f, 2))
		check := &msg.Check{Txn: nthTxn(1), Gateway: 1, Incarnation: held.Incarnation, Grants: held.Grants}
		require.False(t, msg.As[msg.CheckResponse](f.message(check)).Ok, "grants name the incarnation")
	})
	t.Run("requests", func(t *testing.T) {
		f := hotLeaders(t)
		first := lock(f, 1)
		require.Nil(t, first.Failure)
		require.Nil(t, lock(f, 2), "it waits")
		require.Equal(t, first, lock(f, 1), "the response is repeated")
		f.next()
		f.at(time.Duration(f.now) + time.Second)
		again := lock(f, 2)
		require.NotNil(t, again, "and is granted when it is repeated")
		require.Greater(t, again.Incarnation, first.Incarnation)
		require.Nil(t, lock(f, 1), "the kept response is lost")
	})
}

// TestRecoveredIntentsAreSealedAnew in the first step of the next leader, in an epoch of its term. In the window of a
// transfer they are not sealed. Readers wait for the decision.
func TestRecoveredIntentsAreSealedAnew(t *testing.T) {
	f := hotLeaders(t)
	f.prepare(nthTxn(1))
	f.next()
	v := msg.As[msg.Vote](f.held[0])
	require.True(t, v.Yes && v.Sealed)
	require.Equal(t, f.machine().Incarnation(), v.Epoch.Incarnation)
	get := &msg.Read{Reader: nthTxn(2), Gateway: 1, Number: 1, Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}}
	require.Nil(t, f.message(get))

	f.held = nil
	f.change(time.Duration(f.now) + time.Second)
	require.False(t, msg.As[msg.Vote](f.held[0]).Sealed, "in the window of a transfer (R5.5)")
	f.held = nil
	f.at(time.Duration(f.now) + time.Second)
	require.True(t, msg.As[msg.Vote](f.held[0]).Sealed)
	require.Nil(t, f.message(get))
	require.Equal(t, 1, f.decide(nthTxn(1)))
	require.NotNil(t, lastOf[msg.ReadResponse](f))
}

func TestReadersAreForgotten(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		f := hotLeaders(t)
		f.read(1, "k")
		require.False(t, f.put(2, "k"))
		f.at(time.Duration(f.now) + 50*time.Millisecond)
		require.Equal(t, msg.ReasonClosed, f.read(3, "k").Failure.Reason, "the update has waited for too long")
		f.next()
		require.Nil(t, f.read(4, "k").Failure, "the bound holds per leader")
	})
	t.Run("deregistered", func(t *testing.T) {
		f := hotLeaders(t)
		q := &msg.Read{Reader: nthTxn(1), Gateway: 1, Number: 1, Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}},
			LeaseNanos: int64(2 * time.Second)}
		require.NotNil(t, f.message(q))
		f.message(&msg.Deregister{Reader: nthTxn(1)})
		require.Nil(t, f.message(q), "a late copy")
		require.True(t, f.run(2, "put k 1").Committed)
		f.next()
		f.at(time.Duration(f.now) + time.Millisecond)
		require.NotNil(t, f.message(q), "registers a ghost")
		held := f.requestOf(3, nil, "put k 2")
		require.Nil(t, f.message(held))
		f.at(time.Duration(f.now) + f.lease)
		a := lastOf[msg.CommitResponse](f)
		require.True(t, a.Txn == held.Txn && a.Committed, "until the leader's lease as of then ends")
	})
}

// TestAbortedAttemptsStayAborted, although the tombstone is lost: a copy names the earlier incarnation.
func TestAbortedAttemptsStayAborted(t *testing.T) {
	f := hotLeaders(t)
	q := f.requestOf(1, nil, "require a version 0.0.4")
	require.False(t, msg.As[msg.CommitResponse](f.message(q)).Committed)
	f.next()
	f.run(2, "put a 1")
	r := msg.As[msg.CommitResponse](f.message(q))
	require.False(t, r.Committed)
	require.Equal(t, msg.ReasonIncarnation, r.Failure.Reason)
}

// vote sends the vote of shard 5 to an incarnation.
func (f *leaders) vote(q *msg.CommitRequest, of kv.Incarnation) *msg.Envelope {
	return f.message(&msg.Vote{Txn: q.Txn, CommitID: q.CommitID, Shard: 5, Incarnation: 1, LastIncarnation: of, Yes: true,
		Sealed: true, Epoch: kv.Epoch{Incarnation: 1, Count: 1}})
}

// TestPendingCommitsAreAborted: late votes, and late copies of the commit request, name the earlier incarnation.
func TestPendingCommitsAreAborted(t *testing.T) {
	f := hotLeaders(t)
	q := f.requestOf(1, []kv.ShardID{5}, "put a 1")
	old := f.machine().Incarnation()
	require.Nil(t, f.message(q))
	f.next()
	f.vote(q, old)
	require.False(t, msg.As[msg.Decision](f.held[0]).Commit)
	require.False(t, msg.As[msg.CommitResponse](f.message(q)).Committed)
}

// TestCommittedRecordsAreRepeated to the participants until they acknowledge, also by later leaders.
func TestCommittedRecordsAreRepeated(t *testing.T) {
	f := hotLeaders(t)
	q := f.requestOf(1, []kv.ShardID{5}, "put a 1")
	f.message(q)
	require.True(t, msg.As[msg.CommitResponse](f.vote(q, f.machine().Incarnation())).Committed)
	for range 2 {
		f.next()
		f.at(time.Duration(f.now) + time.Second)
		var d *msg.Decision
		for _, e := range f.held {
			if msg.Is[msg.Decision](e) {
				d = msg.As[msg.Decision](e)
			}
		}
		require.NotNil(t, d)
		require.True(t, d.Commit)
		require.Equal(t, q.CommitID, d.CommitID)
	}
	require.Equal(t, 1, f.machine().Status(0).Records)
	f.message(&msg.DecisionAck{Txn: q.Txn, CommitID: q.CommitID, Shard: 5})
	require.Zero(t, f.machine().Status(0).Records)
}

// TestOutdatedPoliciesAreRejected: the next leader does not remember the requests, which name the revision that they
// were based on (R14.6).
func TestOutdatedPoliciesAreRejected(t *testing.T) {
	f := hotLeaders(t)
	q := &msg.SetHotPolicy{Request: nthTxn(f.now), Gateway: 1, Incarnation: f.machine().Incarnation(),
		Mode: uint32(hotshard.ModePinned) + 1}
	require.Nil(t, msg.As[msg.HotStatusResponse](f.message(q)).Failure)
	require.Nil(t, msg.As[msg.HotStatusResponse](f.message(q)).Failure, "a copy")
	f.next()
	r := msg.As[msg.HotStatusResponse](f.message(q))
	require.Equal(t, uint32(kv.KindOutcomeUnknown), r.Failure.Kind)
}

// TestHeatMapsNameTheTerm: a map of a later leader replaces those of earlier ones, whatever their numbers are.
func TestHeatMapsNameTheTerm(t *testing.T) {
	f := hotLeaders(t)
	for range 2 {
		f.next()
		f.out = nil
		f.message(&msg.LoadReport{Shard: 0, Keys: []msg.KeyHeat{{Key: []byte("k"), Shard: 5, Heat: 100}}})
		for range 20 {
			f.at(time.Duration(f.now) + 10*time.Millisecond)
		}
		maps := 0
		for _, e := range f.out {
			if msg.Is[msg.HeatMap](e) {
				require.Equal(t, f.machine().Incarnation(), msg.As[msg.HeatMap](e).Incarnation)
				maps++
			}
		}
		require.Positive(t, maps)
	}
}
