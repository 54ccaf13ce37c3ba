package guard

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/certs"
)

// TestAConnectionIsCountedOnce: its caller becomes known with each call anew, and it is
// closed by several.
func TestAConnectionIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Options{Keeper: new(certs.Keeper), Directory: new(Directory), Needs: func(string) Need { return NeedUser }})
		require.NoError(t, err)
		admit := func() *conn {
			here, there := net.Pipe()
			t.Cleanup(func() { there.Close() })
			return g.admit(here)
		}
		counts := func(open, strangers int) {
			t.Helper()
			s := g.Stats()
			require.Equal(t, []int{open, strangers}, []int{s.Open, s.Strangers})
		}
		known, stranger := admit(), admit()
		counts(2, 2)
		known.known()
		known.known()
		counts(2, 1)
		time.Sleep(g.Timeout() + time.Second) // of the bubble's time
		synctest.Wait()
		counts(1, 0)
		require.EqualValues(t, 1, g.Stats().Refused["timeout"])
		require.NoError(t, stranger.Close())
		counts(1, 0)
		require.NoError(t, known.Close())
		require.NoError(t, known.Close())
		known.known()
		counts(0, 0)
	})
}
