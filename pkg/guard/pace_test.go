package guard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStrangersSayLittle: who says much without showing who it is, loses its connection and
// has failed; a user may say what it likes.
func TestStrangersSayLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newTestGate(t, Limits{}, nil)
		for _, known := range []bool{true, false} {
			k, there := g.admitted(t, Calls)
			k.known = known
			go func() {
				buf := make([]byte, 16<<10)
				for {
					if _, err := k.Read(buf); err != nil {
						return
					}
				}
			}()
			n, err := there.Write(make([]byte, 2*strangerBytes))
			if known {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
				require.LessOrEqual(t, n, strangerBytes+16<<10)
			}
			require.NoError(t, k.Close())
		}
		require.EqualValues(t, 1, g.Stats().Refused["bytes"])
		require.Len(t, g.ledger.at, 1, "it is remembered for it")
	})
}

// TestWhoIsRefusedIsNotReadForAMoment: the longer the more of its calls were, up to a second.
func TestWhoIsRefusedIsNotReadForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newTestGate(t, Limits{}, nil)
		k, there := g.admitted(t, Calls)
		k.known = true
		ctx := withCall(context.Background(), nil, nil, k)
		buf := make([]byte, 1)
		for refused, want := range map[int]time.Duration{0: 0, 1: slowBy, 10: 10 * slowBy, 10_000: slowAtMost} {
			for range refused {
				Slow(ctx)
			}
			go there.Write([]byte{1})
			began := time.Now()
			_, err := k.Read(buf)
			require.NoError(t, err)
			require.Equal(t, want, time.Since(began), "after %d refusals", refused)
		}
		Slow(ctx)
		began := time.Now()
		require.NoError(t, k.Close())
		_, err := k.Read(buf)
		require.Error(t, err)
		require.Zero(t, time.Since(began), "nobody waits on a connection that is closed")
		Slow(context.Background())
	})
}
