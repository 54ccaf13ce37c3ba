package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDownText(t *testing.T) {
	many := make([]ShardID, 400)
	for i := range many {
		many[i] = ShardID(3*i + 1)
	}
	for _, c := range []struct {
		d    Down
		want string
	}{
		{Down{Node: 2}, "node n2 is down, and with it its shards"},
		{Down{Node: 2, Shards: []ShardID{4}, Hot: true},
			"node n2 is down, and with it the shard s4 (hot), 0 % of the keyspace"},
		{Down{Node: 2, Address: "h:1", Shards: []ShardID{1, 4, 7}, Keyspace: 100.0 / 3},
			"node n2 (h:1) is down, and with it the shards s1, s4 and s7, 33.3 % of the keyspace"},
		{Down{Node: 2, Shards: many, Hot: true, Keyspace: 12.5},
			"node n2 is down, and with it 400 shards (s1, s4, s7, ..., s1198 (hot)), 12.5 % of the keyspace"},
		{Down{Shards: []ShardID{1, 4}, Keyspace: 40},
			"no leader can be reached of the shards s1 and s4, 40 % of the keyspace: " +
				"most of the replicas are down or cut off"},
	} {
		require.Equal(t, c.want, c.d.String())
		e := c.d.Error()
		require.Equal(t, KindUnavailable, e.Kind)
		require.Equal(t, c.want, e.Text)
		require.Equal(t, c.d, *e.Down)
		require.Contains(t, e.Hint, "nothing was applied")
		require.Contains(t, e.Hint, "--wait-for-shards")
	}
}
