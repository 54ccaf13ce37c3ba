package embed

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/shard"
	tgrpc "github.com/linchpindb/linchpin/pkg/transport/grpc"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Instance is a running node.
type Instance struct {
	opt     Options
	catalog *catalogStore
	hotMaps *hotMaps
	store   *pebblestore.Store
	lis     net.Listener
	web     *web

	transport *tgrpc.Transport
	meeting   *membership.Shell
	server    *server.Server
	served    chan error
	lazy      *lazyBackend
	node      *node.Node
	handler   atomic.Pointer[node.Node]
}

// Start starts a node and returns when it serves: when the cluster is formed
// and the node's shards are recovered, or with the reason why that cannot be.
// It gives up when ctx ends.
//
//	try to refute the declarations of the data types, for a moment
//	open the catalog and the store; listen
//	answer Meet, call the other members, until the cluster is formed
//	recover the shards, connect to the peers, serve clients
func Start(ctx context.Context, opt Options) (*Instance, error) {
	opt = opt.withDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if err := checkTypes(); err != nil {
		return nil, err
	}
	i := &Instance{opt: opt, lazy: &lazyBackend{}}
	if err := i.start(ctx); err != nil {
		i.release()
		return nil, err
	}
	return i, nil
}

func (i *Instance) start(ctx context.Context) error {
	if err := i.open(); err != nil {
		return err
	}
	address, err := i.listen()
	if err != nil {
		return err
	}
	saved, err := i.meet(ctx, address)
	if err != nil {
		return err
	}
	return i.serve(saved)
}

// open opens what is on disk. The catalog comes first: its lock keeps a
// second process out before the store is touched.
func (i *Instance) open() error {
	if err := os.MkdirAll(i.opt.Dir, 0o755); err != nil {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "the storage directory cannot be made: " + err.Error(), Hint: "choose another with --store"}
	}
	var err error
	if i.catalog, err = openCatalog(i.opt.Dir); err != nil {
		return err
	}
	i.store, err = pebblestore.Open(filepath.Join(i.opt.Dir, "data"), pebblestore.Options{CacheBytes: i.opt.CacheBytes,
		NoSync: i.opt.UnsafeNoSync, SyncDelay: i.opt.SyncDelay, Logf: func(f string, a ...any) { i.opt.Log.Warn("store", "message", sprintf(f, a...)) }})
	return err
}

func (i *Instance) listen() (advertised string, err error) {
	addr, err := membership.ListenAddress(i.opt.Listen, i.opt.Insecure)
	if err != nil {
		return "", err
	}
	if i.lis, err = net.Listen("tcp", addr); err != nil {
		return "", &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "cannot listen: " + err.Error(), Hint: "choose another address with --listen"}
	}
	if i.opt.HTTP != "" {
		if i.web, err = newWeb(i.opt.HTTP, i.opt.Insecure, i.opt.Log); err != nil {
			return "", err
		}
	}
	return membership.AdvertiseAddress(i.opt.Advertise, i.lis.Addr().String(), i.opt.Join == "", i.opt.Insecure)
}

// meet answers and calls the other members until the cluster is formed.
func (i *Instance) meet(ctx context.Context, address string) (membership.Saved, error) {
	list, err := membership.JoinList(i.opt.Join, address, i.opt.Insecure)
	if err != nil {
		return membership.Saved{}, err
	}
	i.transport, err = tgrpc.New(tgrpc.Options{Log: i.opt.Log, Delay: i.opt.NetDelay,
		OnConnect: func(n kv.NodeID) { i.meeting.Heard(n) },
		Handler: func(envs []*msg.Envelope) {
			if n := i.handler.Load(); n != nil {
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
	i.meeting, err = membership.Start(membership.Options{
		Config: membership.Config{Address: address, List: list, Shards: i.opt.Shards + 1, HotKeys: i.opt.HotKeys},
		Store:  i.catalog, OnMoved: i.transport.SetPeer, Log: i.opt.Log,
	})
	if err != nil {
		return membership.Saved{}, err
	}
	i.server, err = server.New(i.lazy, server.Options{NotReady: true, Log: i.opt.Log, GRPC: tgrpc.ServerOptions(),
		Register: func(r grpc.ServiceRegistrar) { i.transport.Register(r) }})
	if err != nil {
		return membership.Saved{}, err
	}
	i.served = make(chan error, 1)
	lis := i.lis
	i.lis = nil // the server closes it from now on
	go func() { i.served <- i.server.Serve(lis) }()
	i.opt.Log.Info("meeting the other members", "members", list)
	return i.meeting.Wait(ctx)
}

// serve recovers the shards and opens the door.
func (i *Instance) serve(saved membership.Saved) error {
	router, err := hotshard.NewRouter(saved.Shards-1, len(saved.List), saved.HotKeys)
	if err != nil {
		return err
	}
	m, err := metrics.New(metrics.Options{Node: saved.Node, Cluster: saved.Cluster, Version: i.opt.Version})
	if err != nil {
		return err
	}
	clk, err := clock.NewReal()
	if err != nil {
		return err
	}
	if err := i.transport.Start(tgrpc.Identity{Cluster: saved.Cluster, Node: saved.Node}, saved.Addresses()); err != nil {
		return err
	}
	i.hotMaps = rememberHotMaps(i.catalog.Catalog, i.opt.Log)
	i.node, err = node.Start(node.Options{ID: saved.Node, Router: router, Engine: i.store, Clock: clk, Transport: i.transport,
		Incarnations: i.catalog, HotMaps: i.hotMaps, Shard: shard.Config{CacheBytes: int(i.opt.CacheBytes), Pins: pinConfig(i.opt.History, i.opt.HistoryEvery), Heat: heatConfig(i.opt.Hot), Sharing: i.opt.Sharing}, Gateway: txn.Config{Order: i.opt.Order, Reads: i.opt.Reads, Plan: i.opt.Plan, NoSharing: bool(i.opt.Sharing.Combining)},
		Metrics: m, Log: i.opt.Log, OnFatal: i.fatal})
	if err != nil {
		return err
	}
	i.handler.Store(i.node)
	watch(m, i.node, i.store)
	watchPeers(m, i.transport)
	counted, err := countOperations(m)
	if err != nil {
		return err
	}
	i.lazy.ready.Store(&backend{operations: counted,
		node: i.node, router: router, id: saved.Node, cluster: saved.Cluster, version: i.opt.Version,
		addresses: func() map[kv.NodeID]string { s := i.meeting.Saved(); return s.Addresses() }, metrics: m})
	if i.web != nil {
		i.web.serve(m)
	}
	i.server.SetReady(true)
	i.opt.Log.Info("serving", "node", saved.Node, "cluster", saved.Cluster, "shards", saved.Shards, "order", i.opt.Order, "reads", i.opt.Reads)
	return nil
}

// fatal ends the process: what the disk holds is not known any more.
func (i *Instance) fatal(err error) {
	i.opt.Log.Error("the store has failed; the node ends so that nothing is lost that was acknowledged", "error", err)
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

// Node is the node itself.
func (i *Instance) Node() *node.Node { return i.node }

// Wait returns when ctx ends, or with the reason why the node must end.
func (i *Instance) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-i.meeting.Failed():
		return i.meeting.Err()
	case err := <-i.served:
		i.served <- err
		return err
	}
}

// Stop ends the node cleanly: nothing new is admitted, what is under way
// ends or is cut off when the drain's time is up, and what is durable is kept.
func (i *Instance) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), i.opt.DrainTimeout)
	defer cancel()
	var errs []error
	i.server.SetReady(false)
	if i.node != nil {
		if err := i.node.Gateway().Drain(ctx); err != nil {
			// What is cut off now loses nothing: it has not been answered, and
			// its client can ask for the outcome.
			i.opt.Log.Warn("the time to drain is up; what is under way is cut off",
				"transactions", i.node.Gateway().InFlight(), "of them open", i.node.Gateway().Open())
		}
	}
	stop, cancelStop := context.WithTimeout(ctx, time.Second)
	defer cancelStop()
	if err := i.server.GracefulStop(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		errs = append(errs, err)
	}
	errs = append(errs, i.release())
	return errors.Join(errs...)
}

// release gives up whatever has been started, in reverse.
func (i *Instance) release() error {
	var errs []error
	if i.server != nil {
		i.server.Stop()
	}
	if i.lis != nil {
		errs = append(errs, i.lis.Close())
	}
	if i.meeting != nil {
		i.meeting.Close()
	}
	if i.node != nil {
		i.node.Stop()
	} else if i.transport != nil {
		errs = append(errs, i.transport.Close())
	}
	if i.web != nil {
		errs = append(errs, i.web.close())
	}
	if i.store != nil {
		errs = append(errs, i.store.Close())
	}
	if i.hotMaps != nil {
		i.hotMaps.close()
	}
	if i.catalog != nil {
		errs = append(errs, i.catalog.Close())
	}
	return errors.Join(errs...)
}

// NodeID is the node's number in its cluster.
func (i *Instance) NodeID() kv.NodeID { return i.meeting.Saved().Node }
