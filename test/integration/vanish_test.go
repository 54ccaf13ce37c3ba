package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
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
				v := vanishing{key: []byte(fmt.Sprintf("%s, %s, older waits: %t", where, how, older)), older: older, cut: cut}
				if where == "hot" {
					args = append(args, "--hot-key", string(v.key))
				}
				cases = append(cases, v)
			}
		}
	}
	c := proc.StartCluster(t, proc.Options{Args: args})
	for _, v := range cases {
		t.Run(string(v.key), func(t *testing.T) {
			t.Parallel()
			v.run(t, c)
		})
	}
}

// vanishing is one case: a client holds key when its link is cut, and another
// one's transaction, which is older or younger, wants it.
type vanishing struct {
	key   []byte
	older bool
	cut   func(*proxy.Proxy)
}

// errAge ends a transaction that is not of the age that the case is about.
// Each client has an idea of its own of what time it is.
var errAge = errors.New("not of the right age")

func (v vanishing) run(t *testing.T, c *proc.Cluster) {
	gone, link := linked(t, c.Node(1), client.WithRetries(false))
	other := proc.OpenOld(t, []string{c.Node(0).Addr})
	ctx := soon(t)
	_, err := other.Execute(ctx, client.Put(v.key, []byte("before")))
	require.NoError(t, err)

	ofAge := func(a, b kv.TxnID) bool { return a.Compare(b) < 0 == v.older }
	vanished := make(chan struct{})
	gctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended chan error
	hold := func(waiter kv.TxnID) (id kv.TxnID) {
		held := make(chan kv.TxnID, 1)
		ended = make(chan error, 1)
		go func() {
			err := errAge
			for errors.Is(err, errAge) {
				err = gone.Update(gctx, func(tx *client.Tx) error {
					if !waiter.IsZero() && !ofAge(waiter, tx.ID()) {
						return errAge
					}
					return holdUntil(gctx, tx, v.key, held, vanished)
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
	var holder kv.TxnID
	if !v.older {
		holder = hold(kv.TxnID{})
	}
	err = errAge
	for errors.Is(err, errAge) {
		err = other.Update(ctx, func(tx *client.Tx) error {
			switch {
			case tx.Attempt() > 1:
				return errors.New("the one that waits was aborted")
			case v.older:
				hold(tx.ID())
			case !ofAge(tx.ID(), holder):
				return errAge
			}
			return takeOver(t, tx, v.key)
		})
	}
	require.NoError(t, err)
	link.Heal() // it is back, and wants to go on
	close(vanished)
	require.Error(t, <-ended)
	require.NoError(t, ctx.Err(), "it was told so")
	out, err := other.Execute(ctx, client.Get(v.key))
	require.NoError(t, err)
	require.Equal(t, "after", string(out.Results[0].Value))
}

// holdUntil locks and writes a key, says so, and goes on when it is told to.
func holdUntil(ctx context.Context, tx *client.Tx, key []byte, held chan<- kv.TxnID, vanished <-chan struct{}) error {
	if _, err := tx.GetForUpdate(key); err != nil {
		return err
	}
	if err := tx.Put(key, []byte("never")); err != nil {
		return err
	}
	held <- tx.ID()
	select {
	case <-vanished:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := tx.Get([]byte("more"))
	return err
}

func takeOver(t *testing.T, tx *client.Tx, key []byte) error {
	v, err := tx.GetForUpdate(key)
	if err != nil {
		return err
	}
	require.Equal(t, "before", string(v.Value))
	return tx.Put(key, []byte("after"))
}
