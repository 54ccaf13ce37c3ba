package server

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/peer"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestTransactionsAreKnownByTheirConnection while they are open, and for a while after their end.
func TestTransactionsAreKnownByTheirConnection(t *testing.T) {
	on := func(addr net.Addr) context.Context { return peer.NewContext(t.Context(), &peer.Peer{Addr: addr}) }
	first, second := on(&net.TCPAddr{Port: 1}), on(&net.TCPAddr{Port: 1}) // one after the other
	id := func(n int) kv.TxnID { return kv.TxnID{Time: int64(n + 1)} }
	var o opened
	require.False(t, o.has(first, id(0)))
	o.begin(first, id(0))
	o.begin(t.Context(), id(1)) // not over the network
	o.begin(on(&net.UnixAddr{}), id(2))
	require.True(t, o.has(first, id(0)))
	require.False(t, o.has(second, id(0)))
	for _, n := range []int{1, 2} {
		require.False(t, o.has(t.Context(), id(n)))
	}

	o.end(id(0))
	o.end(id(0))
	o.end(id(1))
	require.True(t, o.has(first, id(0)), "the response to a waiter comes after the end")
	o.begin(second, id(0)) // another attempt
	for n := range maxEnded {
		o.begin(first, id(10+n))
		o.end(id(10 + n))
	}
	require.True(t, o.has(second, id(0)), "an open transaction stays")
	o.begin(first, id(9))
	o.end(id(9))
	require.False(t, o.has(first, id(10)))
	require.True(t, o.has(first, id(11)))
	require.Len(t, o.all, maxEnded+1)
}
