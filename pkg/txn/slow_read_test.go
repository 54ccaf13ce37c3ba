package txn

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// slowReader is a one-shot that reads two shards.
type slowReader struct {
	t    *testing.T
	g    *Gateway
	now  int64
	read uint64
}

// newSlowReader starts it, and returns its requests by shard.
func newSlowReader(t *testing.T, replicated bool) (*slowReader, map[kv.ShardID]*msg.Read) {
	router, err := hotshard.NewRouter(2, 1, nil)
	require.NoError(t, err)
	r := &slowReader{t: t, now: 1, g: NewGateway(Config{Node: 1, Router: router, Reads: SnapshotReads, RoundGap: -1,
		Replicated: replicated})}
	var ops []msg.Op
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		ops = append(ops, msg.Op{Kind: msg.OpGet, Key: []byte(key)})
	}
	r.g.Execute(r.now, 1, kv.TxnID{Time: 1, Rand: 1}, ops, math.MaxInt64/2, TxnOptions{})
	sent, _ := r.flush()
	require.Len(t, sent, 2)
	return r, sent
}

// flush returns the reads, and the shards that are deregistered from.
func (r *slowReader) flush() (reads map[kv.ShardID]*msg.Read, deregistered []kv.ShardID) {
	reads = map[kv.ShardID]*msg.Read{}
	for _, env := range r.g.Flush().Send {
		switch q := msg.As[msg.Read](env); {
		case q != nil:
			reads[env.Shard] = q
		case msg.Is[msg.Deregister](env):
			deregistered = append(deregistered, env.Shard)
		}
	}
	return reads, deregistered
}

// respond responds to a read. It takes 1 ms.
func (r *slowReader) respond(s kv.ShardID, q *msg.Read) {
	r.read++
	r.now += int64(time.Millisecond)
	reply := msg.ToGateway(1)
	reply.Body = &msg.ReadResponse{Reader: q.Reader, Number: q.Number, CSN: kv.CSN(r.read),
		Reading: msg.Reading{Shard: s, Incarnation: 1, Number: r.read}, Results: r.results(q)}
	r.g.Deliver(r.now, reply)
}

func (r *slowReader) results(q *msg.Read) (out []msg.Result) {
	for _, op := range q.Ops {
		out = append(out, msg.Result{Seq: op.Seq, Found: true, Value: op.Key})
	}
	return out
}

// pass lets time pass, with a tick every 5 ms.
func (r *slowReader) pass(d time.Duration) {
	for until := r.now + int64(d); r.now < until; {
		r.now += int64(5 * time.Millisecond)
		r.g.Tick(r.now)
	}
}

// TestReaderLeavesFastShardsWhileOneHasNoLeader: it deregisters there after 50 ms, reads the slow shard alone, and then
// the others again, while it is registered on the slow one. It starts again once only.
func TestReaderLeavesFastShardsWhileOneHasNoLeader(t *testing.T) {
	r, sent := newSlowReader(t, true)
	r.respond(0, sent[0])
	r.pass(45 * time.Millisecond)
	_, deregistered := r.flush()
	require.Empty(t, deregistered)
	r.pass(10 * time.Millisecond)
	again, deregistered := r.flush()
	require.ElementsMatch(t, []kv.ShardID{0, 1}, deregistered)
	require.Len(t, again, 1)
	require.NotEqual(t, sent[1].Reader, again[1].Reader, "another name, or values of both readings could be mixed")
	require.Positive(t, again[1].LeaseNanos)

	r.pass(900 * time.Millisecond)
	r.flush()
	r.respond(1, sent[1])
	require.Empty(t, r.g.Flush().Done, "a late response to the first reading")
	r.respond(1, again[1])
	rest, deregistered := r.flush()
	require.Len(t, rest, 1)
	require.Equal(t, again[1].Reader, rest[0].Reader)
	require.Empty(t, deregistered)

	r.pass(100 * time.Millisecond)
	repeated, deregistered := r.flush()
	require.Empty(t, deregistered, "it starts again once")
	require.Equal(t, rest[0].Number, repeated[0].Number)
	r.respond(0, rest[0])
	out := r.g.Flush()
	require.Len(t, out.Done, 1)
	require.Nil(t, out.Done[0].Failure)
	for i, key := range []string{"a", "b", "c", "d", "e", "f"} {
		require.Equal(t, key, string(out.Done[0].Results[i].Value))
	}
	left := 0
	for _, env := range out.Send {
		if msg.Is[msg.Deregister](env) {
			left++
		}
	}
	require.Equal(t, 2, left)
}

// TestReaderWithoutReplicasStaysRegistered: a shard whose node is up responds, however slowly.
func TestReaderWithoutReplicasStaysRegistered(t *testing.T) {
	r, sent := newSlowReader(t, false)
	r.respond(0, sent[0])
	r.pass(200 * time.Millisecond)
	_, deregistered := r.flush()
	require.Empty(t, deregistered)
}
