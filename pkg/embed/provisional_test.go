package embed_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
)

var errUnequal = errors.New("g and k differ")

// open starts a cluster with a client.
func open(t *testing.T, opt embed.ClusterOptions) *client.DB {
	opt.Listen, opt.NoSync = true, true
	c := start(t, opt)
	return connect(t, c.Addrs()...)
}

// TestAFailureByWhatWasReadHotIsNoLie: g, on the hot shard, and k are always
// written together, so that no serial order has them differ. A function reads g
// without a lock, and then asks for what must hold if k is what g is. While it
// thinks both are written.
func TestAFailureByWhatWasReadHotIsNoLie(t *testing.T) {
	const g, k, spare = "g", "k", "spare"
	for _, c := range []struct {
		name string
		ask  func(ctx context.Context, tx *client.Tx, g []byte) error
	}{
		{"a condition on a key", func(ctx context.Context, tx *client.Tx, g []byte) error {
			return tx.Put(ctx, k, []byte("mine"), client.IfValue(g))
		}},
		{"a condition on the key itself", func(ctx context.Context, tx *client.Tx, v []byte) error {
			if err := tx.Put(ctx, k, []byte("mine"), client.IfValue(v)); err != nil {
				return err
			}
			return tx.Put(ctx, g, []byte("mine"), client.IfValue(v))
		}},
		{"a condition, told by a later operation", func(ctx context.Context, tx *client.Tx, g []byte) error {
			if err := tx.Require(ctx, k, client.IfValue(g)); err != nil {
				return err
			}
			_, _, err := tx.Get(ctx, spare)
			return err
		}},
		{"a condition behind a savepoint", func(ctx context.Context, tx *client.Tx, g []byte) error {
			if err := tx.Savepoint(ctx, "before"); err != nil {
				return err
			}
			return tx.Execute(ctx, client.RequireOp(k, client.IfValue(g)))
		}},
		{"a condition in a nested part, whose error is returned", func(ctx context.Context, tx *client.Tx, g []byte) error {
			return tx.Nested(ctx, func(ctx context.Context) error {
				return tx.Execute(ctx, client.RequireOp(k, client.IfValue(g)))
			})
		}},
		{"a condition behind a savepoint, whose error is kept back",
			func(ctx context.Context, tx *client.Tx, g []byte) error {
				if err := tx.Savepoint(ctx, "before"); err != nil {
					return err
				}
				_ = tx.Execute(ctx, client.RequireOp(k, client.IfValue(g)))
				return nil
			}},
		{"a condition behind a savepoint, told at the commit", func(ctx context.Context, tx *client.Tx, g []byte) error {
			if err := tx.Savepoint(ctx, "before"); err != nil {
				return err
			}
			return tx.Put(ctx, k, []byte("mine"), client.IfValue(g))
		}},
		{"a condition behind a nested part, told at the commit", func(ctx context.Context, tx *client.Tx, g []byte) error {
			err := tx.Nested(ctx, func(ctx context.Context) error { return tx.Put(ctx, spare, []byte("part")) })
			if err != nil {
				return err
			}
			return tx.Put(ctx, k, []byte("mine"), client.IfValue(g))
		}},
		{"a type, told at the commit", func(ctx context.Context, tx *client.Tx, g []byte) error {
			if string(g) == "old" {
				return client.NewCounter(k).Add(ctx, tx, 1)
			}
			return nil
		}},
		{"a type, told by a method", func(ctx context.Context, tx *client.Tx, g []byte) error {
			if string(g) != "old" {
				return nil
			}
			_, err := client.NewSet(k, client.String).Contains(ctx, tx, "x")
			return err
		}},
		{"a size", func(ctx context.Context, tx *client.Tx, g []byte) error {
			if string(g) != "old" {
				return nil
			}
			for range kv.MaxTxnBytes/kv.MaxValueBytes + 1 {
				if err := tx.Put(ctx, k, make([]byte, kv.MaxValueBytes)); err != nil {
					return err
				}
			}
			return nil
		}},
		{"an error of its own", func(ctx context.Context, tx *client.Tx, g []byte) error {
			v, _, err := tx.Get(ctx, k)
			if err == nil && string(v) != string(g) {
				return errUnequal
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2, HotKeys: [][]byte{[]byte(g)}})
			ctx := context.Background()
			both := func(v string) {
				require.NoError(t, db.Execute(ctx, client.PutOp(g, []byte(v)), client.PutOp(k, []byte(v))))
			}
			both("old")
			runs := 0
			err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				runs++
				v, _, err := tx.Get(ctx, g)
				if err != nil {
					return err
				}
				if runs == 1 {
					both("new")
				}
				return c.ask(ctx, tx, v)
			})
			require.NoError(t, err)
			require.Equal(t, 2, runs)
		})
	}
}
