package integration

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

const majorityKeys = 60

// TestSnapshotsSurviveTheMajority: two of four nodes are lost, and with them most replicas of some shards, of the hot
// one too. States of the past are read through both nodes that are left, of which none has a replica of each shard, are
// backed up, and restored into another cluster (R10.2, R10.4).
func TestSnapshotsSurviveTheMajority(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Nodes: 4, Shards: 4, Replicas: 3})
	ctx := proc.Context(t)
	db := c.Open(t)
	write := func(value string) {
		require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			for i := range majorityKeys {
				if err := tx.Put(ctx, fmt.Sprintf("k%02d", i), []byte(value)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	write("old")
	named, err := db.CreateSnapshot(ctx, "before")
	require.NoError(t, err)
	write("new")
	between := time.Now()
	for time.Since(between) < 4*time.Second { // the history gets states while there are writes
		write("newest")
		time.Sleep(50 * time.Millisecond)
	}
	c.Node(1).Kill()
	c.Node(2).Kill()
	proc.Until(t, "the present state cannot be read", func(ctx context.Context) bool {
		for i := range majorityKeys {
			if _, _, err := db.Get(ctx, fmt.Sprintf("k%02d", i)); errors.Is(err, client.ErrUnavailable) {
				return true
			}
		}
		return false
	}, func() string { return "" })

	for _, n := range []*proc.Node{c.Node(0), c.Node(3)} {
		one := proc.Open(t, []string{n.Addr})
		require.Equal(t, "old", valueOfAll(t, one.AtSnapshot(named.Info().ID)))
		require.Contains(t, []string{"new", "newest"}, valueOfAll(t, one.AsOf(between.Add(2*time.Second))))
		_, _, err := one.AtSnapshot("before").Get(ctx, "k00")
		require.ErrorIs(t, err, client.ErrUnavailable)
		var e *client.Error
		require.ErrorAs(t, err, &e)
		_, number, _ := strings.Cut(named.Info().ID, "-")
		require.Contains(t, e.Hint, "whose id ends with -"+number)
	}
	restoreAnew(t, c.Node(3).Addr, "old", "--snapshot", named.Info().ID)
	restoreAnew(t, c.Node(0).Addr, "new", "--as-of", between.Add(2*time.Second).Format(time.RFC3339Nano))
}

// valueOfAll returns the value that all keys have.
func valueOfAll(t *testing.T, at client.Reader) (value string) {
	keys := 0
	for p, err := range at.Scan(proc.Context(t), client.Range{}) {
		require.NoError(t, err)
		if keys == 0 {
			value = string(p.Value)
		}
		require.Equal(t, value, string(p.Value), p.Key)
		keys++
	}
	require.Equal(t, majorityKeys, keys)
	return value
}

// restoreAnew makes a backup of a past state at a node, and restores it into a new cluster, in which each key then
// has a value that begins with want.
func restoreAnew(t *testing.T, addr, want string, state ...string) {
	file := filepath.Join(t.TempDir(), "lost.backup")
	code, out := proc.Exec(t, append([]string{"backup", "create", file, "--addr", addr}, state...)...)
	require.Zero(t, code, out)
	c := proc.StartCluster(t, proc.Options{Nodes: 1})
	code, out = proc.Exec(t, "restore", file, "--addr", c.Node(0).Addr)
	require.Zero(t, code, out)
	require.True(t, strings.HasPrefix(valueOfAll(t, c.Open(t)), want))
	c.Node(0).Stop(t)
}
