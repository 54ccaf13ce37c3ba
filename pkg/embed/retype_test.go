package embed_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// TestATransactionMakesAnotherTypeOfAKey by emptying it first, on the shard that
// decides, on one that takes part, and on the hot shard; and asking in between, or
// not.
func TestATransactionMakesAnotherTypeOfAKey(t *testing.T) {
	t.Parallel()
	c := start(t, embed.ClusterOptions{Listen: true, HotKeys: [][]byte{[]byte("hot")}})
	db, err := client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, key := range []string{"a", "b", "c", "d", "hot"} {
		dict, set := client.NewDict(key, client.Strings), client.NewSet(key, client.Strings)
		for _, asks := range []bool{false, true} {
			require.NoError(t, dict.Set(db.OneShot(soon(t)), "field", "1"))
			require.NoError(t, db.Update(soon(t), func(tx *client.Tx) error {
				if asks {
					n, err := dict.Size(tx)
					require.NoError(t, err)
					require.EqualValues(t, 1, n)
				}
				return errors.Join(dict.Delete(tx, "field"), set.Add(tx, "x", "y"), tx.Put([]byte("beside-"+key), nil))
			}))
			members, err := set.Members(db.OneShot(soon(t)))
			require.NoError(t, err)
			require.Equal(t, []string{"x", "y"}, members)

			require.NoError(t, db.Update(soon(t), func(tx *client.Tx) error {
				err := errors.Join(set.Remove(tx, "x", "y"), tx.Add([]byte(key), 7))
				if asks && err == nil {
					_, err = tx.Get([]byte(key))
				}
				return err
			}))
			n, err := client.Counter(key).Get(db.OneShot(soon(t)))
			require.NoError(t, err)
			require.EqualValues(t, 7, n)
			_, err = db.Execute(soon(t), client.Delete([]byte(key)))
			require.NoError(t, err)
		}
	}
}
