package guard

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func prefix(s string) netip.Prefix { return strangersPrefix(ip(s)) }

func ip(s string) netip.Addr { return peerIP(&net.TCPAddr{IP: net.ParseIP(s), Port: 1}) }

func newTestLedger(l Limits) *ledger { return newLedger(l.withDefaults(), false) }

// come has a connection come, and gives its place if it is let in.
func come(l *ledger, from netip.Prefix, now time.Time) (*place, any) {
	p := &place{from: from}
	why, victim, ok := l.enter(p, now)
	switch {
	case !ok:
		return nil, why
	case victim != nil:
		return p, victim
	}
	return p, "in"
}

func TestAddressesThatAreOne(t *testing.T) {
	require.Equal(t, prefix("10.0.0.1"), prefix("::ffff:10.0.0.1"))
	require.NotEqual(t, prefix("10.0.0.1"), prefix("10.0.0.2"))
	require.Equal(t, prefix("2001:db8::1"), prefix("2001:db8::2:3:4:5"), "one site of IPv6")
	require.NotEqual(t, prefix("2001:db8::1"), prefix("2001:db8:0:1::1"))
	require.Equal(t, netip.Prefix{}, strangersPrefix(peerIP(&net.UnixAddr{Name: "x"})))
}

func TestStrangersAreFew(t *testing.T) {
	l, now := newTestLedger(Limits{Connections: 100, Strangers: 4, PerAddress: 2}), time.Unix(0, 0)
	a, b, c, d := prefix("10.0.0.1"), prefix("10.0.0.2"), prefix("10.0.0.3"), prefix("10.0.0.4")
	enter := func(from netip.Prefix) *place {
		t.Helper()
		p, what := come(l, from, now)
		require.Equal(t, "in", what)
		return p
	}
	first := enter(a)
	second := enter(a)
	_, what := come(l, a, now)
	require.Equal(t, tooManyOfAddress, what)
	enter(b)
	_, ok := l.known(first, identity{name: "alice"}, now)
	require.True(t, ok)
	enter(a) // a known caller does not count
	enter(c)
	_, what = come(l, c, now)
	require.Equal(t, tooManyStrangers, what, "all are new")
	newcomer, what := come(l, d, now)
	require.Same(t, second, what, "who has none goes before who has most")
	require.NotNil(t, newcomer)
	l.leave(second, now)
	_, strangers := l.counts()
	require.Equal(t, 4, strangers)
	now = now.Add(displaceAfter)
	for range 8 {
		_, what = come(l, d, now)
		require.IsType(t, &place{}, what, "whoever had the time to show who it is gives way")
		l.leave(what.(*place), now)
		now = now.Add(displaceAfter)
	}
}

// TestUsersLeavePlacesForOthers: however many connections users have, strangers come in,
// who may be other nodes, or ask for the node's health.
func TestUsersLeavePlacesForOthers(t *testing.T) {
	for _, connections := range []int{16, 1000, 16384} {
		l, now := newTestLedger(Limits{Connections: connections}), time.Unix(0, 0)
		users := 0
		for {
			p, what := come(l, prefix("10.0.0.1"), now)
			require.Equal(t, "in", what)
			if why, ok := l.known(p, identity{name: fmt.Sprint(users)}, now); !ok {
				require.Equal(t, tooMany, why)
				l.leave(p, now)
				break
			}
			users++
		}
		require.Equal(t, l.places.users, users)
		require.GreaterOrEqual(t, 2*users, connections-2)
		for i := range l.places.administrators {
			p, _ := come(l, prefix("10.0.0.1"), now)
			_, ok := l.known(p, identity{name: "root", administrator: true}, now)
			require.True(t, ok, "administrator %d", i)
			users++
		}
		nodes := 0
		for range l.places.nodes {
			p, what := come(l, prefix("10.0.0.2"), now)
			require.Equal(t, "in", what)
			_, ok := l.known(p, identity{node: true}, now)
			require.True(t, ok)
			nodes++
		}
		web := &place{from: prefix("10.0.0.3"), door: Web}
		for range l.places.strangers[Calls] {
			l.enter(&place{from: prefix("10.0.0.3")}, now)
		}
		_, victim, ok := l.enter(web, now)
		require.True(t, ok && victim == nil)
		open, strangers := l.counts()
		require.LessOrEqual(t, open, connections)
		require.Equal(t, users+nodes+strangers, open)
	}
}

// TestAUserGetsAQuarterOfWhatIsFree: so users that come later still get connections.
func TestAUserGetsAQuarterOfWhatIsFree(t *testing.T) {
	l, now := newTestLedger(Limits{Connections: 1000}), time.Unix(0, 0)
	take := func(name string) (all []*place) {
		for {
			p, _ := come(l, prefix("10.0.0.1"), now)
			require.NotNil(t, p)
			why, ok := l.known(p, identity{name: name}, now)
			if !ok {
				require.Equal(t, tooManyOfUser, why)
				l.leave(p, now)
				return all
			}
			all = append(all, p)
		}
	}
	first, second := take("alice"), take("bob")
	require.Len(t, first, l.places.users/5)
	require.InDelta(t, float64(l.places.users-len(first))/5, len(second), 1)
	for _, p := range first {
		l.leave(p, now)
	}
	require.Len(t, take("alice"), (l.places.users-len(second))/5, "what a user closes is free again")
	for range 10 {
		name := fmt.Sprint(l.users)
		require.GreaterOrEqual(t, len(take(name)), alwaysOfUser)
	}
}

// TestWithoutTLSTheLastConnectionsAreForTheMachineAndMembers: other addresses do not get
// them.
func TestWithoutTLSTheLastConnectionsAreForTheMachineAndMembers(t *testing.T) {
	l, now := newLedger(Limits{Connections: 100}.withDefaults(), true), time.Unix(0, 0)
	l.trusted.members = map[netip.Addr]bool{ip("10.0.0.7"): true}
	enter := func(from string) bool {
		_, _, ok := l.enter(&place{ip: ip(from), from: prefix(from), door: Web}, now)
		return ok
	}
	n := 0
	for enter("10.0.0.1") {
		n++
	}
	require.Equal(t, 100-l.places.administrators, n)
	for i := range l.places.administrators {
		require.True(t, enter([]string{"127.0.0.1", "10.0.0.7"}[i%2]))
	}
	require.False(t, enter("127.0.0.1"))
}

func TestFailuresAreAnswered(t *testing.T) {
	l, now := newTestLedger(Limits{Failures: 3, Longest: 4 * time.Second}), time.Unix(0, 0)
	a, b := prefix("10.0.0.1"), prefix("10.0.0.2")
	refused := func(from netip.Prefix) bool {
		p, what := come(l, from, now)
		if p != nil {
			l.leave(p, now)
		} else {
			require.Equal(t, failedTooOften, what)
		}
		return p == nil
	}
	for range 3 {
		l.failed(a, now)
		require.False(t, refused(a), "few failures are mistakes")
	}
	for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
		l.failed(a, now)
		l.failed(a, now) // of a connection that was there: it makes it no longer
		require.True(t, refused(a), i)
		require.False(t, refused(b), "another address is not refused")
		now = now.Add(wait - 1)
		require.True(t, refused(a), i)
		now = now.Add(1)
		require.False(t, refused(a), i)
	}
	now = now.Add(10 * time.Minute)
	require.False(t, refused(a))
	require.Empty(t, l.at, "nothing is remembered of what has passed")
	for range 3 {
		l.failed(a, now)
		require.False(t, refused(a), "it begins anew")
	}
	l.failed(a, now)
	require.True(t, refused(a))
	now = now.Add(time.Second)
	require.False(t, refused(a))
}

// TestTrustedAddressesAreSlowedAndNeverRefused: the address of a member, or one with an
// authenticated connection, is slowed however often it fails, and an address of which
// neither is true is refused.
func TestTrustedAddressesAreSlowedAndNeverRefused(t *testing.T) {
	l, now := newTestLedger(Limits{Failures: 3}), time.Unix(0, 0)
	l.trusted.members = map[netip.Addr]bool{ip("2001:db8::1"): true}
	connect := func(from string, port Door) (*place, bool) {
		p := &place{ip: ip(from), from: prefix(from), door: port}
		_, _, ok := l.enter(p, now)
		return p, ok
	}
	client, ok := connect("2001:db8::2", Calls)
	require.True(t, ok)
	_, ok = l.known(client, identity{name: "alice"}, now)
	require.True(t, ok)
	fail := func(from string) {
		for range 8 {
			p, ok := connect(from, Web)
			require.True(t, ok)
			l.failed(p.from, now)
			l.leave(p, now)
		}
	}
	state := func(from string, port Door) string {
		p, ok := connect(from, port)
		switch {
		case !ok:
			return "refused"
		case p.slow:
			l.leave(p, now)
			return "slowed"
		}
		l.leave(p, now)
		return "served"
	}
	fail("2001:db8::3")
	require.Equal(t, "refused", state("2001:db8::4", Calls), "the strangers of a /64 count as one")
	require.Equal(t, "slowed", state("2001:db8::4", Web), "it may ask for health")
	for _, from := range []string{"2001:db8::1", "2001:db8::2"} {
		require.Equal(t, "served", state(from, Calls), "strangers of its /64 do not count against it")
		fail(from)
		require.Equal(t, "slowed", state(from, Calls))
		require.Equal(t, "slowed", state(from, Web))
	}
	l.leave(client, now)
	now = now.Add(trustFor - 1)
	fail("2001:db8::2")
	require.Equal(t, "slowed", state("2001:db8::2", Calls), "a client that restarts comes back")
	now = now.Add(1)
	fail("2001:db8::2")
	require.Equal(t, "refused", state("2001:db8::2", Calls), "trust ends")
	fail("2001:db8::1")
	require.Equal(t, "slowed", state("2001:db8::1", Calls), "a member's does not")
}

// TestNewcomersOfATrustedAddressGetPlaces: among its strangers an old one is closed sooner
// than among those of other addresses.
func TestNewcomersOfATrustedAddressGetPlaces(t *testing.T) {
	l, now := newTestLedger(Limits{PerAddress: 2}), time.Unix(0, 0)
	l.trusted.members = map[netip.Addr]bool{ip("10.0.0.1"): true}
	for _, from := range []string{"10.0.0.1", "10.0.0.2"} {
		for range 2 {
			_, _, ok := l.enter(&place{ip: ip(from), from: prefix(from)}, now)
			require.True(t, ok)
		}
	}
	now = now.Add(displaceTrustedAfter)
	_, victim, ok := l.enter(&place{ip: ip("10.0.0.1"), from: prefix("10.0.0.1")}, now)
	require.True(t, ok && victim != nil)
	why, _, ok := l.enter(&place{ip: ip("10.0.0.2"), from: prefix("10.0.0.2")}, now)
	require.False(t, ok)
	require.Equal(t, tooManyOfAddress, why)
}

// TestTrustIsBounded: addresses whose trust has ended make room for others.
func TestTrustIsBounded(t *testing.T) {
	l, now := newTestLedger(Limits{}), time.Unix(0, 0)
	l.trusted.open(ip("10.255.0.1"), now)
	for i := range keptAddresses + 1000 {
		a := ip(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		l.trusted.open(a, now)
		l.trusted.close(a, now)
		require.LessOrEqual(t, len(l.trusted.authenticated), keptAddresses)
	}
	require.True(t, l.trusted.has(ip("10.255.0.1"), now), "it has an open connection")
}

// TestTheLedgerIsBounded: however many addresses fail.
func TestTheLedgerIsBounded(t *testing.T) {
	l, now := newTestLedger(Limits{}), time.Unix(0, 0)
	for i := range keptAddresses + 1000 {
		l.failed(prefix(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)), now)
		require.LessOrEqual(t, len(l.at), keptAddresses)
	}
}

// TestTheLedgerAddsUp: whatever comes and goes, it counts what is there, and in the
// end nothing.
func TestTheLedgerAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, now := newTestLedger(Limits{Connections: 16, Strangers: 4, Web: 2, PerAddress: 3, Failures: 2}), time.Unix(0, 0)
		var all []*place
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			from := prefix(fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 3).Draw(t, "address")))
			verb := rapid.SampledFrom([]string{"enter", "enter", "known", "leave", "fail"}).Draw(t, "verb")
			i := rapid.IntRange(0, max(len(all)-1, 0)).Draw(t, "which")
			switch {
			case verb == "enter":
				p := &place{from: from, door: Door(rapid.IntRange(0, 1).Draw(t, "port"))}
				_, victim, ok := l.enter(p, now)
				if ok {
					all = append(all, p)
				}
				if victim != nil { // it leaves when its connection is closed
					require.Equal(t, gone, victim.standing)
				}
			case verb == "fail":
				l.failed(from, now)
			case len(all) == 0:
			case verb == "known":
				l.known(all[i], rapid.SampledFrom([]identity{{node: true}, {name: "alice"}, {name: "bob"},
					{name: "root", administrator: true}}).Draw(t, "who"), now)
			case verb == "leave":
				l.leave(all[i], now)
				all = append(all[:i], all[i+1:]...)
			}
			var by [gone + 1]int
			at := map[netip.Prefix]*[numDoors]int{}
			for _, p := range all {
				by[p.standing]++
				if p.standing == stranger {
					if at[p.from] == nil {
						at[p.from] = new([numDoors]int)
					}
					at[p.from][p.door]++
				}
			}
			byUser := map[string]int{}
			for _, p := range all {
				if p.standing == user {
					byUser[p.name]++
				}
			}
			if !maps.Equal(byUser, l.byUser) {
				t.Fatalf("users have %v, want %v", l.byUser, byUser)
			}
			n, s := l.counts()
			if n != by[stranger]+by[user]+by[administrator]+by[peerNode] || s != by[stranger] || l.users != by[user] ||
				l.administrators != by[administrator] || l.nodes != by[peerNode] || n > 16 || s > 6 {
				t.Fatalf("%d open and %d strangers, %d users, %d nodes; want %v", n, s, l.users, l.nodes, by)
			}
			for from, n := range at {
				if l.at[from].strangers != *n || n[Calls] > 3 || n[Web] > 3 {
					t.Fatalf("%v has %d strangers, want %d", from, l.at[from].strangers, *n)
				}
			}
		}
		for _, p := range all {
			l.leave(p, now)
			l.leave(p, now)
		}
		now = now.Add(time.Hour)
		for i := range 3 {
			p, _ := come(l, prefix(fmt.Sprintf("10.0.0.%d", i+1)), now)
			if p == nil {
				t.Fatal("refused an hour later")
			}
			l.leave(p, now)
		}
		if n, s := l.counts(); n != 0 || s != 0 || len(l.at) != 0 {
			t.Fatalf("%d, %d and %d are left", n, s, len(l.at))
		}
	})
}

func TestLimitsAreChecked(t *testing.T) {
	require.ErrorContains(t, Limits{Strangers: -1, Timeout: -1}.check(), "Strangers is -1")
	require.ErrorContains(t, Limits{Strangers: -1, Timeout: -1}.check(), "Timeout is -1")
	_, err := New(Options{Limits: Limits{Tries: -1}})
	require.Error(t, err)
}
