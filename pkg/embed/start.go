package embed

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/catalog"
	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/trace"
	tgrpc "github.com/linchpindb/linchpin/pkg/transport/grpc"
)

// Instance is a running node.
type Instance struct {
	opt Options
	// plan is how memory is dealt out, callers what those have of it.
	plan    memoryPlan
	callers *memory.Budget
	catalog *catalog.Catalog
	hotMaps *hotMaps
	disks   disks
	lis     net.Listener
	web     *web
	// storeFiles is how many tables the stores keep open.
	storeFiles int
	// certificates is nil without TLS.
	certificates *certs.Reloader
	directory    *guard.Directory
	gate         *guard.Gate
	users        *userStore
	// leases is nil where they do not outlive the process.
	leases *leaseFile
	// endTrust ends trustMembers; nil if it has not begun.
	endTrust func()

	transport *tgrpc.Transport
	meeting   *membership.Shell
	server    *server.Server
	served    chan error
	// backend is nil until the node has started. Peers and operators may call before that.
	backend atomic.Pointer[backend]
	tracer  *trace.Tracer
	drain   *drain
}

// Start starts a node and returns when it serves: when the cluster is formed
// and the node's shards are recovered, or with the reason why that cannot be.
// It gives up when ctx ends, and with ErrDrained when an operator drains the node
// while it waits for the others.
//
//	try to refute the declarations of the data types, for a moment
//	read the certificates; open the catalog and the stores; listen
//	answer Meet, call the other members, until the cluster is formed; then a new node opens its stores
//	recover the shards, connect to the peers, serve clients
func Start(ctx context.Context, opt Options) (*Instance, error) {
	opt = opt.withDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if err := checkTypes(); err != nil {
		return nil, err
	}
	plan, err := planMemory(opt.MemoryBudget, opt.CacheBytes, withCgo)
	if err != nil {
		return nil, err
	}
	opt.CacheBytes = plan.cache
	i := &Instance{opt: opt, plan: plan, callers: memory.New(plan.callers), drain: newDrain()}
	i.callers.Process = plan.needed
	i.storeFiles, i.opt.Limits.Connections = dealFiles(fileLimit(), plan.connections(opt.Limits.Connections))
	err = i.start(ctx)
	switch {
	case err == nil:
		return i, nil
	case errors.Is(err, ErrDrained):
		if failed := i.Stop(); failed != nil {
			return nil, failed
		}
	default:
		i.release()
	}
	return nil, err
}

func (i *Instance) start(ctx context.Context) error {
	if err := i.guard(); err != nil {
		return err
	}
	if err := i.open(); err != nil {
		return err
	}
	address, err := i.listen()
	if err != nil {
		return err
	}
	cfg, err := i.config(address)
	if err != nil {
		return err
	}
	saved, err := i.meet(ctx, cfg)
	if err != nil {
		return err
	}
	p := saved.Placement()
	if err := i.openStores(&p); err != nil {
		return err
	}
	return i.serve(saved)
}

func (i *Instance) listen() (advertised string, err error) {
	addr, err := membership.ListenAddress(i.opt.Listen, i.isOpen())
	if err != nil {
		return "", err
	}
	i.lis, err = net.Listen("tcp", addr)
	if err != nil {
		return "", &kv.Error{Kind: kv.KindUnavailable, Op: -1,
			Text: "cannot listen: " + err.Error(), Hint: "set another address with --listen"}
	}
	if i.opt.HTTP != "" {
		i.web, err = newWeb(i.opt.HTTP, i.isOpen(), i.opt.log(logs.Server), i.gate)
		if err != nil {
			return "", err
		}
	}
	return membership.AdvertiseAddress(i.opt.Advertise, i.lis.Addr().String(), i.opt.Join == "", i.isOpen())
}

// meet answers and calls the other members until the cluster is formed.
func (i *Instance) meet(ctx context.Context, cfg membership.Config) (saved membership.Saved, err error) {
	i.transport, err = tgrpc.New(tgrpc.Options{Log: i.opt.log(logs.Peers), Delay: i.opt.NetDelay, TLS: i.peerTLS(),
		Replicas:  replicaHandler(i.running),
		OnConnect: func(n kv.NodeID) { i.meeting.MarkSeen(n) },
		Handler: func(envs []*msg.Envelope) {
			if n := i.running(); n != nil {
				n.Receive(envs)
			}
		},
		Meet: func(ctx context.Context, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
			return i.meeting.Meet(ctx, req)
		},
	})
	if err != nil {
		return membership.Saved{}, err
	}
	i.meeting, err = membership.Start(membership.Options{Config: cfg, Store: i.catalog, OnMoved: i.transport.SetPeer,
		Log: i.opt.log(logs.Cluster), Call: i.ask()})
	if err != nil {
		return membership.Saved{}, err
	}
	i.endTrust = i.trustMembers(cfg.List)
	i.server, err = server.New(nil, server.Options{RefusedAddresses: i.gate.RefusedAddresses, SlowReader: i.opt.SlowReader,
		Operator: i, Traces: i.opt.TraceEndpoint != "", Log: i.opt.log(logs.Server),
		Users: i.directory, PeerService: peerpb.Peer_ServiceDesc.ServiceName, MaxPeerBytes: tgrpc.MaxBatchMessage,
		GRPC: i.guardOptions(), Register: func(r grpc.ServiceRegistrar) { i.transport.Register(r) }})
	if err != nil {
		return membership.Saved{}, err
	}
	i.served = make(chan error, 1)
	lis := i.gate.Listener(i.lis)
	i.lis = nil // the server closes it from now on
	go func() { i.served <- i.server.Serve(lis) }()
	i.opt.log(logs.Cluster).Info("waiting for the initial members", "members", cfg.List)
	ctx, cancel := i.drain.until(ctx)
	defer cancel()
	saved, err = i.meeting.Wait(ctx)
	if i.drain.begun() { // the operator has already received the end of the drain
		return membership.Saved{}, ErrDrained
	}
	return saved, err
}

// serve recovers the shards and serves clients.
func (i *Instance) serve(saved membership.Saved) error {
	if i.opt.Logs != nil {
		i.opt.Logs.SetNode(saved.Node.String())
	}
	router, err := hotshard.NewPlacedRouter(saved.Placement(), saved.HotKeys)
	if err != nil {
		return err
	}
	clk, err := clock.NewReal()
	if err != nil {
		return err
	}
	i.tracer, err = startTracer(&i.opt, saved.Node)
	if err != nil {
		return err
	}
	if err := i.transport.Start(tgrpc.Identity{Cluster: saved.Cluster, Node: saved.Node}, saved.Addresses()); err != nil {
		return err
	}
	b, err := i.startNode(&saved, node.Options{Router: router, Clock: clk})
	if err != nil {
		return err
	}
	i.disks.rows.Delays().Reads(i.opt.ReadDelay)
	b.metrics.WatchScans(i.server.UnreadScans)
	b.metrics.WatchPeers(i.transport.Stats)
	watchGuard(b.metrics, i.gate, i.certificates, i.plan.budget)
	i.backend.Store(b)
	i.users.serve(b.node.Gateway())
	i.server.SetBackend(b)
	if i.web != nil {
		i.web.serve(i.httpHandler(b))
	}
	i.opt.log(logs.Node).Info("node serving", "address", i.Addr(), "cluster", saved.Cluster, "shards", saved.Shards,
		"replicas", router.Placement().Replicas, "commit_order", i.opt.Order.String(), "reads", i.opt.Reads.String())
	return nil
}

// startNode starts the node of a member. opt has its router and its clock.
func (i *Instance) startNode(saved *membership.Saved, opt node.Options) (*backend, error) {
	opt.ID, opt.Transport, opt.Incarnations = saved.Node, i.transport, i.catalog
	opt.Replication = i.disks.replication(saved, i.transport, i.meeting.Place)
	i.hotMaps = rememberHotMaps(i.catalog, i.opt.log(logs.Hot))
	opt.Leases, opt.HotMaps = i.openLeases(saved), i.hotMaps
	opt.DiskReserve, opt.NoMemory = i.opt.DiskReserve, (&pressure{bound: uint64(i.plan.bound)}).high
	opt.UserName, opt.Tracer, opt.Log, opt.OnFatal = i.userName, i.tracer, i.opt.log(logs.Node), i.fatal
	opt.Addresses = func() map[kv.NodeID]string { s := i.meeting.Saved(); return s.Addresses() }
	return assemble(i.settings(saved), i.disks, opt)
}

func (i *Instance) settings(saved *membership.Saved) *settings {
	o := &i.opt
	return &settings{Protocol: o.Protocol, cluster: saved.Cluster, version: o.Version, cacheBytes: int(o.CacheBytes),
		noLeases: saved.NoLeases}
}

// openLeases returns nil where leases do not outlive the process. With replicas they are the leaders' own.
func (i *Instance) openLeases(saved *membership.Saved) node.Leases {
	if i.disks.log != nil {
		return nil
	}
	var err error
	i.leases, err = openLeases(i.opt.Dir, saved.Cluster, saved.Node, saved.Shards)
	if err != nil {
		i.opt.log(logs.Node).Info("lease expiry times cannot be kept in memory: after a crash, shards wait for whole leases",
			"error", err)
		return nil
	}
	return i.leases
}

// fatal ends the process: what the disk holds is not known any more.
func (i *Instance) fatal(err error) {
	i.opt.log(logs.Store).Error("store failed: the node stops; no acknowledged commit is lost", "error", err)
	os.Exit(pebblestore.ExitFatal)
}

// Addr is where clients and peers can call the node.
func (i *Instance) Addr() string {
	s := i.meeting.Saved()
	return s.Addresses()[s.Node]
}

// HTTPAddr is where the HTTP server listens, empty if there is none.
func (i *Instance) HTTPAddr() string {
	if i.web == nil {
		return ""
	}
	return i.web.addr
}

// running returns the node, nil until it has started. It is safe for concurrent use.
func (i *Instance) running() *node.Node {
	if b := i.backend.Load(); b != nil {
		return b.node
	}
	return nil
}

// DelaySyncs delays each fsync by d from now on (ForTests.SyncDelay).
func (i *Instance) DelaySyncs(d time.Duration) { i.disks.synced().Delays().Syncs(d) }

// Node returns the node itself.
func (i *Instance) Node() *node.Node { return i.running() }

// release gives up whatever has been started, in reverse.
func (i *Instance) release() error {
	var errs []error
	if i.server != nil {
		i.server.Stop()
	}
	if i.lis != nil {
		errs = append(errs, i.lis.Close())
	}
	if i.endTrust != nil {
		i.endTrust()
	}
	if i.meeting != nil {
		i.meeting.Close()
	}
	if i.directory != nil {
		i.directory.Close()
	}
	if n := i.running(); n != nil {
		n.Stop()
	} else if i.transport != nil {
		errs = append(errs, i.transport.Close())
	}
	if i.tracer != nil {
		i.stopTracer()
	}
	if i.web != nil {
		errs = append(errs, i.web.close())
	}
	errs = append(errs, i.disks.close())
	if i.leases != nil {
		errs = append(errs, i.leases.close())
	}
	if i.hotMaps != nil {
		i.hotMaps.close()
	}
	if i.certificates != nil {
		i.certificates.Close()
	}
	if i.catalog != nil {
		errs = append(errs, i.catalog.Close())
	}
	return errors.Join(errs...)
}

// NodeID is the node's number in its cluster.
func (i *Instance) NodeID() kv.NodeID { return i.meeting.Saved().Node }
