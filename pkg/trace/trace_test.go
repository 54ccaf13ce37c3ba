package trace

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func newTracer(t testing.TB, ratio float64) (*Tracer, *tracetest.InMemoryExporter) {
	t.Helper()
	e := tracetest.NewInMemoryExporter()
	tr, err := New(Options{Exporter: e, Ratio: ratio, Node: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close(context.Background())) })
	return tr, e
}

func prepare(id kv.TxnID) *msg.Envelope {
	env := msg.ToShard(1)
	env.Body = &msg.Prepare{Txn: kv.TxnRef{TxnID: id, Attempt: 1}}
	return env
}

// TestOnlySampledTransactionsAreLabelled: messages of others carry nothing.
func TestOnlySampledTransactionsAreLabelled(t *testing.T) {
	tr, _ := newTracer(t, 0)
	id := kv.TxnID{Time: 1, Rand: 2}
	require.Nil(t, tr.Begin("", "one-shot", id, 1))
	env := prepare(id)
	tr.Label([]*msg.Envelope{env})
	require.Nil(t, env.Trace)

	x := tr.Begin("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "one-shot", id, 1)
	require.NotNil(t, x)
	other := prepare(kv.TxnID{Time: 5, Rand: 5})
	tr.Label([]*msg.Envelope{env, other})
	require.NotNil(t, env.Trace)
	require.Nil(t, other.Trace)
	require.Equal(t, uint64(0x0af7651916cd43dd), env.Trace.High)
	first := env.Trace
	tr.Label([]*msg.Envelope{env})
	require.Same(t, first, env.Trace, "what is sent again is as it was: others may be reading it")
	x.End(1, nil, nil)
	late := prepare(id)
	tr.Label([]*msg.Envelope{late})
	require.Nil(t, late.Trace)
	var none *Txn // as when nothing is traced
	none.Step("do", 1)
	none.Stepped(nil, nil)
	none.End(1, nil, nil)
}

// TestWhatIsNeverAnsweredIsForgotten: a shard's open spans, and those of a gateway, have
// bounds, and what is repeated begins no second one.
func TestWhatIsNeverAnsweredIsForgotten(t *testing.T) {
	tr, _ := newTracer(t, 1)
	s := tr.Shard(1, false)
	for i := range maxOpen + 100 {
		env := prepare(kv.TxnID{Time: int64(i + 1), Rand: 1})
		env.Trace = &msg.Trace{High: 1, Low: uint64(i + 1), Span: 1}
		s.Received([]*msg.Envelope{env, env})
	}
	require.Len(t, s.open, maxOpen)
	var live []*Txn
	for i := range maxLive + 100 {
		if x := tr.Begin("", "one-shot", kv.TxnID{Time: int64(i + 1), Rand: 1 << 40}, 1); x != nil {
			live = append(live, x)
		}
	}
	require.Len(t, live, maxLive)
	for _, x := range live {
		x.End(1, nil, nil)
	}
	require.Zero(t, tr.live.Load())
	require.Empty(t, tr.txns)
}

// TestAShardsSpanEndsWhenItsReplyLeaves, and not before, and an abort ends it as well.
func TestAShardsSpanEndsWhenItsReplyLeaves(t *testing.T) {
	tr, e := newTracer(t, 1)
	s := tr.Shard(3, true)
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 2}, Attempt: 1}
	asks := prepare(ref.TxnID)
	asks.Trace = &msg.Trace{High: 1, Low: 2, Span: 3}
	s.Received([]*msg.Envelope{asks})
	vote := msg.ToShard(8)
	vote.Body = &msg.Vote{Txn: ref, Yes: true, Receipt: msg.Receipt{WaitedNanos: 5, Key: []byte("k"),
		Cause: msg.CauseLock}}
	s.Sent([]*msg.Envelope{vote})
	require.NotNil(t, vote.Trace)
	require.NoError(t, tr.Flush(t.Context()))
	require.Len(t, e.GetSpans(), 1, "the wait is over, and the rest is not durable yet")
	tr.Left([]*msg.Envelope{vote})
	require.NoError(t, tr.Flush(t.Context()))
	names := map[string]bool{}
	for _, x := range e.GetSpans() {
		names[x.Name] = true
	}
	require.Equal(t, map[string]bool{"wait for a lock": true, "durable": true, "shard.prepare": true}, names)
	require.Empty(t, tr.leaving)
	require.Empty(t, s.open)

	s.Received([]*msg.Envelope{asks})
	decide := msg.ToShard(3)
	decide.Body, decide.Trace = &msg.Decision{Txn: ref}, asks.Trace
	s.Received([]*msg.Envelope{decide})
	ack := msg.ToShard(8)
	ack.Body = &msg.DecisionAck{Txn: ref}
	s.Sent([]*msg.Envelope{ack})
	tr.Left([]*msg.Envelope{ack})
	require.Empty(t, s.open)
}

// TestAVoteIsRememberedOncePerParticipant: it votes again whenever it is asked to, and
// when readers come or go, for as long as nothing is decided. The wait that the answer
// reported is known if the participant's last vote has it.
func TestAVoteIsRememberedOncePerParticipant(t *testing.T) {
	tr, e := newTracer(t, 1)
	s := tr.Shard(3, false)
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 2}, Attempt: 1}
	at := &msg.Trace{High: 1, Low: 2, Span: 3}
	park := msg.ToShard(3)
	park.Body, park.Trace = &msg.CommitRequest{Txn: ref, Participants: []kv.ShardID{1, 2}}, at
	s.Received([]*msg.Envelope{park})
	var last msg.Receipt
	for i := range 1000 {
		for shard := range kv.ShardID(2) {
			last = msg.Receipt{WaitedNanos: int64(i + 1), Key: []byte{'k', byte('0' + shard)}, Cause: msg.CauseReaders}
			vote := msg.ToShard(3)
			vote.Body, vote.Trace = &msg.Vote{Txn: ref, Shard: 1 + shard, Yes: true, Receipt: last}, at
			s.Received([]*msg.Envelope{vote})
		}
	}
	require.Len(t, s.votes[ref].waits, 2)
	vote := msg.ToShard(3)
	vote.Body, vote.Trace = &msg.Vote{Txn: ref, Shard: 1, Yes: true}, at
	s.Received([]*msg.Envelope{vote})
	require.Len(t, s.votes[ref].waits, 1, "the other one counts no more")
	answer := msg.ToGateway(1)
	answer.Body = &msg.CommitResponse{Txn: ref, Receipt: &last}
	s.Sent([]*msg.Envelope{answer})
	tr.Left([]*msg.Envelope{answer})
	require.Empty(t, s.votes)
	require.NoError(t, tr.Flush(t.Context()))
	for _, x := range e.GetSpans() {
		require.NotEqual(t, "wait for readers", x.Name, "the vote has told of it")
	}
}

func TestWrongTracers(t *testing.T) {
	for _, o := range []Options{{}, {Endpoint: "http://127.0.0.1:1", Ratio: 2},
		{Endpoint: "http://127.0.0.1:1", Exporter: tracetest.NewInMemoryExporter()}} {
		_, err := New(o)
		require.Error(t, err)
	}
}

// TestGatewaysAndShardsMeet: all of it from many goroutines, for the race detector.
func TestGatewaysAndShardsMeet(t *testing.T) {
	tr, e := newTracer(t, 1)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			s := tr.Shard(kv.ShardID(g), false)
			for i := range 100 {
				id := kv.TxnID{Time: int64(i + 1), Rand: uint64(g+1) << 32}
				x := tr.Begin("", "one-shot", id, 1)
				env := prepare(id)
				tr.Label([]*msg.Envelope{env})
				s.Received([]*msg.Envelope{env})
				vote := msg.ToShard(9)
				vote.Body = &msg.Vote{Txn: msg.As[msg.Prepare](env).Txn}
				s.Sent([]*msg.Envelope{vote})
				tr.Left([]*msg.Envelope{vote})
				x.End(1, nil, nil)
			}
		})
	}
	all.Wait()
	require.NoError(t, tr.Flush(t.Context()))
	require.Len(t, e.GetSpans(), 4*100*3)
}
