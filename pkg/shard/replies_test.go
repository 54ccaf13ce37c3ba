package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestOnlyLastLockResponseIsKept: a response may have several MiB, and the number of requests is not bounded.
// A gateway sends one request at a time to a shard, so it repeats only the last.
func TestOnlyLastLockResponseIsKept(t *testing.T) {
	m, _ := New(Config{Lease: -1}, Recovered{}, 0, 0)
	txn, now := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}, int64(0)
	ask := func(number uint32) (answers []*msg.LockResponse) {
		env := msg.ToShard(0)
		env.Body = &msg.Lock{Txn: txn, Gateway: 1, Number: number,
			Ops: []msg.Op{{Kind: msg.OpScan, Key: []byte("a"), End: []byte("z")}}}
		in := Input{Messages: []*msg.Envelope{env}}
		for len(in.Messages)+len(in.Reads) > 0 {
			now++
			in.Now, in.Wall = now, now
			out := m.Step(in)
			in = Input{}
			for _, r := range out.Reads {
				in.Reads = append(in.Reads, entry.ReadResult{ID: r.ID, Kind: r.Kind})
			}
			for _, env := range out.Send {
				if msg.Is[msg.LockResponse](env) {
					answers = append(answers, msg.As[msg.LockResponse](env))
				}
			}
		}
		return answers
	}
	for number := uint32(1); number < 100; number++ {
		first := ask(number)
		require.Len(t, first, 1)
		require.Nil(t, first[0].Failure)
		require.Equal(t, first, ask(number), "the response may have been lost")
		require.NoError(t, m.Check())
	}
	grants := len(m.locks.GrantsOf(txn))
	require.Empty(t, ask(50), "a late copy")
	require.Len(t, m.locks.GrantsOf(txn), grants)
	require.Len(t, ask(99), 1)
	require.NoError(t, m.Check())

	env := msg.ToShard(0)
	env.Body = &msg.Release{Txn: txn}
	m.Step(Input{Now: now, Wall: now, Messages: []*msg.Envelope{env}})
	require.NoError(t, m.CheckIdle())
}
