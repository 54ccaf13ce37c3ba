package embed_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

var errUnequal = errors.New("g and k differ")

// open starts a cluster with a client.
func open(t *testing.T, opt embed.ClusterOptions) *client.DB {
	opt.Listen, opt.NoSync = true, true
	c := start(t, opt)
	db, err := client.Open(context.Background(), c.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestAFailureByWhatWasReadHotIsNoLie: g, on the hot shard, and k are always
// written together, so that no serial order has them differ. A function reads g
// without a lock, and then asks for what must hold if k is what g is. While it
// thinks both are written.
func TestAFailureByWhatWasReadHotIsNoLie(t *testing.T) {
	g, k, spare := []byte("g"), []byte("k"), []byte("spare")
	for _, c := range []struct {
		name string
		ask  func(tx *client.Tx, g client.Value) error
	}{
		{"a condition on a key", func(tx *client.Tx, g client.Value) error { return tx.CompareAndSet(k, g.Value, []byte("mine")) }},
		{"a condition on the key itself", func(tx *client.Tx, v client.Value) error {
			if err := tx.CompareAndSet(k, v.Value, []byte("mine")); err != nil {
				return err
			}
			return tx.CompareAndSet(g, v.Value, []byte("mine"))
		}},
		{"a condition, told by a later operation", func(tx *client.Tx, g client.Value) error {
			if err := tx.Require(client.RequireEquals(k, g.Value)); err != nil {
				return err
			}
			_, err := tx.Get(spare)
			return err
		}},
		{"a condition behind a savepoint", func(tx *client.Tx, g client.Value) error {
			if err := tx.Savepoint("before"); err != nil {
				return err
			}
			_, err := tx.Do(client.RequireEquals(k, g.Value))
			return err
		}},
		{"a condition in a nested part, whose error is returned", func(tx *client.Tx, g client.Value) error {
			return tx.Nested(func() error {
				_, err := tx.Do(client.RequireEquals(k, g.Value))
				return err
			})
		}},
		{"a condition behind a savepoint, whose error is kept back", func(tx *client.Tx, g client.Value) error {
			if err := tx.Savepoint("before"); err != nil {
				return err
			}
			_, _ = tx.Do(client.RequireEquals(k, g.Value))
			return nil
		}},
		{"a condition behind a savepoint, told at the commit", func(tx *client.Tx, g client.Value) error {
			if err := tx.Savepoint("before"); err != nil {
				return err
			}
			return tx.CompareAndSet(k, g.Value, []byte("mine"))
		}},
		{"a condition behind a nested part, told at the commit", func(tx *client.Tx, g client.Value) error {
			if err := tx.Nested(func() error { return tx.Put(spare, []byte("part")) }); err != nil {
				return err
			}
			return tx.CompareAndSet(k, g.Value, []byte("mine"))
		}},
		{"a type, told at the commit", func(tx *client.Tx, g client.Value) error {
			if string(g.Value) == "old" {
				return tx.Add(k, 1)
			}
			return nil
		}},
		{"a type, told by a method", func(tx *client.Tx, g client.Value) error {
			if string(g.Value) != "old" {
				return nil
			}
			_, err := client.NewSet(string(k), client.Strings).Contains(tx, "x")
			return err
		}},
		{"a size", func(tx *client.Tx, g client.Value) error {
			if string(g.Value) != "old" {
				return nil
			}
			for range kv.MaxTxnBytes/kv.MaxValueBytes + 1 {
				if err := tx.Put(k, make([]byte, kv.MaxValueBytes)); err != nil {
					return err
				}
			}
			return nil
		}},
		{"an error of its own", func(tx *client.Tx, g client.Value) error {
			v, err := tx.Get(k)
			if err == nil && string(v.Value) != string(g.Value) {
				return errUnequal
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2, HotKeys: [][]byte{g}})
			ctx := context.Background()
			both := func(v string) {
				_, err := db.Execute(ctx, client.Put(g, []byte(v)), client.Put(k, []byte(v)))
				require.NoError(t, err)
			}
			both("old")
			runs := 0
			err := db.Update(ctx, func(tx *client.Tx) error {
				runs++
				v, err := tx.Get(g)
				if err != nil {
					return err
				}
				if runs == 1 {
					both("new")
				}
				return c.ask(tx, v)
			})
			require.NoError(t, err)
			require.Equal(t, 2, runs)
		})
	}
}
