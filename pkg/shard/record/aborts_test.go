package record

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// commit names the nth of many.
func commit(n int) kv.CommitID { return kv.CommitID{Gateway: 1, Number: uint64(n)} }

// firstOf names the first commit of an attempt.
func firstOf(txn kv.TxnRef) kv.CommitID {
	return kv.CommitID{Gateway: 1, Number: uint64(txn.Time)<<32 | txn.Rand<<16 | uint64(txn.Attempt)}
}

// TestWhoFillsTheMemoryLosesByIt: one user has ten times as much aborted as there is
// room for. Others, however long ago their commits were sent, are as they were before.
func TestWhoFillsTheMemoryLosesByIt(t *testing.T) {
	const limit, others = 1000, 20
	m := NewMemory(limit, none)
	n := 0
	for ; n < others; n++ {
		m.Abort(kv.Account(2+n), commit(n), nil)
	}
	for ; n < 10*limit; n++ {
		m.Abort(1, commit(n), nil)
	}
	for i := range others {
		_, known := m.FindAbort(commit(i))
		require.True(t, known, "the only abort of user %d is remembered", i)
		require.False(t, m.IsPresumedAborted(kv.Account(2+i), 0))
	}
	require.False(t, m.IsPresumedAborted(kv.Account(2+others), 0), "who has had nothing aborted")
	require.True(t, m.IsPresumedAborted(1, uint64(n-limit-1)))
	require.False(t, m.IsPresumedAborted(1, uint64(n-limit+others)), "even of his own, only what was sent long ago")
	_, dead, _ := m.Len()
	require.Equal(t, limit, dead)
}

// TestSharesAreNearlyEqual: users who have more aborted than there is room for get
// about the same share of it each, in whatever order they come.
func TestSharesAreNearlyEqual(t *testing.T) {
	const limit, users = 6400, 8
	m := NewMemory(limit, none)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 20 * limit {
		user := kv.Account(min(r.IntN(users), r.IntN(users))) // some more often than others
		m.Abort(user, commit(n), nil)
	}
	for user := range kv.Account(users) {
		require.InDelta(t, limit/users, m.aborts.shares[user].len(), 2*limit/shareSlack)
	}
}

// TestTheUsersToldApartAreBounded: where there are more, those who have had nothing
// aborted for longest share a floor.
func TestTheUsersToldApartAreBounded(t *testing.T) {
	m := NewMemory(100*maxShares, none)
	for n := range 2 * maxShares {
		m.Abort(kv.Account(n), commit(n), nil)
	}
	require.Len(t, m.aborts.shares, maxShares)
	require.True(t, m.IsPresumedAborted(0, maxShares-1))
	require.False(t, m.IsPresumedAborted(0, maxShares))
	require.False(t, m.IsPresumedAborted(2*maxShares-1, maxShares))
	for n := range maxShares {
		_, known := m.FindAbort(commit(n))
		require.False(t, known)
	}
}

// TestFencesAreBoundedPerUser: who asks for the outcomes of ids that nobody has used
// closes as many as a node's transactions under way; others are not affected, and what
// is too old to ask for makes room.
func TestFencesAreBoundedPerUser(t *testing.T) {
	m := NewMemory(10, none)
	id := func(n int) kv.TxnID { return kv.TxnID{Time: int64(n), Rand: 1} }
	for n := range kv.MaxFences {
		require.True(t, m.Fence(1, id(n)))
	}
	require.False(t, m.Fence(1, id(kv.MaxFences)))
	require.False(t, m.IsFenced(id(kv.MaxFences)))
	require.True(t, m.Fence(1, id(5)), "it is closed already")
	require.True(t, m.Fence(2, id(kv.MaxFences)))
	m.RecoverFence(1, id(kv.MaxFences+1))
	require.True(t, m.IsFenced(id(kv.MaxFences+1)), "what was promised is kept, though there are too many")
	m.DropFences(2)
	require.True(t, m.Fence(1, id(kv.MaxFences+2)))
	require.False(t, m.Fence(1, id(kv.MaxFences+3)))
}
