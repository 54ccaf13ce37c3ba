package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// valueAt gives the one value that all keys have, "mixed" if there are several.
func valueAt(t *testing.T, r client.Reader, keys []string) (string, error) {
	t.Helper()
	values, err := valuesOf(soon(t), r, keys...)
	if err != nil {
		return "", err
	}
	if values = slices.Compact(values); len(values) != 1 {
		return "mixed", nil
	}
	return values[0], nil
}

// TestSnapshotsSurviveKills: a named snapshot and a state of the history read
// the same after all nodes were killed, at once and one after the other; what
// was dropped stays so.
func TestSnapshotsSurviveKills(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: []string{"--hot-key", "key/000", "--history-every", "100ms"}})
	keys := keysOf(30)
	db := c.Open(t)
	fill(t, db, keys...)
	snapshot, err := db.CreateSnapshot(soon(t), "kept", client.TTL(time.Hour))
	require.NoError(t, err)
	kept := snapshot.Info()
	dropped, err := db.CreateSnapshot(soon(t), "dropped", client.TTL(time.Hour))
	require.NoError(t, err)
	var of client.SnapshotInfo // the history's
	proc.Until(t, "the history has a state", func(context.Context) bool {
		s := db.AsOf(time.Now())
		value, err := valueAt(t, s, keys)
		of = s.Info()
		return err == nil && value == "before"
	}, func() string { return "" })
	require.Empty(t, of.Name)
	for round := range 3 { // versions come and go
		require.NoError(t, putAll(soon(t), db, keys...), round)
	}
	require.NoError(t, db.DropSnapshot(soon(t), "dropped"))

	same := func() {
		t.Helper()
		for _, n := range c.Nodes() {
			db := proc.Open(t, []string{n.Addr})
			for _, at := range []string{"kept", kept.ID, of.ID} {
				s := db.AtSnapshot(at)
				value, err := valueAt(t, s, keys)
				require.NoError(t, err, at)
				require.Equal(t, "before", value, at)
				require.Contains(t, []client.SnapshotInfo{kept, of}, s.Info())
			}
			value, err := valueAt(t, db.With(client.After(of.Token)).AsOf(of.Time), keys)
			require.NoError(t, err)
			require.Equal(t, "before", value)
			value, err = valueAt(t, db, keys)
			require.NoError(t, err)
			require.Equal(t, "after", value)
			l, err := db.Snapshots(soon(t))
			require.NoError(t, err)
			require.Equal(t, []client.SnapshotInfo{kept}, l)
			_, err = valueAt(t, db.AtSnapshot(dropped.Info().ID), keys)
			require.ErrorIs(t, err, client.ErrTooOld)
			_, err = valueAt(t, db.AtSnapshot("dropped"), keys)
			require.ErrorIs(t, err, client.ErrNotFound)
		}
	}
	same()
	for _, n := range c.Nodes() {
		n.Kill()
	}
	for _, n := range c.Nodes() {
		n.Launch(t)
	}
	for _, n := range c.Nodes() {
		n.AwaitServing(t)
	}
	c.WaitConnected(t)
	same()
	for _, n := range c.Nodes() {
		n.Kill()
		n.Start(t)
		c.WaitConnected(t)
		require.NoError(t, putAll(soon(t), db, keys...))
		same()
	}
	c.RequireQuiescent(t, leftWithin)
}
