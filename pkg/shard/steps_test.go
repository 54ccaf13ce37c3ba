package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// steps are several shards whose messages are delivered at once.
type steps struct {
	t      *testing.T
	shards []*world.Single
	now    int64
	// hold says which messages are not delivered; held are those.
	hold func(*msg.Envelope) bool
	held []*msg.Envelope
	// out are the messages for gateways.
	out []*msg.Envelope
}

// newSteps returns n shards. The home of keys that begin with g is shard 1; the last shard is the hot one.
func newSteps(t *testing.T, n int) *steps { return newStepsWith(t, n, func(*shard.Config) {}) }

// newStepsWith sets options as well.
func newStepsWith(t *testing.T, n int, set func(*shard.Config)) *steps {
	f := &steps{t: t, hold: func(*msg.Envelope) bool { return false }}
	for i := range n {
		cfg := shard.Config{ID: kv.ShardID(i), Lease: -1}
		if i == n-1 {
			cfg.Home = func(key []byte) kv.ShardID {
				if len(key) > 0 && key[0] == 'g' {
					return 1
				}
				return kv.ShardID(n - 1)
			}
		}
		set(&cfg)
		f.shards = append(f.shards, world.NewSingle(cfg))
		f.restart(i)
	}
	return f
}

// restart begins a new incarnation of a shard from its log.
func (f *steps) restart(i int) { f.restartWith(i, nil) }

// restartWith does the same after change has changed what was recovered.
func (f *steps) restartWith(i int, change func(*shard.Recovered)) {
	s := f.shards[i]
	s.Now, s.Wall = f.now, f.now
	sent, err := s.Restart(change)
	require.NoError(f.t, err)
	f.send(sent...)
}

func (f *steps) step(i int, envs ...*msg.Envelope) {
	s := f.shards[i]
	s.Now, s.Wall = f.now, f.now
	sent, err := s.Step(envs...)
	require.NoError(f.t, err)
	f.send(sent...)
}

func (f *steps) send(envs ...*msg.Envelope) {
	for _, e := range envs {
		switch {
		case f.hold(e):
			f.held = append(f.held, e)
		case e.Gateway != 0:
			f.out = append(f.out, e)
		case int(e.Shard) < len(f.shards):
			f.step(int(e.Shard), e)
		}
	}
}

func nthTxn(n int64) kv.TxnRef {
	return kv.TxnRef{TxnID: kv.TxnID{Time: n, Rand: uint64(n)}, Attempt: 1}
}

func (f *steps) lock(txn kv.TxnRef, s kv.ShardID, number uint32, ops ...msg.Op) *msg.LockResponse {
	e := msg.ToShard(s)
	e.Body = &msg.Lock{Txn: txn, Gateway: 1, Number: number, Ops: ops}
	f.send(e)
	r := msg.As[msg.LockResponse](f.out[len(f.out)-1])
	require.NotNil(f.t, r)
	require.Nil(f.t, r.Failure)
	return r
}

// tick executes a step of all shards at a time.
func (f *steps) tick(now time.Duration) {
	f.now = int64(now)
	for i := range f.shards {
		f.step(i)
	}
}

// answer returns the last message to a gateway, which must be a commit response.
func (f *steps) answer() *msg.CommitResponse {
	a := msg.As[msg.CommitResponse](f.out[len(f.out)-1])
	require.NotNil(f.t, a)
	return a
}

func (f *steps) get(s kv.ShardID, key string) *msg.Result {
	n := nthTxn(1000 + f.now + int64(len(f.out)))
	e := commitMsg(n, kv.CommitID{Gateway: 1, Number: uint64(n.Time)}, s, nil,
		msg.Piece{Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte(key)}}})
	msg.As[msg.CommitRequest](e).Snapshot = true
	f.send(e)
	a := f.answer()
	require.Nil(f.t, a.Failure)
	return &a.Results[0]
}

func (f *steps) count(s kv.ShardID, key string) int64 {
	n, err := adt.DecodeCounter(f.get(s, key).Value)
	require.NoError(f.t, err)
	return n
}

// firstCommit is of one gateway; the same transaction may come from another one, or from the same
// after a restart.
var (
	firstCommit  = kv.CommitID{Gateway: 1, Incarnation: 1, Number: 1}
	otherGateway = kv.CommitID{Gateway: 2, Incarnation: 1, Number: 1}
	restarted    = kv.CommitID{Gateway: 1, Incarnation: 2, Number: 1}
)

func prepareMsg(txn kv.TxnRef, id kv.CommitID, to, last kv.ShardID, p msg.Piece) *msg.Envelope {
	e := msg.ToShard(to)
	p.Incarnation = 1
	e.Body = &msg.Prepare{Txn: txn, CommitID: id, Last: last, LastIncarnation: 1, Piece: p}
	return e
}

func commitMsg(txn kv.TxnRef, id kv.CommitID, to kv.ShardID, with []kv.ShardID, p msg.Piece) *msg.Envelope {
	e := msg.ToShard(to)
	p.Incarnation = 1
	e.Body = &msg.CommitRequest{Txn: txn, CommitID: id, Participants: with, Piece: p}
	return e
}

func addOp(key string, seq uint32) msg.Op {
	return msg.Op{Kind: msg.OpAdd, Key: []byte(key), Delta: 1, Seq: seq}
}
