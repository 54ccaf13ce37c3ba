package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestReadsOfEndedCallsAreDropped: a shard drops the log read of a call that has ended, of a range as of a
// key, unless another call waits for the same key. It reads a page of a scan once, however often the request
// is repeated.
func TestReadsOfEndedCallsAreDropped(t *testing.T) {
	m, _ := New(Config{}, Recovered{}, 0, 0)
	now := int64(0)
	step := func(fill func(m *msg.Envelope)) Output {
		now++
		env := msg.ToShard(0)
		fill(env)
		return m.Step(Input{Now: now, Wall: now, Messages: []*msg.Envelope{env}})
	}
	ref := func(n uint32) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: int64(n)}, Attempt: 1} }
	scan := msg.Op{Kind: msg.OpScan, Key: []byte("a"), End: []byte("z")}
	get := msg.Op{Kind: msg.OpGet, Key: []byte("k")}

	for name, ops := range map[string][]msg.Op{"a range": {scan}, "a key": {get}} {
		out := step(func(m *msg.Envelope) {
			m.Body = &msg.Read{Reader: ref(1), Gateway: 1, Number: 1, User: 7, Ops: ops, LeaseNanos: 1e9}
		})
		require.Len(t, out.Reads, 1, name)
		require.EqualValues(t, 7, out.Reads[0].User)
		out2 := step(func(m *msg.Envelope) { m.Body = &msg.Deregister{Reader: ref(1)} })
		require.Equal(t, []uint64{out.Reads[0].ID}, out2.Dropped, name)
		require.Zero(t, m.store.ReadsInFlight())
		require.NoError(t, m.Check())
		m, _ = New(Config{}, Recovered{}, 0, 0)
	}

	first := step(func(m *msg.Envelope) {
		m.Body = &msg.Lock{Txn: ref(2), Gateway: 1, Number: 1, User: 7, Ops: []msg.Op{get}}
	})
	require.Len(t, first.Reads, 1)
	require.Empty(t, step(func(m *msg.Envelope) {
		m.Body = &msg.Lock{Txn: ref(3), Gateway: 1, Number: 1, Ops: []msg.Op{get}}
	}).Reads)
	require.Empty(t, step(func(m *msg.Envelope) { m.Body = &msg.Release{Txn: ref(2)} }).Dropped)
	require.Equal(t, []uint64{first.Reads[0].ID},
		step(func(m *msg.Envelope) { m.Body = &msg.Release{Txn: ref(3)} }).Dropped)
	require.NoError(t, m.CheckIdle())

	step(func(m *msg.Envelope) {
		m.Body = &msg.Read{Reader: ref(4), Gateway: 1, Number: 1, RetainNanos: int64(kv.DefaultScanRetention)}
	})
	page := func(number uint64, done bool) Output {
		return step(func(m *msg.Envelope) {
			m.Body = &msg.ReadPage{Txn: ref(4), Gateway: 1, Incarnation: 1, Number: number, Done: done, User: 7,
				Start: []byte("a"), RetainNanos: int64(kv.DefaultScanRetention)}
		})
	}
	out := page(1, false)
	require.Len(t, out.Reads, 1)
	require.Empty(t, page(1, false).Reads, "a repeat")
	next := page(2, false)
	require.Equal(t, []uint64{out.Reads[0].ID}, next.Dropped)
	require.Equal(t, []uint64{next.Reads[0].ID}, page(0, true).Dropped)
	require.NoError(t, m.CheckIdle())
}
