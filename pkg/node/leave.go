package node

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// drainInterval is the period of the Draining announcements until they are acknowledged, and of the checks
// of the shards.
const drainInterval = 25 * time.Millisecond

// maxTransfer bounds the time for which a draining node tries to have other nodes lead its shards. They may be down, or
// draining too.
const maxTransfer = 2 * time.Second

// transferAll has other nodes lead the shards with several replicas, and returns how many this node still leads.
func (n *Node) transferAll(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, maxTransfer)
	defer cancel()
	n.groups.Decline()
	left := n.groups.TransferLeaderships(ctx)
	if left > 0 {
		n.opt.Log.Warn("no other node takes over the lead of some shards: their clients wait for an election", "shards", left)
	}
	return left
}

// AnnounceDraining makes the gateways of the other nodes start nothing new on the shards of this node, while its
// own gateway continues to. It returns when all reachable gateways have acknowledged, or ctx ends. Drain
// follows. Shards with several replicas are led by other nodes when it returns.
func (n *Node) AnnounceDraining(ctx context.Context) {
	if n.groups != nil {
		n.transferAll(ctx)
		return
	}
	t := time.NewTicker(drainInterval)
	defer t.Stop()
	for n.sendDraining() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Drain makes the gateways of all nodes start nothing new on the shards of this node, and waits until what
// they have started has ended, or ctx ends. The shards continue to serve what was started. The node must be
// stopped afterwards.
//
//	send Draining to every reachable node, until it has acknowledged
//	wait until no shard has anything in flight in two consecutive checks
//
// Two checks are needed because a gateway has several sending goroutines: a request that one of them sent
// before the gateway received Draining may arrive after the acknowledgement of another. Requests that arrive
// even later, or are still open when ctx ends, are cut off by the stop as by a crash. No acknowledged
// transaction is lost, and clients can query the outcome of others.
//
// With several replicas, other nodes lead the shards and go on, so nothing is cut off.
func (n *Node) Drain(ctx context.Context, report func(inFlight int)) error {
	if n.groups != nil {
		n.transferAll(ctx)
		return nil
	}
	for _, id := range n.ids {
		n.gateway.SetDraining(id, n.shards[id].runs())
	}
	t := time.NewTicker(drainInterval)
	defer t.Stop()
	for quiet := 0; ; {
		unacknowledged := n.sendDraining()
		inFlight := n.InFlight()
		if report != nil {
			report(inFlight)
		}
		quiet++
		if unacknowledged > 0 || inFlight > 0 {
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

// sendDraining sends Draining to the reachable nodes that have not acknowledged, and returns their number.
func (n *Node) sendDraining() (unacknowledged int) {
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
			inc := n.shards[id].runs()
			if n.gateway.HasAcknowledgedDraining(id, inc, to) {
				continue
			}
			env := msg.ToGateway(to)
			env.Body = &msg.Announcement{Shard: id, Incarnation: inc, Draining: true}
			envs = append(envs, env)
		}
		if len(envs) > 0 {
			unacknowledged++
			n.opt.Transport.Send(to, envs)
		}
	}
	return unacknowledged
}

// InFlight counts the open work of transactions on the node's shards: waiting requests, lock holders,
// prepared and undecided transactions, readers, and states that scans use.
func (n *Node) InFlight() (count int) {
	for _, s := range n.ShardStats(0) {
		count += s.Waiting + s.Holders + s.Prepared + s.Undecided + s.Readers + s.FixedCSNs
	}
	return count
}
