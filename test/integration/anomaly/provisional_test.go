package anomaly

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestAFunctionsOwnErrorIsTrue: a function that gives up because of what it
// read is believed only if what it read was so at one moment. Its first read
// of a hot key takes no lock, and another transaction replaces both keys
// before the second read.
func TestAFunctionsOwnErrorIsTrue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, txn.HotLast)
	errDiffer := errors.New("x and y differ")
	for _, p := range []placement{mixed, hot, spread} {
		t.Run(string(p), func(t *testing.T) {
			s := w.scene(t, p)
			runs := 0
			var written <-chan error
			err := s.db(0).Update(s.ctx, func(tx *client.Tx) error {
				runs++
				x, err := tx.Get(s.x)
				if err != nil {
					return err
				}
				if runs == 1 {
					written = s.async(1, client.Put(s.x, value(1)), client.Put(s.y, value(1)))
					if p != spread { // else it waits for the lock on x
						require.NoError(t, <-written)
						written = nil
					}
				}
				y, err := tx.Get(s.y)
				if err == nil && number(x.Value) != number(y.Value) {
					return errDiffer
				}
				return err
			})
			require.NoError(t, err)
			if written != nil {
				require.NoError(t, <-written)
			}
			if p != spread {
				require.Equal(t, 2, runs, "the first run saw what never was")
			}
		})
	}
}
