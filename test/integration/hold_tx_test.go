package integration

import (
	"context"
	"testing"

	"github.com/linchpindb/linchpin/pkg/client"
)

// holdTx begins a transaction that acquires locks by lock, and keeps them until commit is called, which
// returns how the transaction ended. It fails the test if the transaction ends before it holds the locks.
func holdTx(t *testing.T, db *client.DB, lock func(context.Context, *client.Tx) error) (commit func() error) {
	t.Helper()
	ctx := testContext(t)
	held, release, ended := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if err := lock(ctx, tx); err != nil {
				return err
			}
			select {
			case held <- struct{}{}:
			default: // a later attempt
			}
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	select {
	case <-held:
	case err := <-ended:
		t.Fatalf("the transaction ended before it held its locks: %v", err)
	}
	return func() error {
		close(release)
		return <-ended
	}
}
