package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// A machine has the incarnation that it is given, and makes it durable first. It must be above all earlier
// ones.
func TestIncarnationIsGiven(t *testing.T) {
	m, out := shard.New(shard.Config{}, shard.Recovered{Incarnation: 7}, 0, 0)
	require.EqualValues(t, 7, m.Incarnation())
	rec := shard.Recovered{}
	for _, e := range out.Entries {
		require.NoError(t, rec.Add(e.Table, entry.Row{Key: e.Key, Value: e.Value}))
	}
	require.EqualValues(t, 7, rec.State.Incarnation)
	for _, given := range []kv.Incarnation{1, 7} {
		rec.Incarnation = given
		require.Panics(t, func() { shard.New(shard.Config{}, rec, 0, 0) })
	}
	rec.Incarnation = 0
	m, _ = shard.New(shard.Config{}, rec, 0, 0)
	require.EqualValues(t, 8, m.Incarnation(), "by default the next one")
}
