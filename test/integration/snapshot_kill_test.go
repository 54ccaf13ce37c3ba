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

// commonValue returns the value that all keys have, "mixed" if they differ.
func commonValue(t *testing.T, r client.Reader, keys []string) (string, error) {
	t.Helper()
	values, err := valuesOf(testContext(t), r, keys...)
	if err != nil {
		return "", err
	}
	if values = slices.Compact(values); len(values) != 1 {
		return "mixed", nil
	}
	return values[0], nil
}

// TestSnapshotsSurviveKills: a named snapshot and one of the history return the same values after all nodes
// were killed, together and one after the other. A dropped snapshot stays dropped.
func TestSnapshotsSurviveKills(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: []string{"--hot-key", "key/000", "--history-every", "100ms"}})
	keys := keysOf(30)
	db := c.Open(t)
	fill(t, db, keys...)
	snapshot, err := db.CreateSnapshot(testContext(t), "retained", client.TTL(time.Hour))
	require.NoError(t, err)
	retained := snapshot.Info()
	dropped, err := db.CreateSnapshot(testContext(t), "dropped", client.TTL(time.Hour))
	require.NoError(t, err)
	var of client.SnapshotInfo // of the history
	proc.Until(t, "the history has a snapshot", func(context.Context) bool {
		s := db.AsOf(time.Now())
		value, err := commonValue(t, s, keys)
		of = s.Info()
		return err == nil && value == "before"
	}, func() string { return "" })
	require.Empty(t, of.Name)
	for round := range 3 { // create and collect versions
		require.NoError(t, putAll(testContext(t), db, keys...), round)
	}
	require.NoError(t, db.DropSnapshot(testContext(t), "dropped"))

	same := func() {
		t.Helper()
		for _, n := range c.Nodes() {
			db := proc.Open(t, []string{n.Addr})
			for _, at := range []string{"retained", retained.ID, of.ID} {
				s := db.AtSnapshot(at)
				value, err := commonValue(t, s, keys)
				require.NoError(t, err, at)
				require.Equal(t, "before", value, at)
				require.Contains(t, []client.SnapshotInfo{retained, of}, s.Info())
			}
			value, err := commonValue(t, db.With(client.After(of.Token)).AsOf(of.Time), keys)
			require.NoError(t, err)
			require.Equal(t, "before", value)
			value, err = commonValue(t, db, keys)
			require.NoError(t, err)
			require.Equal(t, "after", value)
			l, err := db.Snapshots(testContext(t))
			require.NoError(t, err)
			require.Equal(t, []client.SnapshotInfo{retained}, l)
			_, err = commonValue(t, db.AtSnapshot(dropped.Info().ID), keys)
			require.ErrorIs(t, err, client.ErrTooOld)
			_, err = commonValue(t, db.AtSnapshot("dropped"), keys)
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
		require.NoError(t, putAll(testContext(t), db, keys...))
		same()
	}
	c.RequireQuiescent(t, quiescentWithin)
}
