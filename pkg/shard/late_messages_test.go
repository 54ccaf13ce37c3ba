package shard_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// toGateways are the kinds of messages that no shard receives.
var toGateways = map[string]bool{
	"LockResponse": true, "CheckResponse": true, "CommitResponse": true, "Push": true, "QueryTxnResponse": true,
	"ReadPageResponse": true,
	"Announcement":     true, "ReadResponse": true, "RenewLeaseResponse": true, "Due": true, "SnapshotResponse": true,
	"HeatMap": true, "MoveKey": true,
	"HotStatusResponse": true, "WaitReport": true,
}

// lateMessages are shards of which all messages that they received are known.
type lateMessages struct {
	*steps
	received []*msg.Envelope
	// withhold: acknowledgements are held back.
	withhold bool
	// answered is how many messages for gateways have been answered.
	answered int
}

func newLateMessages(t *testing.T, memory int) *lateMessages {
	l := &lateMessages{}
	l.steps = newStepsWith(t, 3, func(cfg *shard.Config) {
		cfg.Memory, cfg.Lease = memory, kv.DefaultLease
		cfg.Retention = 24 * time.Hour // or all is too old before the test is over
		cfg.Snapshots = shard.SnapshotConfig{Every: time.Second, History: time.Minute, Hot: 2, Node: 1}
		cfg.Heat = shard.HeatConfig{Every: time.Second, Hot: 2, Nodes: 1, Node: 1}
	})
	l.hold = func(e *msg.Envelope) bool {
		if e.Gateway == 0 {
			l.received = append(l.received, copyOf(t, e))
		}
		return l.withhold && msg.Is[msg.DecisionAck](e)
	}
	return l
}

// copyOf returns a message as the network would deliver it a second time.
func copyOf(t *testing.T, e *msg.Envelope) *msg.Envelope {
	b, err := e.Marshal()
	require.NoError(t, err)
	out := &msg.Envelope{}
	require.NoError(t, out.Unmarshal(b))
	return out
}

// gateway responds as one that knows no transaction.
func (l *lateMessages) gateway() {
	for ; l.answered < len(l.out); l.answered++ {
		switch e := l.out[l.answered]; {
		case msg.Is[msg.Push](e):
			m := msg.ToShard(msg.As[msg.Push](e).Shard)
			m.Body = &msg.PushResponse{Txn: msg.As[msg.Push](e).Txn}
			l.send(m)
		case msg.Is[msg.LockResponse](e) && len(msg.As[msg.LockResponse](e).Grants) > 0:
			m := msg.ToShard(msg.As[msg.LockResponse](e).Shard)
			m.Body = &msg.Release{Txn: msg.As[msg.LockResponse](e).Txn}
			l.send(m)
		}
	}
}

// wait advances the time.
func (l *lateMessages) wait(seconds int) {
	for range seconds {
		l.gateway()
		l.tick(time.Duration(l.now) + time.Second)
	}
}

func (l *lateMessages) to(s kv.ShardID, fill func(*msg.Envelope)) {
	e := msg.ToShard(s)
	fill(e)
	l.send(e)
}

// committed reports whether the last commit response is a commit.
func (l *lateMessages) committed() bool {
	l.t.Helper()
	for i := len(l.out) - 1; i >= 0; i-- {
		a := msg.As[msg.CommitResponse](l.out[i])
		if a != nil {
			return a.Committed
		}
	}
	require.Fail(l.t, "no response")
	return false
}

// named sets how many aborts the gateway knows when it sends a commit.
func (l *lateMessages) named(e *msg.Envelope) *msg.Envelope {
	aborts := map[kv.ShardID]uint64{}
	for _, e := range l.out {
		if msg.Is[msg.CommitResponse](e) {
			aborts[msg.As[msg.CommitResponse](e).Shard] = msg.As[msg.CommitResponse](e).Aborts
		}
	}
	if msg.Is[msg.CommitRequest](e) {
		msg.As[msg.CommitRequest](e).Aborts = aborts[e.Shard]
	} else {
		msg.As[msg.Prepare](e).LastAborts = aborts[msg.As[msg.Prepare](e).Last]
	}
	return e
}

func commitNumber(n uint64) kv.CommitID { return kv.CommitID{Gateway: 1, Incarnation: 1, Number: n} }

// commits executes an interactive transaction that commits on two shards, and two that do not commit.
func (l *lateMessages) commits() {
	r := l.lock(nthTxn(1), 1, 1, msg.Op{Kind: msg.OpGet, Key: []byte("gk"), ForUpdate: true})
	piece := msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}
	piece.ReadSet = msg.ReadSetOf(r.Grants, nil)
	last := msg.Piece{Ops: []msg.Op{addOp("j", 1)}}
	l.send(prepareMsg(nthTxn(1), commitNumber(1), 1, 0, piece), commitMsg(nthTxn(1), commitNumber(1), 0, []kv.ShardID{1},
		last))
	require.True(l.t, l.committed())

	put := msg.Piece{Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte("gk"), Value: []byte("never")}}}
	superseded := l.named(commitMsg(nthTxn(2), commitNumber(2), 0, []kv.ShardID{1}, put))
	l.send(l.named(prepareMsg(nthTxn(2), commitNumber(2), 1, 0, put)))
	l.to(0, func(e *msg.Envelope) {
		e.Body = &msg.CancelRequest{Txn: nthTxn(2), CommitID: commitNumber(2), Incarnation: 1}
	})
	l.send(superseded)
	require.False(l.t, l.committed())

	superseded = l.named(prepareMsg(nthTxn(3), commitNumber(3), 1, 0, put))
	l.send(l.named(commitMsg(nthTxn(3), commitNumber(3), 0, []kv.ShardID{1}, put)))
	l.wait(3) // a vote is missing
	require.False(l.t, l.committed())
	l.send(superseded)
	l.to(0, func(e *msg.Envelope) { e.Body = &msg.Wound{Txn: nthTxn(3), By: nthTxn(1), Conflict: &msg.Receipt{}} })
}

// readers executes two readers that end by a Check and a Release, and one that is registered and has an update
// unsealed.
func (l *lateMessages) readers() {
	get := msg.Op{Kind: msg.OpGet, Key: []byte("gk")}
	r := l.lock(nthTxn(10), 1, 1, get)
	l.to(1, func(e *msg.Envelope) {
		e.Body = &msg.Check{Txn: nthTxn(10), Gateway: 1, Incarnation: 1, Grants: r.Grants}
	})
	l.lock(nthTxn(11), 1, 1, get)
	l.to(1, func(e *msg.Envelope) { e.Body = &msg.PushResponse{Txn: nthTxn(11), Known: true} })
	l.to(1, func(e *msg.Envelope) { e.Body = &msg.Release{Txn: nthTxn(11)} })

	reader := kv.TxnRef{TxnID: kv.TxnID{Time: 12, Rand: 12}, Attempt: 1}
	lease := int64(kv.DefaultLease)
	prepare := l.named(prepareMsg(nthTxn(13), commitNumber(13), 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}))
	l.send(prepare)
	l.to(1, func(e *msg.Envelope) {
		e.Body = &msg.Read{Reader: reader, Gateway: 1, Number: 1, Ops: []msg.Op{get}, LeaseNanos: lease, Notify: true}
	})
	l.tick(time.Duration(l.now) + 10*time.Millisecond)
	l.to(0, func(e *msg.Envelope) {
		e.Body = &msg.Read{Reader: reader, Gateway: 1, Number: 2, LeaseNanos: lease, Await: []kv.ShardID{1},
			Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("j")}}}
	})
	require.NotNil(l.t, msg.As[msg.ReadResponse](l.out[len(l.out)-1]))
	l.to(1, func(e *msg.Envelope) {
		e.Body = &msg.RenewLease{Reader: reader, Gateway: 1, Number: 1, Incarnation: 1, LeaseNanos: lease}
	})
	require.True(l.t, msg.As[msg.RenewLeaseResponse](l.out[len(l.out)-1]).Ok)
	for s := range kv.ShardID(2) {
		l.to(s, func(e *msg.Envelope) { e.Body = &msg.Deregister{Reader: reader} })
	}
	l.withhold = true
	l.send(l.named(commitMsg(nthTxn(13), commitNumber(13), 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}})))
	require.True(l.t, l.committed())
	l.send(copyOf(l.t, prepare)) // while the last agent answers with the commit
	l.withhold = false
	l.send(l.held...)
}

// past executes a scan, a snapshot that is retained and dropped, and an outcome query.
func (l *lateMessages) past() {
	reader := kv.TxnRef{TxnID: kv.TxnID{Time: 20, Rand: 20}, Attempt: 1}
	l.to(1, func(e *msg.Envelope) {
		e.Body = &msg.Read{Reader: reader, Gateway: 1, Number: 1, RetainNanos: int64(time.Minute)}
	})
	csn := msg.As[msg.ReadResponse](l.out[len(l.out)-1]).CSN
	scan := msg.ReadPage{Txn: reader, Gateway: 1, Incarnation: 1, CSN: csn, Start: []byte{0},
		RetainNanos: int64(time.Minute)}
	for _, how := range []msg.ReadPage{{Number: 1}, {}, {Done: true}} {
		l.to(1, func(e *msg.Envelope) {
			q := scan
			q.Number, q.Done = how.Number, how.Done
			e.Body = &q
		})
	}
	ask := func(n int64) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: 30 + n}, Attempt: 1} }
	l.to(2, func(e *msg.Envelope) {
		e.Body = &msg.RetainSnapshot{Request: ask(1), Gateway: 1, Incarnation: 1, Fixed: l.now, Name: "x",
			TtlNanos: int64(time.Hour),
			Clock:    []msg.ShardCSN{{Shard: 1, CSN: csn}}}
	})
	number := msg.As[msg.SnapshotResponse](l.out[len(l.out)-1]).Snapshots[0].Number
	l.to(2, func(e *msg.Envelope) { e.Body = &msg.FindSnapshot{Request: ask(2), Gateway: 1, Name: "x"} })
	l.to(2, func(e *msg.Envelope) { e.Body = &msg.DropSnapshot{Request: ask(3), Gateway: 1, Number: number} })
	l.to(2, func(e *msg.Envelope) { e.Body = &msg.HotStatusRequest{Request: ask(4), Gateway: 1} })
	l.to(2, func(e *msg.Envelope) {
		e.Body = &msg.SetHotPolicy{Request: ask(5), Gateway: 1, Incarnation: 1, Rule: &msg.HotRule{Key: []byte("gk"),
			Order: 2}}
	})
	l.to(2, func(e *msg.Envelope) {
		e.Body = &msg.SetHotPolicy{Request: ask(6), Gateway: 1, Incarnation: 1, Change: 1,
			Rule: &msg.HotRule{Key: []byte("gk")}}
	})
	l.to(2, func(e *msg.Envelope) {
		e.Body = &msg.LoadReport{Shard: 1, Keys: []msg.KeyHeat{{Key: []byte("gk"), Shard: 1, Heat: 1}}}
	})
	l.to(2, func(e *msg.Envelope) { e.Body = &msg.PairReport{Gateway: 1} })
	for s := range kv.ShardID(3) {
		l.to(s, func(e *msg.Envelope) { e.Body = &msg.QueryTxn{Id: kv.TxnID{Time: 40}, Gateway: 1} })
	}
}

// check verifies the final state of all shards.
func (l *lateMessages) check(after string) {
	for _, s := range l.shards {
		require.NoError(l.t, s.M.Check(), after)
		require.NoError(l.t, s.M.CheckIdle(), after)
	}
	require.Equal(l.t, int64(2), l.count(1, "gk"), after)
	require.Equal(l.t, int64(2), l.count(0, "j"), after)
	ask := kv.TxnRef{TxnID: kv.TxnID{Time: 50, Rand: uint64(len(l.out))}, Attempt: 1}
	l.to(2, func(e *msg.Envelope) { e.Body = &msg.FindSnapshot{Request: ask, Gateway: 1, List: true} })
	require.Empty(l.t, msg.As[msg.SnapshotResponse](l.out[len(l.out)-1]).Snapshots, after)
	l.to(2, func(e *msg.Envelope) { e.Body = &msg.HotStatusRequest{Request: ask, Gateway: 1} })
	require.Empty(l.t, msg.As[msg.HotStatusResponse](l.out[len(l.out)-1]).Rules, after)
}

// TestLateMessagesChangeNothing delivers a copy of each message that a shard receives after the end of what it
// belongs to: while the shards remember that, after memory has evicted it, and after a restart. Nothing is
// then locked, prepared or recorded, and the values are the same.
func TestLateMessagesChangeNothing(t *testing.T) {
	for _, c := range []struct {
		name     string
		memory   int
		restarts bool
		// lost: the replies to the copies are lost, so that the gateway releases nothing.
		lost bool
	}{
		{name: "remembered"},
		{name: "forgotten", memory: 1},
		{name: "forgotten, replies are lost", memory: 1, lost: true},
		{name: "after a restart", restarts: true},
		{name: "after a restart, replies are lost", restarts: true, lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLateMessages(t, c.memory)
			l.tick(time.Second)
			l.commits()
			l.readers()
			l.past()
			l.wait(120)
			l.check("at the end")
			late := l.received
			if c.restarts {
				for i := range l.shards {
					l.restart(i)
				}
				l.wait(5)
			}
			kinds := map[string]bool{}
			for i, e := range late {
				kinds[e.Name()] = true
				l.send(copyOf(t, e))
				if c.lost {
					l.answered = len(l.out)
				}
				l.gateway()
				what := fmt.Sprintf("%d of %d: %v", i, len(late), e)
				for _, s := range l.shards {
					s := s.M.Status(0)
					require.True(t, c.lost || s.Holders == 0, "at once, after %s", what)
					require.Zero(t, s.Waiting+s.Prepared+s.Records, "at once, after %s", what)
				}
				l.wait(75)
				l.check(what)
			}
			for range 2 {
				for _, e := range late {
					l.send(copyOf(t, e))
				}
				l.wait(75)
				l.check("all of them")
				slices.Reverse(late)
			}
			for _, field := range reflect.VisibleFields(reflect.TypeFor[msg.Envelope]()) {
				if field.Type.Kind() == reflect.Pointer && field.Name != "Trace" && !toGateways[field.Name] {
					require.True(t, kinds[field.Name], "no late %s", field.Name)
				}
			}
		})
	}
}
