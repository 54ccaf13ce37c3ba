package guard

import (
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// newTestGate is one with TLS, whose directory has a table that the test sets.
func newTestGate(t *testing.T, limits Limits, b *memory.Budget) (*Gate, *Directory) {
	t.Helper()
	d := &Directory{opt: DirectoryOptions{Grace: time.Hour, Now: time.Now}}
	g, err := New(Options{Keeper: new(certs.Keeper), Directory: d, Needs: func(string) Need { return NeedUser },
		Limits: limits, Budget: b})
	require.NoError(t, err)
	return g, d
}

// has has the table have some users.
func (d *Directory) has(t *testing.T, names ...string) {
	t.Helper()
	var all []*users.User
	for _, n := range names {
		all = append(all, &users.User{Name: n})
	}
	table, err := users.TableOf(all)
	require.NoError(t, err)
	d.latest.Store(&asked{table: table, at: time.Now()})
}

// admitted is a connection that is let in, and its other end.
func (g *Gate) admitted(t *testing.T, port Door) (*conn, net.Conn) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { there.Close() })
	k := g.admit(here, port)
	require.NotNil(t, k)
	return k, there
}

func (g *Gate) counts(t *testing.T, open, strangers int) {
	t.Helper()
	s := g.Stats()
	require.Equal(t, []int{open, strangers}, []int{s.Open, s.Strangers})
}

// by is a caller by a certificate.
func (g *Gate) by(name string) *Caller {
	return &Caller{gate: g, name: name, until: time.Now().Add(time.Hour * 24 * 365)}
}

// TestAConnectionIsCountedOnce: its caller becomes known with each call anew, and it is
// closed by several.
func TestAConnectionIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newTestGate(t, Limits{}, nil)
		d.has(t, "alice")
		known, _ := g.admitted(t, Calls)
		stranger, _ := g.admitted(t, Calls)
		g.counts(t, 2, 2)
		require.Nil(t, g.settled(known, g.by("alice")))
		require.Nil(t, g.settled(known, g.by("alice")))
		g.counts(t, 2, 1)
		time.Sleep(g.Timeout() + time.Second) // of the bubble's time
		synctest.Wait()
		g.counts(t, 1, 0)
		require.EqualValues(t, 1, g.Stats().Refused["timeout"])
		require.NoError(t, stranger.Close())
		g.counts(t, 1, 0)
		require.NoError(t, known.Close())
		require.NoError(t, known.Close())
		require.Nil(t, g.settled(known, g.by("alice")))
		g.counts(t, 0, 0)
	})
}

// TestWhoIsNoUserAnyMoreLosesItsPlace: a dropped user's connection is closed although
// nothing happens on it; others stay, nodes' too, and all of them while the users are
// unknown.
func TestWhoIsNoUserAnyMoreLosesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newTestGate(t, Limits{}, nil)
		d.has(t, "alice", "bob")
		for _, name := range []string{"alice", "bob", users.Node, users.Root} {
			k, _ := g.admitted(t, Calls)
			require.Nil(t, g.settled(k, g.by(name)))
		}
		d.has(t, "bob")
		time.Sleep(g.Timeout() + time.Second)
		synctest.Wait()
		g.counts(t, 3, 0)
		require.EqualValues(t, 1, g.Stats().Refused["user"])
		d.latest.Store(nil)
		time.Sleep(3 * g.Timeout())
		synctest.Wait()
		g.counts(t, 3, 0)
	})
}

// TestTimeOutsAreFailures, except of those that asked for health, or had to wait for
// the table of users.
func TestTimeOutsAreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newTestGate(t, Limits{Failures: 2}, nil)
		for range 3 {
			k, _ := g.admitted(t, Web)
			k.blameless.Store(true)
		}
		time.Sleep(g.Timeout() + time.Millisecond)
		synctest.Wait()
		for range 3 {
			g.admitted(t, Calls)
		}
		time.Sleep(g.Timeout() + time.Millisecond)
		synctest.Wait()
		here, there := net.Pipe()
		defer there.Close()
		require.Nil(t, g.admit(here, Calls))
		require.EqualValues(t, 1, g.Stats().Refused["failures"])
	})
}

// TestWhoDoesNotReadIsNotReadFrom: what it goes on saying would want answers, which
// would wait in memory. And after some time it is given up.
func TestWhoDoesNotReadIsNotReadFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newTestGate(t, Limits{Timeout: time.Hour}, nil)
		k, there := g.admitted(t, Calls)
		k.known = true
		sent := make(chan int)
		go func() { // says much and reads nothing
			n := 0
			for {
				m, err := there.Write(make([]byte, 1<<10))
				n += m
				if err != nil {
					sent <- n
					return
				}
			}
		}()
		wrote := make(chan error)
		go func() {
			_, err := k.Write(make([]byte, 1<<10))
			wrote <- err
		}()
		synctest.Wait()
		go func() {
			buf := make([]byte, 1<<10)
			for {
				if _, err := k.Read(buf); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		require.ErrorIs(t, <-wrote, os.ErrDeadlineExceeded)
		require.Equal(t, unreadPatience, time.Since(began))
		require.LessOrEqual(t, <-sent, readAhead+3<<10)
	})
}

// TestConnectionsAreCountedForTheirUsers: one user does not take the places of all.
func TestConnectionsAreCountedForTheirUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(50 * ConnBytes)
		g, d := newTestGate(t, Limits{PerAddress: 1000, Strangers: 1000}, b)
		d.has(t, "alice", "bob")
		open := func(name string) (n int) {
			for {
				k, _ := g.admitted(t, Calls)
				err := g.settled(k, g.by(name))
				if err != nil {
					require.Equal(t, kv.KindResourceExhausted, err.Kind)
					require.Contains(t, err.Text, "--memory-budget")
					require.NoError(t, k.Close())
					return n
				}
				n++
			}
		}
		require.Equal(t, 10, open("alice"))
		require.Equal(t, 8, open("bob"))
		require.EqualValues(t, 2, g.Stats().Refused["memory"])
		require.EqualValues(t, 18*ConnBytes, b.Stats().Used["connections"])
	})
}
