package groupcommit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// step makes a step that sends numbered messages, with or without an entry.
func step(s *Shard, writes bool, numbers ...int) *Step {
	o := shard.Output{}
	if writes {
		o.Entries = make([]entry.Entry, 1)
	}
	for _, n := range numbers {
		o.Send = append(o.Send, begin(n))
	}
	return &Step{Shard: s, Out: o}
}

// numbersOf returns the numbers of messages.
func numbersOf(envs []*msg.Envelope) (out []int) {
	for _, e := range envs {
		out = append(out, int(msg.As[msg.Read](e).Number))
	}
	return out
}

// Two shards write and send in several batches, and the log becomes durable behind them.
func TestMessagesWaitForTheirEntries(t *testing.T) {
	a, b := &Shard{ID: 1}, &Shard{ID: 2}
	var g Pending
	var r Releases
	last := engine.Position(0)
	commit := func(steps ...*Step) []int {
		for _, s := range steps {
			g.Submit(s)
		}
		batch := g.Take()
		require.Equal(t, steps, batch.Steps, "in order")
		if len(batch.Groups()) > 0 {
			last++
		}
		now, wait := batch.Appended(last, r.Durable())
		if !wait.Empty() {
			r.Add(wait)
		}
		return numbersOf(now)
	}
	durable := func(at engine.Position) (out []int) {
		r.Advance(at)
		for _, x := range r.Ready() {
			out = append(out, numbersOf(x.Sends)...)
		}
		return out
	}

	require.Equal(t, []int{1}, commit(step(a, false, 1)), "nothing is written yet")
	require.Empty(t, commit(step(a, true, 2)), "waits for its own entry")
	require.Empty(t, commit(step(a, false, 3)), "may report what the previous step wrote")
	require.Equal(t, []int{4}, commit(step(b, false, 4)), "does not wait for another shard")
	require.Empty(t, commit(step(b, true, 5), step(a, false, 6), step(b, false, 7)))
	require.EqualValues(t, 2, r.Last())
	require.Equal(t, []int{2, 3}, durable(1))
	require.Empty(t, durable(0), "a late notification changes nothing")
	require.Equal(t, []int{8}, commit(step(a, false, 8)), "all its entries are durable")
	require.Empty(t, commit(step(b, false, 9)))
	require.Equal(t, []int{5, 6, 7, 9}, durable(2))
	require.Empty(t, durable(2), "once")
	require.Empty(t, commit(step(a, true)), "entries without messages are counted too")
	r.Advance(3)
	ready := r.Ready()
	require.Len(t, ready, 1)
	require.Equal(t, 1, ready[0].Entries)
}

// TestMessagesDoNotPassThoseBeingSent: messages that need not wait are sent after a batch that is being sent.
func TestMessagesDoNotPassThoseBeingSent(t *testing.T) {
	var r Releases
	r.Add(Release{At: 1, Sends: []*msg.Envelope{begin(1)}})
	r.Add(Release{At: 2, Sends: []*msg.Envelope{begin(2)}})
	r.Advance(1)
	require.Len(t, r.Ready(), 1)
	r.Behind([]*msg.Envelope{begin(3)})
	r.Behind([]*msg.Envelope{begin(4)})
	ready := r.Ready()
	require.Len(t, ready, 1)
	require.Equal(t, []int{3, 4}, numbersOf(ready[0].Sends))
	r.Behind([]*msg.Envelope{begin(5)})
	r.Advance(2)
	ready = r.Ready()
	require.Len(t, ready, 2, "a batch that has become durable meanwhile is earlier")
	require.Equal(t, []int{2}, numbersOf(ready[0].Sends))
	require.Equal(t, []int{5}, numbersOf(ready[1].Sends))
	require.Empty(t, r.Ready())
}

func TestBatchKeepsStepOrder(t *testing.T) {
	a, b := &Shard{ID: 1}, &Shard{ID: 2}
	var g Pending
	first, second, third := step(a, true), step(b, true), step(a, true)
	for _, s := range []*Step{first, step(b, false, 1), second, third} {
		g.Submit(s)
	}
	groups := g.Take().Groups()
	want := []entry.Group{{Shard: 1, Entries: first.Out.Entries}, {Shard: 2, Entries: second.Out.Entries},
		{Shard: 1, Entries: third.Out.Entries}}
	require.Equal(t, want, groups)
	require.Same(t, &third.Out.Entries[0], &groups[2].Entries[0])
	require.Empty(t, g.Take().Steps)
}
