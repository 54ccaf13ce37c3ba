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

// TestAClientVanishes: a client is gone in the middle of a transaction that
// holds locks. Whoever wants them gets them: an older transaction after the
// idle grace, a younger one when the node has noticed.
func TestAClientVanishes(t *testing.T) {
	t.Parallel()
	var args []string
	var cases []vanishing
	for _, where := range []string{"cold", "hot"} {
		for _, older := range []bool{true, false} {
			for how, cut := range map[string]func(*proxy.Proxy){"cut": (*proxy.Proxy).Cut, "silent": (*proxy.Proxy).Swallow} {
				v := vanishing{key: fmt.Sprintf("%s, %s, older waits: %t", where, how, older), older: older, cut: cut}
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

// vanishing is one case: a client holds key when its link is cut, and another
// one's transaction, which is older or younger, wants it.
type vanishing struct {
	key   string
	older bool
	cut   func(*proxy.Proxy)
}

// errAge ends a transaction that is not of the age that the case is about.
// Each client has an idea of its own of what time it is.
var errAge = errors.New("not of the right age")

func (v vanishing) run(t *testing.T, c *proc.Cluster) {
	gone, link := linked(t, c.Node(1))
	gone = gone.With(client.NoRetry())
	other := proc.Open(t, []string{c.Node(0).Addr})
	ctx := soon(t)
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
				err = gone.Update(gctx, func(ctx context.Context, tx *client.Tx) error {
					if !waiter.IsZero() && !ofAge(waiter, tx.ID()) {
						return errAge
					}
					return holdUntil(ctx, tx, v.key, held, vanished)
				})
			}
			ended <- err
		}()
		select {
		case id = <-held:
		case err := <-ended:
			t.Fatalf("the transaction ended before it held anything: %v", err)
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
				return errors.New("the one that waits was aborted")
			case v.older:
				hold(tx.ID())
			case !ofAge(tx.ID(), holder):
				return errAge
			}
			return takeOver(ctx, t, tx, v.key)
		})
	}
	require.NoError(t, err)
	link.Heal() // it is back, and wants to go on
	close(vanished)
	require.Error(t, <-ended)
	require.NoError(t, ctx.Err(), "it was told so")
	value, _, err := other.Get(ctx, v.key)
	require.NoError(t, err)
	require.Equal(t, "after", string(value))
}

// holdUntil locks and writes a key, says so, and goes on when it is told to.
func holdUntil(ctx context.Context, tx *client.Tx, key string, held chan<- client.TxID,
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
