package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
)

// TestLocksOfVanishedClientAreReleased: a client disappears in the middle of a transaction that holds
// locks. An older waiter acquires them after the idle timeout, a younger one when the node has noticed.
func TestLocksOfVanishedClientAreReleased(t *testing.T) {
	t.Parallel()
	var args []string
	var cases []vanishCase
	for _, where := range []string{"ordinary", "hot"} {
		for _, older := range []bool{true, false} {
			for how, cut := range map[string]func(*proxy.Proxy){"cut": (*proxy.Proxy).Cut, "silent": (*proxy.Proxy).Swallow} {
				v := vanishCase{key: fmt.Sprintf("%s, %s, older waits: %t", where, how, older), older: older, cut: cut}
				if where == "hot" {
					args = append(args, "--hot-key", v.key)
				}
				cases = append(cases, v)
			}
		}
	}
	c := proc.StartCluster(t, proc.Options{Args: args})
	for _, v := range cases {
		t.Run(v.key, func(t *testing.T) {
			t.Parallel()
			v.run(t, c)
		})
	}
}

// vanishCase is one case: the link of a client is cut while it holds key, and a transaction of another
// client, which is older or younger, requests it.
type vanishCase struct {
	key   string
	older bool
	cut   func(*proxy.Proxy)
}

// errAge ends a transaction whose age is not the one of the case. It depends on the clock of the client, so
// it cannot be chosen.
var errAge = errors.New("not of the right age")

func (v vanishCase) run(t *testing.T, c *proc.Cluster) {
	holderDB, link := openThroughProxy(t, c.Node(1))
	holderDB = holderDB.With(client.NoRetry())
	other := proc.Open(t, []string{c.Node(0).Addr})
	ctx := proc.Context(t)
	require.NoError(t, other.Put(ctx, v.key, []byte("before")))

	ofAge := func(a, b client.TxID) bool { return bytes.Compare(a[:], b[:]) < 0 == v.older }
	vanished := make(chan struct{})
	gctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended chan error
	hold := func(waiter client.TxID) (id client.TxID) {
		held := make(chan client.TxID, 1)
		ended = make(chan error, 1)
		go func() {
			err := errAge
			for errors.Is(err, errAge) {
				err = holderDB.Update(gctx, func(ctx context.Context, tx *client.Tx) error {
					if !waiter.IsZero() && !ofAge(waiter, tx.ID()) {
						return errAge
					}
					return lockUntil(ctx, tx, v.key, held, vanished)
				})
			}
			ended <- err
		}()
		select {
		case id = <-held:
		case err := <-ended:
			t.Fatalf("the transaction ended before it held its locks: %v", err)
		}
		v.cut(link)
		return id
	}
	var holder client.TxID
	if !v.older {
		holder = hold(client.TxID{})
	}
	err := errAge
	for errors.Is(err, errAge) {
		err = other.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			switch {
			case tx.Attempt() > 1:
				return errors.New("the waiter was aborted")
			case v.older:
				hold(tx.ID())
			case !ofAge(tx.ID(), holder):
				return errAge
			}
			return takeOver(ctx, t, tx, v.key)
		})
	}
	require.NoError(t, err)
	link.Heal() // the client is back and continues
	close(vanished)
	require.Error(t, <-ended)
	require.NoError(t, ctx.Err(), "the holder ends before the timeout")
	value, _, err := other.Get(ctx, v.key)
	require.NoError(t, err)
	require.Equal(t, "after", string(value))
}

// lockUntil locks and writes a key, sends its id on held, and continues when vanished is closed.
func lockUntil(ctx context.Context, tx *client.Tx, key string, held chan<- client.TxID,
	vanished <-chan struct{}) error {
	if _, _, err := tx.GetForUpdate(ctx, key); err != nil {
		return err
	}
	if err := tx.Put(ctx, key, []byte("never")); err != nil {
		return err
	}
	held <- tx.ID()
	select {
	case <-vanished:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, _, err := tx.Get(ctx, "more")
	return err
}

func takeOver(ctx context.Context, t *testing.T, tx *client.Tx, key string) error {
	value, _, err := tx.GetForUpdate(ctx, key)
	if err != nil {
		return err
	}
	require.Equal(t, "before", string(value))
	return tx.Put(ctx, key, []byte("after"))
}
