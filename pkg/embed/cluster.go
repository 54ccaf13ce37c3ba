package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/transport/mem"
)

// ClusterOptions are what a cluster in one process is made with.
type ClusterOptions struct {
	Protocol
	// Dir holds a directory per node. It must exist.
	Dir string
	// Nodes is the number of nodes. Default 3.
	Nodes int
	// Shards is the number of ordinary shards. Default as in Options.
	Shards int
	// Replicas is the number of replicas of each shard, as in Options. Default 1: nodes of one process and disk are lost
	// together.
	Replicas int
	// NoLeases: leaders have no leases (Options.LeaderLeases).
	NoLeases bool
	// HotKeys live on the hot shard.
	HotKeys [][]byte
	// NoSync does without fsync: a crash loses what was acknowledged. For
	// measuring only.
	NoSync bool
	// SyncDelay is added to every fsync. For measuring only.
	SyncDelay time.Duration
	// Delay is the time a message takes between two nodes, one way.
	Delay time.Duration
	// CacheBytes bounds each node's memory for keys, and again for blocks.
	// Default 16 MiB.
	CacheBytes int
	// Listen has each node serve gRPC on a port of the loopback: a free one, or with
	// Port this one on the first node, and PortStep more on each that follows.
	Listen bool
	Port   int
	// Clock gives each node its clock. Default: the machine's.
	Clock func(kv.NodeID) clock.Clock
	// HTTP is the address at which the first node serves HTTP, if Listen is set, as
	// Options.HTTP; empty for none.
	HTTP string
	// Version is what the nodes say they are.
	Version string
	// Tracer makes a node's tracer, which the caller closes. Default none.
	Tracer func(kv.NodeID) *trace.Tracer
	// Edge wraps the backend of a node's gRPC server, and Listener the listener of it, for tests that
	// inject faults. Default: as they are.
	Edge     func(kv.NodeID, server.Backend) server.Backend
	Listener func(kv.NodeID, net.Listener) net.Listener
}

// PortStep is between the ports of a cluster's nodes, so that there is room for those
// of consoles.
const PortStep = 10

func (o ClusterOptions) withDefaults() ClusterOptions {
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 16 << 20
	}
	return o
}

func (o *ClusterOptions) placement() (kv.Placement, error) {
	replicas, shards := formation(cmp.Or(o.Replicas, 1), o.Shards, o.Nodes)
	p := kv.FirstPlacement(shards, o.Nodes)
	p.Replicas = kv.ReplicasOn(o.Nodes, replicas)
	return p, kv.CheckReplicas(replicas)
}

// Cluster is a whole cluster in this process, on an in-memory network.
type Cluster struct {
	opt    ClusterOptions
	net    *mem.Network
	router *hotshard.Router
	// mu guards members: StopNode and StartNode replace one.
	mu      sync.RWMutex
	members []*member
	ended   atomic.Bool
}

// member is a node of it. Only the start changes one, and what a request looks at
// before any is served.
type member struct {
	id        kv.NodeID
	disks     disks
	transport *mem.Node
	// backend is nil until the node has started.
	*backend
	lis    net.Listener
	addr   string
	server *server.Server
	// served is nil until the server has lis, and closes it.
	served chan error
	// web is nil but for the first.
	web *web
	// starts counts the starts of the node, for its successor after a restart. stopped: StopNode has
	// stopped it.
	starts  *starts
	stopped bool
}

// StartCluster makes a cluster and returns when it serves.
func StartCluster(opt ClusterOptions) (*Cluster, error) {
	opt = opt.withDefaults()
	if err := checkTypes(); err != nil {
		return nil, err
	}
	placement, err := opt.placement()
	if err != nil {
		return nil, err
	}
	router, err := hotshard.NewPlacedRouter(placement, opt.HotKeys)
	if err != nil {
		return nil, err
	}
	network, err := mem.NewNetwork(mem.Options{Delay: opt.Delay})
	if err != nil {
		return nil, err
	}
	c := &Cluster{opt: opt, net: network, router: router}
	for i := range opt.Nodes {
		c.members = append(c.members, &member{id: kv.NodeID(i + 1), starts: new(starts)})
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

// start serves last: the first response of a node already lists all nodes, with their addresses.
func (c *Cluster) start() error {
	for _, m := range c.members {
		if err := c.startMember(m); err != nil {
			return err
		}
	}
	c.introduce()
	if !c.opt.Listen {
		return nil
	}
	for _, m := range c.members {
		if err := c.listen(m); err != nil {
			return err
		}
	}
	for _, m := range c.members {
		m.serve()
	}
	return nil
}

// introduce sets the incarnations of all shards on every gateway, which saves each of them a first attempt per
// shard.
func (c *Cluster) introduce() {
	for _, m := range c.members {
		m.node.CheckPeers()
		for _, s := range m.node.ShardStats(0) {
			for _, o := range c.members {
				o.node.Gateway().SetIncarnation(s.Shard, s.Incarnation)
			}
		}
	}
}

func (c *Cluster) startMember(m *member) error {
	id, sopt := m.id, pebblestore.Small()
	sopt.NoSync, sopt.SyncDelay = c.opt.NoSync, c.opt.SyncDelay
	rows, placement := filepath.Join(c.opt.Dir, fmt.Sprintf("n%d", id)), c.router.Placement()
	var err error
	m.disks, err = openDisks(rows, rows+"."+logDir, sopt, &placement)
	if err != nil {
		return err
	}
	var ready atomic.Pointer[node.Node]
	m.transport, err = c.net.JoinReplicas(id, func(envs []*msg.Envelope) {
		if n := ready.Load(); n != nil {
			n.Receive(envs)
		}
	}, replicaHandler(ready.Load))
	if err != nil {
		return err
	}
	clk, err := c.clock(id)
	if err != nil {
		return err
	}
	var tracer *trace.Tracer
	if c.opt.Tracer != nil {
		tracer = c.opt.Tracer(id)
	}
	saved := membership.Saved{Node: id, NoLeases: c.opt.NoLeases}
	m.backend, err = assemble(c.settings(id), m.disks, node.Options{ID: id, Router: c.router, Clock: clk,
		Transport: m.transport, Replication: m.disks.replication(&saved, m.transport, foundingDisk),
		Incarnations: m.starts, Tracer: tracer, Addresses: c.addresses})
	if err != nil {
		return err
	}
	ready.Store(m.node)
	return nil
}

// foundingDisk is the place of each node's disk: none is ever replaced.
func foundingDisk(n kv.NodeID) (place string, known bool) { return kv.PlaceOf(n, 0), true }

func (c *Cluster) settings(id kv.NodeID) *settings {
	o := &c.opt
	return &settings{Protocol: o.Protocol, cluster: "demo", version: o.Version, cacheBytes: o.CacheBytes,
		noLeases: o.NoLeases, peers: c.nodes, noRuntime: id != 1}
}

func (c *Cluster) clock(id kv.NodeID) (clock.Clock, error) {
	if c.opt.Clock != nil {
		return c.opt.Clock(id), nil
	}
	return clock.NewReal()
}

// listen binds a member's addresses. It does not serve yet.
func (c *Cluster) listen(m *member) (err error) {
	port := 0
	if c.opt.Port > 0 {
		port = c.opt.Port + PortStep*int(m.id-1)
	}
	addr := m.addr // that of before a restart
	if addr == "" {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	m.lis, err = net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	m.addr = m.lis.Addr().String()
	if c.opt.Listener != nil {
		m.lis = c.opt.Listener(m.id, m.lis)
	}
	var edge server.Backend = m.backend
	if c.opt.Edge != nil {
		edge = c.opt.Edge(m.id, edge)
	}
	m.server, err = server.New(edge, server.Options{Traces: c.opt.Tracer != nil})
	if err != nil {
		return err
	}
	if c.opt.HTTP == "" || m.id != 1 {
		return nil
	}
	gate, err := guard.New(guard.Options{}) // without TLS, on the loopback
	if err != nil {
		return err
	}
	m.web, err = newWeb(c.opt.HTTP, false, slog.New(slog.DiscardHandler), gate)
	return err
}

func (m *member) serve() {
	m.served = make(chan error, 1)
	go func() { m.served <- m.server.Serve(m.lis) }()
	if m.web != nil {
		m.web.serve(pages(m.metrics.Handler(func() error { return nil }, m.node.WriteRejection), m.server.Local()))
	}
}

// nodes are those that run.
func (c *Cluster) nodes() []*node.Node {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]*node.Node, 0, len(c.members))
	for _, m := range c.members {
		if !m.stopped && m.backend != nil {
			out = append(out, m.node)
		}
	}
	return out
}

// member is the node with a number, from 1.
func (c *Cluster) member(id kv.NodeID) *member {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.members[id-1]
}

func (c *Cluster) addresses() map[kv.NodeID]string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := map[kv.NodeID]string{}
	for _, m := range c.members {
		out[m.id] = m.addr
	}
	return out
}

// Addrs are the gRPC addresses of the nodes, if they listen.
func (c *Cluster) Addrs() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]string, len(c.members))
	for i, m := range c.members {
		out[i] = m.addr
	}
	return out
}

// HTTPAddr is where the first node serves HTTP, empty if it does not.
func (c *Cluster) HTTPAddr() string {
	if w := c.members[0].web; w != nil {
		return w.addr
	}
	return ""
}

// Router returns the placement of keys.
func (c *Cluster) Router() *hotshard.Router { return c.router }

// Network is what joins the nodes; tests cut it.
func (c *Cluster) Network() *mem.Network { return c.net }

// Node is the node with the given number, from 1.
func (c *Cluster) Node(id kv.NodeID) *node.Node { return c.member(id).node }

// Metrics are those of a node.
func (c *Cluster) Metrics(id kv.NodeID) *metrics.Node { return c.member(id).metrics }

// Syncs is the number of fsyncs of all nodes' logs.
func (c *Cluster) Syncs() (n uint64) {
	for _, m := range c.members {
		n += m.disks.logStats().Syncs
	}
	return n
}

// Backend is what the edge of a node runs on.
func (c *Cluster) Backend(id kv.NodeID) server.Backend { return c.member(id).backend }

// Stop ends the cluster: servers first, then nodes, then stores. Another Stop does nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	if c.ended.Swap(true) {
		return nil
	}
	var errs []error
	for _, m := range c.members {
		if m.stopped {
			continue
		}
		if m.web != nil {
			errs = append(errs, m.web.close())
		}
		if m.server != nil {
			errs = append(errs, m.server.GracefulStop(ctx))
		}
	}
	for _, m := range c.members {
		if m.stopped {
			continue
		}
		if err := m.node.Gateway().Drain(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, c.release())...)
}

// release gives up whatever has been started.
func (c *Cluster) release() error {
	var errs []error
	running := slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return m.stopped })
	for _, m := range running {
		errs = append(errs, m.hangUp())
	}
	for _, m := range running {
		errs = append(errs, m.stop())
	}
	for _, m := range running {
		errs = append(errs, m.disks.close())
	}
	return errors.Join(errs...)
}

// stop ends the node, or what there is of it.
func (m *member) stop() error {
	switch {
	case m.backend != nil:
		m.node.Stop()
	case m.transport != nil:
		return m.transport.Close()
	}
	return nil
}

// hangUp ends the member's servers at once.
func (m *member) hangUp() error {
	var errs []error
	if m.web != nil {
		errs = append(errs, m.web.close())
	}
	if m.server != nil {
		m.server.Stop()
	}
	if m.served != nil {
		errs = append(errs, <-m.served)
	} else if m.lis != nil {
		errs = append(errs, m.lis.Close())
	}
	return errors.Join(errs...)
}
