package world

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// User configures the machines of a world, and is called when something happens there.
type User interface {
	// GatewayConfig configures a machine of a gateway. The world sets everything that depends on the node.
	GatewayConfig(n *Node) txn.Config
	ShardConfig(s *Shard) shard.Config
	// OnRecovered may change what a shard has recovered from its log.
	OnRecovered(s *Shard, rec *shard.Recovered)
	// OnInput may complete the input of a step; OnOutput is called before its output, or that of a start, is performed.
	OnInput(s *Shard, in *shard.Input)
	OnOutput(s *Shard, out *shard.Output)
	// OnSend is called for each message. It returns a bound of an additional random delay, and false if the message is to
	// be stopped.
	OnSend(from Source, env *msg.Envelope) (lateBy time.Duration, ok bool)
	// OnDeliver is called when a gateway receives a message.
	OnDeliver(n *Node, env *msg.Envelope)
	// OnDone is called with the response to a call, OnGatewayCrash when all calls of a gateway are lost.
	OnDone(n *Node, d txn.Done)
	OnGatewayCrash(n *Node)
}

// Ignore is a User without anything of its own, for embedding.
type Ignore struct{}

// OnRecovered implements User.
func (Ignore) OnRecovered(*Shard, *shard.Recovered) {}

// OnInput implements User.
func (Ignore) OnInput(*Shard, *shard.Input) {}

// OnOutput implements User.
func (Ignore) OnOutput(*Shard, *shard.Output) {}

// OnSend implements User.
func (Ignore) OnSend(Source, *msg.Envelope) (time.Duration, bool) { return 0, true }

// OnDeliver implements User.
func (Ignore) OnDeliver(*Node, *msg.Envelope) {}

// OnGatewayCrash implements User.
func (Ignore) OnGatewayCrash(*Node) {}
