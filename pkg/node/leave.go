package node

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// leaveEvery is how often the other nodes are told that this one is about to stop,
// until they have heard it, and how often its shards are looked at.
const leaveEvery = 25 * time.Millisecond

// SayLeaving has the gateways of the other nodes begin nothing new on the shards of this
// one, while its own gateway still does; it returns when all that can be reached have
// heard, or ctx ends. Leave is to follow.
func (n *Node) SayLeaving(ctx context.Context) {
	t := time.NewTicker(leaveEvery)
	defer t.Stop()
	for n.tellLeaving() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Leave has the gateways of all nodes begin nothing new on the shards of this one,
// and waits until what they had begun there has ended, or ctx has. The shards go on
// serving what was begun, and the node has to be stopped afterwards.
//
//	tell every node that can be reached, until it has heard
//	wait until no shard has anything under way, twice in a row
//
// A message that a gateway has sent before it heard comes before its word that it
// has, if both go by one stream; twice in a row, because gateways have several
// goroutines that send. What slips through all the same, or is still there when ctx
// ends, is cut off by the stop as by a crash: nothing is lost that was answered, and
// whoever waits for an answer can ask for the outcome.
func (n *Node) Leave(ctx context.Context, look func(onShards int)) error {
	for _, id := range n.ids {
		n.gateway.SetLeaving(id, n.shards[id].m.Incarnation())
	}
	t := time.NewTicker(leaveEvery)
	defer t.Stop()
	for quiet := 0; ; {
		deaf := n.tellLeaving()
		under := n.UnderWay()
		if look != nil {
			look(under)
		}
		quiet++
		if deaf > 0 || under > 0 {
			quiet = 0
		}
		if quiet == 2 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// tellLeaving tells the nodes that have not heard, and counts them.
func (n *Node) tellLeaving() (deaf int) {
	if n.opt.Transport == nil {
		return 0
	}
	for i := range n.opt.Router.Nodes() {
		to := kv.NodeID(i + 1)
		if to == n.opt.ID || !n.opt.Transport.Up(to) {
			continue
		}
		var envs []*msg.Envelope
		for _, id := range n.ids {
			inc := n.shards[id].m.Incarnation()
			if n.gateway.Heard(id, inc, to) {
				continue
			}
			env := msg.ToGateway(to)
			env.Body = &msg.Announcement{Shard: id, Incarnation: inc, Leaving: true}
			envs = append(envs, env)
		}
		if len(envs) > 0 {
			deaf++
			n.opt.Transport.Send(to, envs)
		}
	}
	return deaf
}

// UnderWay counts what transactions have on the node's shards: requests that wait,
// locks that are held, promises, decisions that are awaited, readers, and states
// that are kept for scans.
func (n *Node) UnderWay() (under int) {
	for _, s := range n.Snapshots(0) {
		under += s.Waiting + s.Holders + s.Prepared + s.Undecided + s.Readers + s.Keeps
	}
	return under
}
