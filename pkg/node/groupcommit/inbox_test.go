package groupcommit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// begin and end make numbered messages.
func begin(n int) *msg.Envelope { return &msg.Envelope{Body: &msg.Read{Number: uint32(n)}} }
func end(n int) *msg.Envelope {
	return &msg.Envelope{Body: &msg.Deregister{Reader: kv.TxnRef{Attempt: uint32(n)}}}
}

// A step's messages are in two groups, each in the order of arrival.
func TestEndingMessagesGoFirst(t *testing.T) {
	q := &Inbox{}
	var buffer []*msg.Envelope
	for range 3 {
		b, e := []*msg.Envelope{begin(1), begin(2), begin(3)}, []*msg.Envelope{end(1), end(2), end(3)}
		q.Push(b[0], e[0])
		q.Push(e[1])
		q.Push(b[1])
		q.Push(b[2], e[2])
		require.Equal(t, 6, q.Len())
		taken, _ := q.Take(buffer, nil)
		require.Equal(t, append(e, b...), taken)
		require.Zero(t, q.Len())
		buffer = taken
	}
	taken, _ := q.Take(buffer, nil)
	require.Empty(t, taken)
	before := []*msg.Envelope{end(1), begin(1), begin(2)}
	q.Push(end(2), begin(3))
	q.PutBack(before)
	taken, _ = q.Take(nil, nil)
	require.Equal(t, []*msg.Envelope{end(1), end(2), begin(1), begin(2), begin(3)}, taken)
}

// The reused slice must not retain read results.
func TestTakeClearsReadResults(t *testing.T) {
	q := &Inbox{}
	for id := range 3 {
		q.PushRead(entry.ReadResult{ID: uint64(id + 1)})
	}
	_, reads := q.Take(nil, nil)
	require.Len(t, reads, 3)
	q.Take(nil, reads)
	require.Equal(t, make([]entry.ReadResult, 3), reads)
}

// A repeated vote must not reach the last agent before the commit request: it would be answered with an
// abort.
func TestVoteRequestDoesNotPassCommitRequest(t *testing.T) {
	q := &Inbox{}
	vote, request, repeated := &msg.Envelope{Body: &msg.Vote{Yes: true}}, &msg.Envelope{Body: &msg.CommitRequest{}},
		&msg.Envelope{Body: &msg.Vote{Yes: true, Repeated: true}}
	q.Push(request, vote, repeated)
	taken, _ := q.Take(nil, nil)
	require.Equal(t, []*msg.Envelope{vote, request, repeated}, taken)
}

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
	q.Push(many(maxNewWork+more, begin)...)
	require.Equal(t, maxNewWork, q.Len())
	require.EqualValues(t, more, q.dropped)
	q.Push(many(MaxInbox-maxNewWork, end)...)
	require.Equal(t, MaxInbox, q.Len())
	require.EqualValues(t, more, q.dropped, "the reserve is for ending messages")
	q.Push(many(more, end)...)
	q.Push(begin(0))
	require.Equal(t, MaxInbox, q.Len())
	require.EqualValues(t, 2*more+1, q.dropped)
	taken, _ := q.Take(nil, nil)
	require.Len(t, taken, MaxInbox)
	q.Push(begin(0))
	require.Equal(t, 1, q.Len(), "accepted again")
}
