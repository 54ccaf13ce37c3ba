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

func hotMachine() *shard.Machine {
	m, _ := shard.New(shard.Config{ID: 9, Home: func([]byte) kv.ShardID { return 0 }, Heat: shard.HeatConfig{Every: time.Second, Hot: 9, Nodes: 1, Node: 1}},
		shard.Recovered{}, 0, 0)
	return m
}

// setHot asks for something to be set, and gives the answer.
func setHot(t *testing.T, m *shard.Machine, request uint64, rule *msg.HotRule, mode uint32) *msg.HotReply {
	t.Helper()
	env := msg.ToShard(9)
	env.SetHot = &msg.SetHot{Request: kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: request}, Attempt: 1}, Gateway: 1, Rule: rule, Mode: mode}
	out := m.Step(shard.Input{Messages: []*msg.Envelope{env}})
	require.Len(t, out.Send, 1)
	require.Equal(t, env.SetHot.Request, out.Send[0].HotReply.Request)
	return out.Send[0].HotReply
}

// TestALateRepeatChangesNothing: the rule that was set last stays.
func TestALateRepeatChangesNothing(t *testing.T) {
	m := hotMachine()
	pin, ban := &msg.HotRule{Key: []byte("k"), Order: uint32(hotshard.Pin)}, &msg.HotRule{Key: []byte("k"), Order: uint32(hotshard.Ban)}
	setHot(t, m, 1, pin, 3)
	want := setHot(t, m, 2, ban, 1)
	require.Equal(t, []msg.HotRule{*ban}, want.Rules)
	for range 2 {
		r := setHot(t, m, 1, pin, 3)
		require.Equal(t, want.Rules, r.Rules)
		require.Equal(t, want.Mode, r.Mode)
	}
	for i := range uint64(10_000) {
		setHot(t, m, 3+i, ban, 0) // what is remembered is bounded
	}
	require.Equal(t, []msg.HotRule{*pin}, setHot(t, m, 1, pin, 0).Rules)
}

// TestRulesForHotKeysAreBounded: one more is refused, and what replaces or
// removes another is not.
func TestRulesForHotKeysAreBounded(t *testing.T) {
	m, requests := hotMachine(), uint64(0)
	set := func(key string, o hotshard.Order) *msg.HotReply {
		requests++
		return setHot(t, m, requests, &msg.HotRule{Key: []byte(key), Order: uint32(o)}, 0)
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
