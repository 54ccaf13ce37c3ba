package gateway_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// life starts the gateway of node 1, and gives what it sends. All its lives begin at
// the same time: a clock may have been set back in between.
func life(t *testing.T) (*gateway.Gateway, <-chan *msg.Envelope) {
	t.Helper()
	router, err := hotshard.NewRouter(1, 2, nil)
	require.NoError(t, err)
	sent := make(chan *msg.Envelope, 10)
	g := gateway.New(gateway.Options{Machine: txn.Config{Node: 1, Router: router}, Clock: clock.NewHybrid(clock.NewManual(1, 1), time.Minute),
		Send: func(envs []*msg.Envelope) {
			for _, env := range envs {
				sent <- env
			}
		}})
	return g, sent
}

// answerTo is what node 2 sends.
func answerTo(asked *msg.Envelope, body string) *msg.Envelope {
	env := msg.ToGateway(1)
	env.Body = &msg.Announcement{Call: &msg.NodeCall{Number: msg.As[msg.Announcement](asked).Call.Number, Body: []byte(body)}}
	return env
}

// TestAnAnswerToAnEarlierLifeIsNobodys: it may wait for long in the other node's outbox,
// and comes when the node that asked has started again and asks something else.
func TestAnAnswerToAnEarlierLifeIsNobodys(t *testing.T) {
	ask := func(g *gateway.Gateway, question string) <-chan string {
		got := make(chan string, 1)
		go func() {
			a, err := g.AskNode(context.Background(), 2, []byte(question))
			if err != nil {
				a = []byte(err.Error())
			}
			got <- string(a)
		}()
		return got
	}
	g, sent := life(t)
	cut := ask(g, "one")
	first := <-sent
	g.Close()
	require.Contains(t, <-cut, "the node is draining")

	g, sent = life(t)
	defer g.Close()
	got := ask(g, "two")
	second := <-sent
	g.Deliver([]*msg.Envelope{answerTo(first, "1")})
	g.Deliver([]*msg.Envelope{answerTo(second, "2")})
	require.Equal(t, "2", <-got)
	third := ask(g, "three")
	next := <-sent
	g.Deliver([]*msg.Envelope{answerTo(second, "2 again")})
	g.Deliver([]*msg.Envelope{answerTo(next, "3")})
	require.Equal(t, "3", <-third)
}

// TestALateWordOfAnEarlierStopIsIgnored: node 2 has acknowledged that a shard of node 1 was leaving, and
// the message arrives when node 1 has restarted and is leaving again.
func TestALateWordOfAnEarlierStopIsIgnored(t *testing.T) {
	g, _ := life(t)
	defer g.Close()
	heard := func(inc kv.Incarnation) {
		env := msg.ToGateway(1)
		env.From = 2
		env.Body = &msg.Announcement{Shard: 0, Incarnation: inc, Heard: true}
		g.Deliver([]*msg.Envelope{env})
	}
	heard(4)
	require.False(t, g.Heard(0, 5, 2))
	heard(5)
	heard(4)
	require.True(t, g.Heard(0, 5, 2))
	require.False(t, g.Heard(0, 5, 3))
}
