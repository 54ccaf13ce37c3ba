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
	"github.com/linchpindb/linchpin/test/world"
)

// rules is the hot shard of a cluster with a planner, whose log a restart reads.
type rules struct {
	*world.Single
	t     *testing.T
	asked uint64
}

func newRules(t *testing.T) *rules {
	r := &rules{t: t, Single: world.NewSingle(shard.Config{ID: 9, Home: func([]byte) kv.ShardID { return 0 },
		Heat: shard.HeatConfig{Every: time.Second, Hot: 9, Nodes: 1, Node: 1}})}
	r.restart()
	return r
}

func (r *rules) restart() {
	r.Now = 0
	_, err := r.Restart(nil)
	require.NoError(r.t, err)
}

func (r *rules) send(e *msg.Envelope) *msg.HotStatusResponse {
	r.t.Helper()
	sent, err := r.Step(e)
	require.NoError(r.t, err)
	require.Len(r.t, sent, 1)
	return msg.As[msg.HotStatusResponse](sent[0])
}

func (r *rules) name() kv.TxnRef {
	r.asked++
	return kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: r.asked}, Attempt: 1}
}

func (r *rules) ask() *msg.HotStatusResponse {
	r.t.Helper()
	e := msg.ToShard(9)
	e.Body = &msg.HotStatusRequest{Request: r.name(), Gateway: 1}
	return r.send(e)
}

// request sets a rule and a mode, based on the present rules.
func (r *rules) request(rule *msg.HotRule, mode uint32) *msg.Envelope {
	r.t.Helper()
	now := r.ask()
	e := msg.ToShard(9)
	e.Body = &msg.SetHotPolicy{Request: r.name(), Gateway: 1, Rule: rule, Mode: mode, Incarnation: now.Incarnation,
		Change: now.Change}
	return e
}

// TestLateRuleRequestChangesNothing: a copy of a request arrives after another one has set or removed the
// rule; at once, after many others, and after restarts.
func TestLateRuleRequestChangesNothing(t *testing.T) {
	r := newRules(t)
	rule := func(o hotshard.Order) *msg.HotRule { return &msg.HotRule{Key: []byte("k"), Order: uint32(o)} }
	pin := r.request(rule(hotshard.Pin), 3)
	require.Nil(t, r.send(pin).Failure)
	require.Nil(t, r.send(pin).Failure, "a repeat gets the same answer")
	lost := r.request(rule(hotshard.Pin), 3)
	require.Nil(t, r.send(r.request(rule(hotshard.Ban), 1)).Failure)
	want := r.ask()
	require.Equal(t, []msg.HotRule{*rule(hotshard.Ban)}, want.Rules)
	late := func(e *msg.Envelope, failure msg.Reason) {
		t.Helper()
		got := r.send(e)
		if failure == msg.ReasonNone {
			require.Nil(t, got.Failure)
		} else {
			require.Equal(t, failure, got.Failure.Reason)
		}
		got = r.ask()
		require.Equal(t, want.Rules, got.Rules)
		require.Equal(t, want.Mode, got.Mode)
	}
	late(pin, msg.ReasonNone)
	late(lost, msg.ReasonStaleRead)

	require.Nil(t, r.send(r.request(rule(hotshard.Free), 1)).Failure)
	for range 1000 { // what is remembered is bounded
		require.Nil(t, r.send(r.request(nil, 1)).Failure)
	}
	want = r.ask()
	require.Empty(t, want.Rules)
	late(pin, msg.ReasonIncarnation)
	late(lost, msg.ReasonIncarnation)
	last := r.request(rule(hotshard.Pin), 3)
	for range 2 {
		r.restart()
		late(pin, msg.ReasonIncarnation)
		late(last, msg.ReasonIncarnation)
	}
}

// TestRulesAreBounded: one more is rejected; one that replaces or removes another is not.
func TestRulesAreBounded(t *testing.T) {
	rules := newRules(t)
	set := func(key string, o hotshard.Order) *msg.HotStatusResponse {
		return rules.send(rules.request(&msg.HotRule{Key: []byte(key), Order: uint32(o)}, 0))
	}
	for i := range 1000 {
		require.Nil(t, set(fmt.Sprint(i), hotshard.Ban).Failure)
	}
	for range 2 {
		r := set("more", hotshard.Pin)
		require.Equal(t, uint32(kv.KindResourceExhausted), r.Failure.Kind)
		require.NotEmpty(t, r.Failure.Hint)
	}
	require.Len(t, set("7", hotshard.Pin).Rules, 1000)
	require.Len(t, set("8", hotshard.Free).Rules, 999)
	require.Len(t, set("more", hotshard.Pin).Rules, 1000)
}

// TestHeatMapsAreNumbered: of two maps the later one has the higher number, or is of a later incarnation.
func TestHeatMapsAreNumbered(t *testing.T) {
	r := newRules(t)
	send := func() *msg.HeatMap {
		t.Helper()
		e := msg.ToShard(9)
		e.Body = &msg.LoadReport{Shard: 1, Keys: []msg.KeyHeat{{Key: []byte("k"), Shard: 1, Heat: 1}}}
		_, err := r.Step(e)
		require.NoError(t, err)
		r.Now += int64(time.Second)
		sent, err := r.Step()
		require.NoError(t, err)
		require.Len(t, sent, 1)
		return msg.As[msg.HeatMap](sent[0])
	}
	for inc := kv.Incarnation(1); inc < 4; inc++ {
		for number := uint64(1); number < 4; number++ {
			m := send()
			require.Equal(t, inc, m.Incarnation)
			require.Equal(t, number, m.Number)
		}
		r.restart()
	}
}
