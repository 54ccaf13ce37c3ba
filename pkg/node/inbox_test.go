package node

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// begin and end are messages with a number.
func begin(n int) *msg.Envelope { return &msg.Envelope{Read: &msg.Read{Number: uint32(n)}} }
func end(n int) *msg.Envelope {
	return &msg.Envelope{Leave: &msg.Leave{Reader: kv.TxnRef{Attempt: uint32(n)}}}
}

// TestWhatEndsGoesFirst: a step's messages are in two groups, each in the order
// of arrival, and the next step's room is that of the one before the last.
func TestWhatEndsGoesFirst(t *testing.T) {
	q := newInbox()
	var room []*msg.Envelope
	for range 3 {
		b, e := []*msg.Envelope{begin(1), begin(2), begin(3)}, []*msg.Envelope{end(1), end(2), end(3)}
		q.push(b[0], e[0])
		q.push(e[1])
		q.push(b[1])
		q.push(b[2], e[2])
		require.Equal(t, 6, q.len())
		taken, _ := q.take(room, nil)
		require.Equal(t, append(e, b...), taken)
		require.Zero(t, q.len())
		room = taken
	}
	taken, _ := q.take(room, nil)
	require.Empty(t, taken)
}

// TestResultsAreForgotten: what was read for a step is not kept for the room.
func TestResultsAreForgotten(t *testing.T) {
	q := newInbox()
	for id := range 3 {
		q.pushRead(entry.ReadResult{ID: uint64(id + 1)})
	}
	_, reads := q.take(nil, nil)
	require.Len(t, reads, 3)
	q.take(nil, reads)
	require.Equal(t, make([]entry.ReadResult, 3), reads)
}

// TestAQuestionDoesNotOvertake: a participant that asks again, before the step
// that parks the transaction, does not have it aborted.
func TestAQuestionDoesNotOvertake(t *testing.T) {
	q := newInbox()
	vote, park, again := &msg.Envelope{Vote: &msg.Vote{Yes: true}}, &msg.Envelope{Park: &msg.Park{}}, &msg.Envelope{Vote: &msg.Vote{Yes: true, Repeated: true}}
	q.push(park, vote, again)
	taken, _ := q.take(nil, nil)
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
	q := newInbox()
	q.push(many(maxBegins+more, begin)...)
	require.Equal(t, maxBegins, q.len())
	require.EqualValues(t, more, q.dropped)
	q.push(many(maxInbox-maxBegins, end)...)
	require.Equal(t, maxInbox, q.len())
	require.EqualValues(t, more, q.dropped, "there is room for what ends something")
	q.push(many(more, end)...)
	q.push(begin(0))
	require.Equal(t, maxInbox, q.len())
	require.EqualValues(t, 2*more+1, q.dropped)
	taken, _ := q.take(nil, nil)
	require.Len(t, taken, maxInbox)
	q.push(begin(0))
	require.Equal(t, 1, q.len(), "there is room again")
}

// TestInboxOfMany: nothing is lost or doubled between goroutines that push and
// one that takes, and each one's messages stay in the order of their lane.
func TestInboxOfMany(t *testing.T) {
	const pushers, each = 4, 2000
	q := newInbox()
	var wg sync.WaitGroup
	for p := range pushers {
		wg.Go(func() {
			for i := range each {
				q.push(begin(p*each+i), end(p*each+i))
			}
		})
	}
	var taken []*msg.Envelope
	nextBegin, nextEnd := [pushers]int{}, [pushers]int{}
	for got := 0; got < 2*pushers*each; got += len(taken) {
		<-q.signal
		taken, _ = q.take(taken, nil)
		begun := false
		for _, env := range taken {
			next, n := &nextEnd, 0
			if env.Ends() {
				require.False(t, begun, "what ends goes first")
				n = int(env.Leave.Reader.Attempt)
			} else {
				begun, next, n = true, &nextBegin, int(env.Read.Number)
			}
			require.Equal(t, next[n/each], n%each)
			next[n/each]++
		}
	}
	wg.Wait()
	require.Zero(t, q.len())
}

// BenchmarkInbox is a message's way through an inbox, pushed so many at a time,
// a hundred to a step.
func BenchmarkInbox(b *testing.B) {
	mixes := map[string][]*msg.Envelope{
		"begin": {{Prepare: &msg.Prepare{}}, {Park: &msg.Park{}}, {Read: &msg.Read{}}, {Read: &msg.Read{}}},
		"mixed": {{Prepare: &msg.Prepare{}}, {Vote: &msg.Vote{}}, {Read: &msg.Read{}}, {Leave: &msg.Leave{}}},
	}
	for _, mix := range []string{"begin", "mixed"} {
		for _, at := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/%d", mix, at), func(b *testing.B) {
				q := newInbox()
				var envs, taken []*msg.Envelope
				var reads []entry.ReadResult
				for i := range at {
					envs = append(envs, mixes[mix][i%4])
				}
				b.ReportAllocs()
				for i := 0; i < b.N; i += at {
					q.push(envs...)
					if i%100 == 0 {
						taken, reads = q.take(taken, reads)
					}
				}
			})
		}
	}
}
