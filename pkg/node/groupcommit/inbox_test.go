package groupcommit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// begin and end are messages with a number.
func begin(n int) *msg.Envelope { return &msg.Envelope{Body: &msg.Read{Number: uint32(n)}} }
func end(n int) *msg.Envelope {
	return &msg.Envelope{Body: &msg.Deregister{Reader: kv.TxnRef{Attempt: uint32(n)}}}
}

// TestWhatEndsGoesFirst: a step's messages are in two groups, each in the order
// of arrival, and the next step's room is that of the one before the last.
func TestWhatEndsGoesFirst(t *testing.T) {
	q := &Inbox{}
	var room []*msg.Envelope
	for range 3 {
		b, e := []*msg.Envelope{begin(1), begin(2), begin(3)}, []*msg.Envelope{end(1), end(2), end(3)}
		q.Push(b[0], e[0])
		q.Push(e[1])
		q.Push(b[1])
		q.Push(b[2], e[2])
		require.Equal(t, 6, q.Len())
		taken, _ := q.Take(room, nil)
		require.Equal(t, append(e, b...), taken)
		require.Zero(t, q.Len())
		room = taken
	}
	taken, _ := q.Take(room, nil)
	require.Empty(t, taken)
}

// TestResultsAreForgotten: what was read for a step is not kept for the room.
func TestResultsAreForgotten(t *testing.T) {
	q := &Inbox{}
	for id := range 3 {
		q.PushRead(entry.ReadResult{ID: uint64(id + 1)})
	}
	_, reads := q.Take(nil, nil)
	require.Len(t, reads, 3)
	q.Take(nil, reads)
	require.Equal(t, make([]entry.ReadResult, 3), reads)
}

// TestAQuestionDoesNotOvertake: a participant that asks again, before the step
// that parks the transaction, does not have it aborted.
func TestAQuestionDoesNotOvertake(t *testing.T) {
	q := &Inbox{}
	vote, park, again := &msg.Envelope{Body: &msg.Vote{Yes: true}}, &msg.Envelope{Body: &msg.CommitRequest{}}, &msg.Envelope{Body: &msg.Vote{Yes: true, Repeated: true}}
	q.Push(park, vote, again)
	taken, _ := q.Take(nil, nil)
	require.Equal(t, []*msg.Envelope{vote, park, again}, taken)
}

// TestInboxIsBounded: what begins is dropped first.
func TestInboxIsBounded(t *testing.T) {
	const more = 100
	many := func(n int, f func(int) *msg.Envelope) []*msg.Envelope {
		out := make([]*msg.Envelope, n)
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	q := &Inbox{}
	q.Push(many(maxBegins+more, begin)...)
	require.Equal(t, maxBegins, q.Len())
	require.EqualValues(t, more, q.dropped)
	q.Push(many(MaxInbox-maxBegins, end)...)
	require.Equal(t, MaxInbox, q.Len())
	require.EqualValues(t, more, q.dropped, "there is room for what ends something")
	q.Push(many(more, end)...)
	q.Push(begin(0))
	require.Equal(t, MaxInbox, q.Len())
	require.EqualValues(t, 2*more+1, q.dropped)
	taken, _ := q.Take(nil, nil)
	require.Len(t, taken, MaxInbox)
	q.Push(begin(0))
	require.Equal(t, 1, q.Len(), "there is room again")
}

// BenchmarkInbox is a message's way through an inbox, pushed so many at a time,
// a hundred to a step.
func BenchmarkInbox(b *testing.B) {
	mixes := map[string][]*msg.Envelope{
		"begin": {{Body: &msg.Prepare{}}, {Body: &msg.CommitRequest{}}, {Body: &msg.Read{}}, {Body: &msg.Read{}}},
		"mixed": {{Body: &msg.Prepare{}}, {Body: &msg.Vote{}}, {Body: &msg.Read{}}, {Body: &msg.Deregister{}}},
	}
	for _, mix := range []string{"begin", "mixed"} {
		for _, at := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/%d", mix, at), func(b *testing.B) {
				q := &Inbox{}
				var envs, taken []*msg.Envelope
				var reads []entry.ReadResult
				for i := range at {
					envs = append(envs, mixes[mix][i%4])
				}
				b.ReportAllocs()
				for i := 0; i < b.N; i += at {
					q.Push(envs...)
					if i%100 == 0 {
						taken, reads = q.Take(taken, reads)
					}
				}
			})
		}
	}
}
