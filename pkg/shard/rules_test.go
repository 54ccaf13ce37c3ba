package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestRulesForHotKeysAreBounded: one more is refused, and what replaces or
// removes another is not.
func TestRulesForHotKeysAreBounded(t *testing.T) {
	m, _ := shard.New(shard.Config{ID: 9, Home: func([]byte) kv.ShardID { return 0 }, Heat: shard.HeatConfig{Every: time.Second, Hot: 9, Nodes: 1, Node: 1}},
		shard.Recovered{}, 0, 0)
	set := func(key string, o hotshard.Order) *msg.HotReply {
		env := msg.ToShard(9)
		env.SetHot = &msg.SetHot{Gateway: 1, Rule: &msg.HotRule{Key: []byte(key), Order: uint32(o)}}
		out := m.Step(shard.Input{Messages: []*msg.Envelope{env}})
		require.Len(t, out.Send, 1)
		return out.Send[0].HotReply
	}
	for i := range 1000 {
		require.Nil(t, set(fmt.Sprint(i), hotshard.Ban).Failure)
	}
	for range 2 {
		r := set("more", hotshard.Pin)
		require.Equal(t, uint32(kv.KindExhausted), r.Failure.Kind)
		require.NotEmpty(t, r.Failure.Hint)
	}
	require.Len(t, set("7", hotshard.Pin).Rules, 1000)
	require.Len(t, set("8", hotshard.Free).Rules, 999)
	require.Len(t, set("more", hotshard.Pin).Rules, 1000)
}
