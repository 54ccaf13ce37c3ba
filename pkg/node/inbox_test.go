package node

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// begin and end make numbered messages.
func begin(n int) *msg.Envelope { return &msg.Envelope{Body: &msg.Read{Number: uint32(n)}} }
func end(n int) *msg.Envelope {
	return &msg.Envelope{Body: &msg.Deregister{Reader: kv.TxnRef{Attempt: uint32(n)}}}
}

// No message is lost or duplicated, and the messages of each sender keep their order within a lane.
func TestInboxKeepsOrderOfConcurrentSenders(t *testing.T) {
	const senders, each = 4, 2000
	q := newInbox()
	var wg sync.WaitGroup
	for p := range senders {
		wg.Go(func() {
			for i := range each {
				q.push(begin(p*each+i), end(p*each+i))
			}
		})
	}
	var taken []*msg.Envelope
	nextBegin, nextEnd := [senders]int{}, [senders]int{}
	for got := 0; got < 2*senders*each; got += len(taken) {
		<-q.signal
		taken, _ = q.take(taken, nil)
		begun := false
		for _, env := range taken {
			next, n := &nextEnd, 0
			if env.Ends() {
				require.False(t, begun, "ending messages go first")
				n = int(msg.As[msg.Deregister](env).Reader.Attempt)
			} else {
				begun, next, n = true, &nextBegin, int(msg.As[msg.Read](env).Number)
			}
			require.Equal(t, next[n/each], n%each)
			next[n/each]++
		}
	}
	wg.Wait()
	require.Zero(t, q.len())
}
