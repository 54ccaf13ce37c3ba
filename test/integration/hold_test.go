package integration

import (
	"context"
	"testing"

	"github.com/linchpindb/linchpin/pkg/client"
)

// hold begins a transaction that takes something and keeps it until it is let go, by
// what is returned, which gives how the transaction ended. It fails the test if the
// transaction ends before it has taken anything.
func hold(t *testing.T, db *client.DB, take func(context.Context, *client.Tx) error) (letGo func() error) {
	t.Helper()
	ctx := soon(t)
	held, release, over := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		over <- db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if err := take(ctx, tx); err != nil {
				return err
			}
			select {
			case held <- struct{}{}:
			default: // it was aborted, and has begun anew
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
	case err := <-over:
		t.Fatalf("the transaction ended before it held anything: %v", err)
	}
	return func() error {
		close(release)
		return <-over
	}
}
