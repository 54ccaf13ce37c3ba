package outcome

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// commit returns the nth of many commits.
func commit(n int) kv.CommitID { return kv.CommitID{Gateway: 1, Number: uint64(n)} }

// firstOf returns the first commit of an attempt.
func firstOf(txn kv.TxnRef) kv.CommitID {
	return kv.CommitID{Gateway: 1, Number: uint64(txn.Time)<<32 | txn.Rand<<16 | uint64(txn.Attempt)}
}

// TestAbortsOfOneUserDoNotEvictThoseOfOthers aborts ten times as many commits of one user as memory holds.
func TestAbortsOfOneUserDoNotEvictThoseOfOthers(t *testing.T) {
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
		require.True(t, known, "the only abort of user %d", i)
		require.False(t, m.IsPresumedAborted(kv.Account(2+i), 0))
	}
	require.False(t, m.IsPresumedAborted(kv.Account(2+others), 0), "a user without aborts")
	require.True(t, m.IsPresumedAborted(1, uint64(n-limit-1)))
	require.False(t, m.IsPresumedAborted(1, uint64(n-limit+others)), "a commit of the same user that was sent recently")
	_, aborted, _ := m.Len()
	require.Equal(t, limit, aborted)
}

// TestSharesAreNearlyEqual aborts commits of several users, some more often than others, in random order.
func TestSharesAreNearlyEqual(t *testing.T) {
	const limit, users = 6400, 8
	m := NewMemory(limit, none)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 20 * limit {
		user := kv.Account(min(r.IntN(users), r.IntN(users)))
		m.Abort(user, commit(n), nil)
	}
	for user := range kv.Account(users) {
		require.InDelta(t, limit/users, m.aborts.shares[user].len(), 2*limit/shareSlack)
	}
}

// TestSharesAreBounded: users without a recent abort have a common low watermark.
func TestSharesAreBounded(t *testing.T) {
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

// TestFencesAreBoundedPerUser: the bound of one user does not affect others, and fences below the low watermark
// do not count.
func TestFencesAreBoundedPerUser(t *testing.T) {
	m := NewMemory(10, none)
	id := func(n int) kv.TxnID { return kv.TxnID{Time: int64(n), Rand: 1} }
	for n := range kv.MaxFences {
		require.True(t, m.fences.add(1, id(n), kv.MaxFences))
	}
	require.False(t, m.fences.add(1, id(kv.MaxFences), kv.MaxFences))
	require.False(t, m.IsFenced(id(kv.MaxFences)))
	require.True(t, m.fences.add(1, id(5), kv.MaxFences), "closed already")
	require.True(t, m.fences.add(2, id(kv.MaxFences), kv.MaxFences))
	m.fences.add(1, id(kv.MaxFences+1), 0)
	require.True(t, m.IsFenced(id(kv.MaxFences+1)), "a fence of the log, above the bound")
	m.dropBelow(2)
	require.True(t, m.fences.add(1, id(kv.MaxFences+2), kv.MaxFences))
	require.False(t, m.fences.add(1, id(kv.MaxFences+3), kv.MaxFences))
}
