package membership_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// catalog is a Store in memory.
type catalog struct {
	mu    sync.Mutex
	saved *membership.Saved
	// fail is returned by SaveMembership, if set.
	fail error
}

func (c *catalog) LoadMembership() (*membership.Saved, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved, nil
}

func (c *catalog) SaveMembership(s *membership.Saved) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail == nil {
		c.saved = s
	}
	return c.fail
}

// peer is a process: a server with a shell behind its Peer service.
type peer struct {
	peerpb.UnimplementedPeerServer
	*membership.Shell
	l      net.Listener
	server *grpc.Server
	served chan struct{}
}

func (p *peer) Meet(ctx context.Context, r *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
	return p.Shell.Meet(ctx, r)
}

func listen(t testing.TB, count int) (ls []net.Listener, addrs []string) {
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ls, addrs = append(ls, l), append(addrs, l.Addr().String())
	}
	return ls, addrs
}

func startPeer(t testing.TB, l net.Listener, o membership.Options) *peer {
	o.Address = l.Addr().String()
	o.EveryMin, o.EveryMax = time.Millisecond, 20*time.Millisecond
	s, err := membership.Start(o)
	require.NoError(t, err)
	p := &peer{Shell: s, l: l, server: grpc.NewServer(codec.ServerOption()), served: make(chan struct{})}
	peerpb.RegisterPeerServer(p.server, p)
	go func() {
		defer close(p.served)
		p.server.Serve(l)
	}()
	return p
}

func (p *peer) stop() {
	p.Shell.Close()
	p.server.Stop()
	<-p.served
}

func options(t testing.TB, addrs []string) membership.Options {
	list, err := membership.JoinList(addrs[0]+","+addrs[1]+","+addrs[2], addrs[0], false)
	require.NoError(t, err)
	return membership.Options{Config: membership.Config{List: list, Shards: 9}, Store: new(catalog)}
}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestThreeProcessesMeetRestartAndMove(t *testing.T) {
	ls, addrs := listen(t, 3)
	var peers []*peer
	var stores []*catalog
	for i, l := range ls {
		o := options(t, addrs)
		stores = append(stores, o.Store.(*catalog))
		peers = append(peers, startPeer(t, l, o))
		if i == 1 {
			short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			_, err := peers[0].Wait(short)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, "only two of three have met")
		}
	}
	var all []membership.Saved
	for _, p := range peers {
		s, err := p.Wait(soon(t))
		require.NoError(t, err)
		require.Equal(t, s.Addresses()[s.Node], p.l.Addr().String())
		all = append(all, s)
	}
	require.Equal(t, all[0].Cluster, all[1].Cluster)
	require.Equal(t, all[0].Cluster, all[2].Cluster)
	require.Len(t, all[0].Cluster, 16, "a random id")
	allSeen := func(i int) bool {
		for _, m := range peers[i].Saved().Members {
			if !m.Seen {
				return false
			}
		}
		return true
	}
	for i := range peers {
		require.Eventually(t, func() bool { return allSeen(i) }, 20*time.Second, time.Millisecond)
	}

	// The third node restarts at another address, which the others learn.
	peers[2].stop()
	moved, at := listen(t, 1)
	peers[2] = startPeer(t, moved[0], membership.Options{Store: stores[2],
		Config: membership.Config{List: at, Shards: 9}})
	for i := range 2 {
		require.Eventually(t, func() bool {
			return ptr(peers[i].Saved()).Addresses()[all[2].Node] == at[0]
		}, 20*time.Second, time.Millisecond)
	}
	for _, p := range peers {
		require.NoError(t, p.Err())
		p.stop()
	}
}

func TestProcessReturnsWithAnEmptyDisk(t *testing.T) {
	ls, addrs := listen(t, 3)
	with := func() membership.Options {
		o := options(t, addrs)
		o.Replicas = 3
		return o
	}
	var peers []*peer
	for _, l := range ls {
		peers = append(peers, startPeer(t, l, with()))
	}
	for _, p := range peers {
		_, err := p.Wait(soon(t))
		require.NoError(t, err)
	}
	peers[2].stop()
	l, err := net.Listen("tcp", addrs[2])
	require.NoError(t, err)
	peers[2] = startPeer(t, l, with())
	saved, err := peers[2].Wait(soon(t))
	require.NoError(t, err)
	require.NotZero(t, saved.Disk)
	for _, p := range peers {
		require.Eventually(t, func() bool {
			place, known := p.Place(saved.Node)
			return known && place == kv.PlaceOf(saved.Node, saved.Disk)
		}, 20*time.Second, time.Millisecond)
		require.NoError(t, p.Err())
	}
	_, known := peers[0].Place(4)
	require.False(t, known)
	for _, p := range peers {
		p.stop()
	}
}

func TestBothProcessesReportDifferentFlags(t *testing.T) {
	ls, addrs := listen(t, 3)
	ls[2].Close()
	a := startPeer(t, ls[0], options(t, addrs))
	o := options(t, addrs)
	o.Shards = 17
	b := startPeer(t, ls[1], o)
	for _, p := range []*peer{a, b} {
		_, err := p.Wait(soon(t))
		require.ErrorContains(t, err, "shards")
		require.ErrorContains(t, err, addrs[0])
		require.ErrorContains(t, err, addrs[1])
		<-p.Failed()
	}
	a.stop()
	b.stop()
}

func TestOnMovedIsCalled(t *testing.T) {
	saved := (&membership.Config{Address: "a:1", List: []string{"a:1", "b:1"}, Shards: 9}).Found("c")
	moved := map[kv.NodeID]string{}
	var log bytes.Buffer
	s, err := membership.Start(membership.Options{
		Config:  membership.Config{Address: "a:1", List: []string{"a:1"}, Shards: 9},
		Store:   &catalog{saved: &saved},
		OnMoved: func(id kv.NodeID, addr string) { moved[id] = addr },
		Log:     slog.New(slog.NewTextHandler(&log, nil)),
		Call: func(context.Context, string, *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
			return nil, errors.New("no node at this address")
		},
	})
	require.NoError(t, err)
	caller := peerpb.Introduction{Version: peerpb.Version, Cluster: "c", Node: 2, Address: "b:2",
		Members: []peerpb.Member{{Node: 2, Address: "b:2", Moves: 1}}}
	resp, err := s.Meet(context.Background(), &peerpb.MeetRequest{Caller: caller})
	require.NoError(t, err)
	require.Empty(t, resp.Refusal)
	s.Close()
	require.Equal(t, map[kv.NodeID]string{2: "b:2"}, moved)
	require.Contains(t, log.String(), "member address changed")
}

func TestUnsavedStateIsNotSent(t *testing.T) {
	errFull := errors.New("the disk is full")
	var sent []string
	var mu sync.Mutex
	list := []string{"a:1", "b:1"}
	b := peerpb.Introduction{Version: peerpb.Version, Address: "b:1", List: list, Shards: 9}
	s, err := membership.Start(membership.Options{
		Config: membership.Config{Address: "a:1", List: list, Shards: 9, NewID: "x"},
		Store:  &catalog{fail: errFull},
		Call: func(_ context.Context, addr string, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, req.Caller.Cluster)
			return &peerpb.MeetResponse{Called: b}, nil
		},
	})
	require.NoError(t, err)
	_, err = s.Wait(soon(t))
	require.ErrorIs(t, err, errFull)
	_, err = s.Meet(context.Background(), &peerpb.MeetRequest{Caller: b})
	require.ErrorIs(t, err, errFull)
	s.Close()
	require.Equal(t, []string{""}, sent)

	_, err = membership.Start(membership.Options{Store: &catalog{fail: errFull},
		Config: membership.Config{Address: "a:1", List: []string{"a:1"}, Shards: 9}})
	require.ErrorIs(t, err, errFull, "a cluster of one")
}

func TestCallErrorNamesAddress(t *testing.T) {
	ls, addrs := listen(t, 1)
	ls[0].Close()
	_, err := membership.Call(soon(t), addrs[0], &peerpb.MeetRequest{})
	require.ErrorContains(t, err, addrs[0])
	require.ErrorContains(t, err, "connection refused")
}

// full makes saving fail with an error, or succeed again.
func (c *catalog) full(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *catalog) marked() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved.Past.Count
}

// A store gets stamps while a node runs on it, and the other members receive them. An older copy is
// rejected at its start.
func TestOlderCopyOfStoreIsDetectedByProcesses(t *testing.T) {
	ls, addrs := listen(t, 3)
	var peers []*peer
	var stores []*catalog
	for _, l := range ls {
		o := options(t, addrs)
		o.StampEvery = 10 * time.Millisecond
		stores = append(stores, o.Store.(*catalog))
		peers = append(peers, startPeer(t, l, o))
	}
	for _, p := range peers {
		_, err := p.Wait(soon(t))
		require.NoError(t, err)
	}
	older := ptr(peers[2].Saved())
	known := func(i int) uint64 { return peers[i].Saved().Members[older.Node-1].StampCount }
	for i := range 2 {
		require.Eventually(t, func() bool { return known(i) > older.Past.Count }, 20*time.Second, time.Millisecond)
	}
	peers[2].stop()

	l, err := net.Listen("tcp", addrs[2])
	require.NoError(t, err)
	o := options(t, addrs)
	o.Store = &catalog{saved: older}
	copied := startPeer(t, l, o)
	_, err = copied.Wait(soon(t))
	require.ErrorContains(t, err, "its store is an older copy")
	copied.stop()

	// While the disk is full there are no stamps, but no node ends.
	for i := range 2 {
		require.NoError(t, peers[i].Err())
		stores[i].full(errors.New("the disk is full"))
	}
	had := stores[0].marked()
	l, err = net.Listen("tcp", addrs[2])
	require.NoError(t, err)
	o.Store, o.StampEvery = stores[2], 10*time.Millisecond
	peers[2] = startPeer(t, l, o)
	_, err = peers[2].Wait(soon(t))
	require.NoError(t, err)
	since := stores[2].marked()
	require.Eventually(t, func() bool { return known(0) > since+2 && known(1) > since+2 }, 20*time.Second,
		time.Millisecond)
	require.Equal(t, had, stores[0].marked())
	for i := range 2 {
		require.NoError(t, peers[i].Err())
		stores[i].full(nil)
	}
	require.Eventually(t, func() bool { return stores[0].marked() > had }, 20*time.Second, time.Millisecond)
	for _, p := range peers {
		require.NoError(t, p.Err())
		p.stop()
	}
}
