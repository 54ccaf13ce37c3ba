package anomaly

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestFunctionErrorIsValidated: an error that the function of an Update returns is reported only if its
// reads are consistent. The first read of a hot key takes no lock, and a concurrent transaction writes both
// keys before the second read.
func TestFunctionErrorIsValidated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, txn.HotLast)
	errDiffer := errors.New("x and y differ")
	for _, p := range []placement{mixed, hot, spread} {
		t.Run(string(p), func(t *testing.T) {
			s := w.scene(t, p)
			runs := 0
			var written <-chan error
			err := s.db(0).Update(s.ctx, func(ctx context.Context, tx *client.Tx) error {
				runs++
				x, _, err := tx.Get(ctx, s.x)
				if err != nil {
					return err
				}
				if runs == 1 {
					written = s.executeAsync(1, client.PutOp(s.x, value(1)), client.PutOp(s.y, value(1)))
					if p != spread { // else it waits for the lock on x
						require.NoError(t, <-written)
						written = nil
					}
				}
				y, _, err := tx.Get(ctx, s.y)
				if err == nil && number(x) != number(y) {
					return errDiffer
				}
				return err
			})
			require.NoError(t, err)
			if written != nil {
				require.NoError(t, <-written)
			}
			if p != spread {
				require.Equal(t, 2, runs, "the reads of the first run are inconsistent")
			}
		})
	}
}
