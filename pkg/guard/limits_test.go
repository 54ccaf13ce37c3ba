package guard

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func prefix(s string) netip.Prefix {
	return origin(&net.TCPAddr{IP: net.ParseIP(s), Port: 1})
}

func newTestLedger(l Limits) *ledger {
	return &ledger{limits: l.withDefaults(), at: map[netip.Prefix]*address{}}
}

func TestAddressesThatAreOne(t *testing.T) {
	require.Equal(t, prefix("10.0.0.1"), prefix("::ffff:10.0.0.1"))
	require.NotEqual(t, prefix("10.0.0.1"), prefix("10.0.0.2"))
	require.Equal(t, prefix("2001:db8::1"), prefix("2001:db8::2:3:4:5"), "one site of IPv6")
	require.NotEqual(t, prefix("2001:db8::1"), prefix("2001:db8:0:1::1"))
	require.Equal(t, netip.Prefix{}, origin(&net.UnixAddr{Name: "x"}))
}

func TestStrangersAreFew(t *testing.T) {
	l, now := newTestLedger(Limits{Connections: 6, Strangers: 4, PerAddress: 2}), time.Unix(0, 0)
	a, b, c := prefix("10.0.0.1"), prefix("10.0.0.2"), prefix("10.0.0.3")
	enter := func(from netip.Prefix) any {
		why, ok := l.enter(from, false, now)
		if ok {
			return "in"
		}
		return why
	}
	require.Equal(t, "in", enter(a))
	require.Equal(t, "in", enter(a))
	require.Equal(t, tooManyOfAddress, enter(a))
	require.Equal(t, "in", enter(b), "another address has room of its own")
	l.known(a, now)
	require.Equal(t, "in", enter(a), "a known caller does not count")
	require.Equal(t, "in", enter(c))
	require.Equal(t, tooManyStrangers, enter(c))
	l.known(c, now)
	require.Equal(t, "in", enter(c))
	l.known(c, now)
	require.Equal(t, tooMany, enter(c), "all are open")
	l.leave(c, false, now)
	require.Equal(t, "in", enter(c))
}

func TestFailuresAreAnswered(t *testing.T) {
	l, now := newTestLedger(Limits{Failures: 3, Longest: 4 * time.Second}), time.Unix(0, 0)
	a, b := prefix("10.0.0.1"), prefix("10.0.0.2")
	refused := func(from netip.Prefix) bool {
		why, ok := l.enter(from, false, now)
		if ok {
			l.leave(from, true, now)
		} else {
			require.Equal(t, failedTooOften, why)
		}
		return !ok
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
		l, now := newTestLedger(Limits{Connections: 8, Strangers: 4, PerAddress: 2, Failures: 2}), time.Unix(0, 0)
		type open struct {
			from     netip.Prefix
			stranger bool
		}
		var all []open
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			from := prefix(fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 3).Draw(t, "address")))
			verb := rapid.SampledFrom([]string{"enter", "enter", "known", "leave", "fail"}).Draw(t, "verb")
			i := rapid.IntRange(0, max(len(all)-1, 0)).Draw(t, "which")
			switch {
			case verb == "enter":
				if _, ok := l.enter(from, false, now); ok {
					all = append(all, open{from, true})
				}
			case verb == "fail":
				l.failed(from, now)
			case len(all) == 0:
			case verb == "known" && all[i].stranger:
				l.known(all[i].from, now)
				all[i].stranger = false
			case verb == "leave":
				l.leave(all[i].from, all[i].stranger, now)
				all = append(all[:i], all[i+1:]...)
			}
			strangers, by := 0, map[netip.Prefix]int{}
			for _, o := range all {
				if o.stranger {
					strangers++
					by[o.from]++
				}
			}
			if n, s := l.counts(); n != len(all) || s != strangers || s > 4 || n > 8 {
				t.Fatalf("%d open and %d strangers; want %d and %d", n, s, len(all), strangers)
			}
			for from, n := range by {
				if l.at[from].strangers != n || n > 2 {
					t.Fatalf("%v has %d strangers, want %d", from, l.at[from].strangers, n)
				}
			}
		}
		for _, o := range all {
			l.leave(o.from, o.stranger, now)
		}
		now = now.Add(time.Hour)
		for i := range 3 {
			from := prefix(fmt.Sprintf("10.0.0.%d", i+1))
			if _, ok := l.enter(from, false, now); !ok {
				t.Fatal("refused an hour later")
			}
			l.leave(from, true, now)
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
