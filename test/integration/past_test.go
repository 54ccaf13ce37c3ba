package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// valueAt gives the one value that all keys have at a snapshot, "mixed" if
// there are several.
func valueAt(t *testing.T, db *client.DB, keys [][]byte, how ...client.CallOption) (string, *client.Outcome, error) {
	t.Helper()
	var ops []client.Op
	for _, k := range keys {
		ops = append(ops, client.Get(k))
	}
	out, err := db.With(how...).Execute(soon(t), ops...)
	if err != nil {
		return "", nil, err
	}
	for _, r := range out.Results {
		if string(r.Value) != string(out.Results[0].Value) {
			return "mixed", out, nil
		}
	}
	return string(out.Results[0].Value), out, nil
}

// TestSnapshotsSurviveKills: a named snapshot and a state of the history read
// the same after all nodes were killed, at once and one after the other; what
// was dropped stays so.
func TestSnapshotsSurviveKills(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: []string{"--hot-key", "key/000", "--history-every", "100ms"}})
	keys := keysOf(30)
	db := c.OpenOld(t)
	fill(t, db, keys...)
	kept, err := db.CreateSnapshot(soon(t), "kept", time.Hour)
	require.NoError(t, err)
	_, err = db.CreateSnapshot(soon(t), "dropped", time.Hour)
	require.NoError(t, err)
	var of *client.Snapshot // the history's
	proc.Until(t, "the history has a state", func(context.Context) bool {
		_, out, err := valueAt(t, db, keys, client.AsOf(time.Now()))
		if err == nil {
			of = out.Snapshot
		}
		return err == nil && string(out.Results[0].Value) == "before"
	}, func() string { return "" })
	require.Empty(t, of.Name)
	for round := range 3 { // versions come and go
		require.NoError(t, putAll(soon(t), db, keys...), round)
	}
	gone, err := db.DropSnapshot(soon(t), "dropped")
	require.NoError(t, err)

	same := func() {
		t.Helper()
		for _, n := range c.Nodes() {
			db := proc.OpenOld(t, []string{n.Addr})
			for _, at := range []string{"kept", kept.ID, of.ID} {
				value, out, err := valueAt(t, db, keys, client.AtSnapshot(at))
				require.NoError(t, err, at)
				require.Equal(t, "before", value, at)
				require.NotNil(t, out.Snapshot)
			}
			value, _, err := valueAt(t, db, keys, client.AsOf(of.Time), client.After(of.Token))
			require.NoError(t, err)
			require.Equal(t, "before", value)
			value, _, err = valueAt(t, db, keys)
			require.NoError(t, err)
			require.Equal(t, "after", value)
			l, err := db.Snapshots(soon(t))
			require.NoError(t, err)
			require.Equal(t, []client.Snapshot{*kept}, l)
			_, _, err = valueAt(t, db, keys, client.AtSnapshot(gone.ID))
			require.Equal(t, kv.KindTooOld, kv.KindOf(err), "%v", err)
			_, _, err = valueAt(t, db, keys, client.AtSnapshot("dropped"))
			require.Equal(t, kv.KindNotFound, kv.KindOf(err), "%v", err)
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
		n.Serving(t)
	}
	c.Met(t)
	same()
	for _, n := range c.Nodes() {
		n.Kill()
		n.Start(t)
		c.Met(t)
		require.NoError(t, putAll(soon(t), db, keys...))
		same()
	}
	c.Quiet(t, leftWithin)
}
