package record

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// attempt names the nth of many.
func attempt(n int) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: int64(n)}, Attempt: 1} }

// TestWhoFillsTheMemoryLosesByIt: one user has ten times as much aborted as there is
// room for. Others, however long ago their commits were sent, are as they were before.
func TestWhoFillsTheMemoryLosesByIt(t *testing.T) {
	const limit, others = 1000, 20
	m := NewMemory(limit, none)
	n := 0
	for ; n < others; n++ {
		m.Kill(kv.Account(2+n), attempt(n), 0, nil)
	}
	for ; n < 10*limit; n++ {
		m.Kill(1, attempt(n), 0, nil)
	}
	for i := range others {
		_, known := m.Dead(attempt(i))
		require.True(t, known, "the only abort of user %d is remembered", i)
		require.False(t, m.Presumed(kv.Account(2+i), 0))
	}
	require.False(t, m.Presumed(kv.Account(2+others), 0), "who has had nothing aborted")
	require.True(t, m.Presumed(1, uint64(n-limit-1)))
	require.False(t, m.Presumed(1, uint64(n-limit+others)), "even of his own, only what was sent long ago")
	_, dead, _ := m.Len()
	require.Equal(t, limit, dead)
}

// TestACommitThatIsSentAgainHasItsOwnTombstone: whichever is forgotten first, each of the
// commits of an attempt is dead or presumed to be, its user's or another one's.
func TestACommitThatIsSentAgainHasItsOwnTombstone(t *testing.T) {
	type commit struct {
		user  kv.Account
		heard uint64
	}
	const limit = 8
	for _, again := range []commit{{1, 0}, {1, 1}, {1, 5}, {2, 0}, {2, 1}} {
		for _, filler := range []kv.Account{1, 2, 3} {
			m := NewMemory(limit, none)
			txn := attempt(0)
			m.Kill(1, txn, 0, nil)
			for n := range again.heard {
				m.Kill(3, attempt(int(1+n)), 0, nil)
			}
			m.Kill(again.user, txn, again.heard, nil)
			for n := range 3 * limit {
				_, dead := m.Dead(txn)
				require.True(t, dead || m.Presumed(1, 0), "%v, filled by %d: the first", again, filler)
				require.True(t, dead || m.Presumed(again.user, again.heard), "%v, filled by %d: the second", again, filler)
				m.Kill(filler, attempt(100+n), 0, nil)
			}
		}
	}
}

// TestSharesAreNearlyEqual: users who have more aborted than there is room for get
// about the same share of it each, in whatever order they come.
func TestSharesAreNearlyEqual(t *testing.T) {
	const limit, users = 6400, 8
	m := NewMemory(limit, none)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 20 * limit {
		user := kv.Account(min(r.IntN(users), r.IntN(users))) // some more often than others
		m.Kill(user, attempt(n), 0, nil)
	}
	for user := range kv.Account(users) {
		require.InDelta(t, limit/users, m.aborts.shares[user].len(), 2*limit/slack)
	}
}

// TestTheUsersToldApartAreBounded: where there are more, those who have had nothing
// aborted for longest share a floor.
func TestTheUsersToldApartAreBounded(t *testing.T) {
	m := NewMemory(100*maxShares, none)
	for n := range 2 * maxShares {
		m.Kill(kv.Account(n), attempt(n), 0, nil)
	}
	require.Len(t, m.aborts.shares, maxShares)
	require.True(t, m.Presumed(0, maxShares-1))
	require.False(t, m.Presumed(0, maxShares))
	require.False(t, m.Presumed(2*maxShares-1, maxShares))
	for n := range maxShares {
		_, known := m.Dead(attempt(n))
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
	require.False(t, m.Fenced(id(kv.MaxFences)))
	require.True(t, m.Fence(1, id(5)), "it is closed already")
	require.True(t, m.Fence(2, id(kv.MaxFences)))
	m.RecoverFence(1, id(kv.MaxFences+1))
	require.True(t, m.Fenced(id(kv.MaxFences+1)), "what was promised is kept, though there are too many")
	m.DropFences(2)
	require.True(t, m.Fence(1, id(kv.MaxFences+2)))
	require.False(t, m.Fence(1, id(kv.MaxFences+3)))
}
