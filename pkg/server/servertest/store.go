// Package servertest has a backend for tests of the edge and of clients: a
// whole store in one map. It keeps the semantics of linchpin's operations, and
// serializes all transactions by one lock.
package servertest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Store is a server.Backend in memory.
type Store struct {
	// turn has a token while no transaction runs. Its holder owns data and writes.
	turn   chan struct{}
	data   map[string]entry.Value
	writes uint64
	// snapshots are those that exist; snapshotCount counts all that were created.
	snapshots     []*snapshot
	snapshotCount uint64

	mu sync.Mutex
	// outcomes are those of ended transactions; a fenced id is there with
	// Committed false.
	outcomes map[kv.TxnID]gateway.Outcome
	// hotMode and hotRules are the operator's.
	hotMode  uint32
	hotRules []msg.HotRule
	// activity is what a test has set.
	activity server.Activity
	// holder runs now, and holderKey is the first key it touched.
	holder    kv.TxnRef
	holderKey []byte
	open      int
	waiting   int
	began     time.Time
	// shard is as of the last commit.
	shard pb.ShardStatus
	// node is the number of its node, leader that of the one which leads its shard.
	node, leader atomic.Uint32
}

var _ server.Backend = (*Store)(nil)

// New makes an empty store.
func New() *Store {
	s := &Store{turn: make(chan struct{}, 1), data: make(map[string]entry.Value), began: time.Now(),
		shard:    pb.ShardStatus{NodeId: 1, Up: true, Incarnation: 1},
		outcomes: make(map[kv.TxnID]gateway.Outcome)}
	s.node.Store(1)
	s.turn <- struct{}{}
	return s
}

// Now is nanoseconds since 1970.
func (*Store) Now() int64 { return time.Now().UnixNano() }

// NewID makes an id by the time of day.
func (*Store) NewID() kv.TxnID { return kv.TxnID{Time: time.Now().UnixNano(), Rand: rand.Uint64()} }

// Submit runs a transaction on the caller's goroutine if the store is free.
func (s *Store) Submit(req gateway.Request, done func(gateway.Response)) {
	select {
	case <-s.turn:
		done(s.run(req, msg.Receipt{}))
	default:
		go s.wait(req, done)
	}
}

func (s *Store) wait(req gateway.Request, done func(gateway.Response)) {
	until := req.Deadline
	if until.IsZero() {
		until = time.Now().Add(kv.MaxTxnAge)
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	r, err := s.acquire(ctx)
	if err != nil {
		done(gateway.Response{ID: req.ID, Attempts: 1, Contention: txn.Contention{Receipt: r},
			Err: kv.Errorf(kv.KindDeadlineExceeded, "the deadline has passed while waiting for the store")})
		return
	}
	done(s.run(req, r))
}

// acquire waits for the store and returns a receipt of the wait.
func (s *Store) acquire(ctx context.Context) (msg.Receipt, error) {
	select {
	case <-s.turn:
		return msg.Receipt{}, nil
	default:
	}
	s.mu.Lock()
	r := msg.Receipt{Key: s.holderKey, Holder: s.holder, Cause: msg.CauseLock, Mode: uint64(adt.ModeWrite),
		HolderMode: uint64(adt.ModeWrite)}
	s.waiting++
	s.mu.Unlock()
	start := time.Now()
	var err error
	select {
	case <-s.turn:
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.WaitedNanos = max(1000, int64(time.Since(start)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	return r, err
}

// run has the turn and passes it on.
func (s *Store) run(req gateway.Request, r msg.Receipt) gateway.Response {
	tx := s.enter(gateway.TxOptions{ID: req.ID, Attempt: 1}, r)
	err := tx.look(req.How)
	if err == nil {
		err = s.allowed(req.ID)
	}
	if err != nil {
		tx.Rollback()
		return gateway.Response{ID: req.ID, Attempts: 1, Err: err}
	}
	for i := range req.Ops {
		if err := tx.op(&req.Ops[i]); err != nil {
			resp := gateway.Response{ID: req.ID, Attempts: 1, Contention: txn.Contention{Receipt: r}, Err: err}
			if err.Kind == kv.KindConditionFailed {
				resp.Current = tx.current(req.Ops[i].Key)
			}
			tx.Rollback()
			return resp
		}
	}
	return tx.Commit(context.Background())
}

// allowed refuses ids that have ended already.
func (s *Store) allowed(id kv.TxnID) *kv.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ended := s.outcomes[id]; ended {
		return kv.Errorf(kv.KindAborted, "transaction %v has ended already", id)
	}
	return nil
}

func (s *Store) enter(o gateway.TxOptions, r msg.Receipt) *tx {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder, s.holderKey = kv.TxnRef{TxnID: o.ID, Attempt: o.Attempt}, nil
	s.open++
	return &tx{store: s, data: s.data, o: o, receipt: r, written: make(map[string]entry.Value)}
}

func (s *Store) leave() {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
	s.turn <- struct{}{}
}

// Open counts the transactions that have begun and not ended: 0 or 1.
func (s *Store) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Waiting counts those who wait for the store.
func (s *Store) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Begin waits for the store.
func (s *Store) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	if err := s.allowed(o.ID); err != nil {
		return nil, err
	}
	r, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.enter(o, r)
	if err := tx.look(o.How); err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// Scan copies the span at one moment, and passes it in pages of 7 pairs.
func (s *Store) Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error {
	if _, err := s.acquire(ctx); err != nil {
		return err
	}
	tx := s.enter(gateway.TxOptions{Attempt: 1, ReadOnly: true}, msg.Receipt{})
	kerr := tx.look(o.How)
	ps := tx.span(o.Span)
	if o.Reverse {
		slices.Reverse(ps)
	}
	if o.Limit > 0 {
		ps = ps[:min(o.Limit, len(ps))]
	}
	tx.Rollback()
	if kerr != nil {
		return kerr
	}
	if o.Opened != nil {
		if err := o.Opened(gateway.Opened{At: []msg.ShardCSN{{CSN: s.csn()}}, Snapshot: tx.snapshot}); err != nil {
			return err
		}
	}
	for ps := range slices.Chunk(ps, 7) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := page(ps); err != nil {
			return err
		}
	}
	return nil
}

// TooOld is the time of ids of which the store remembers nothing any more.
const TooOld = 1 << 40

// Outcome fences an id that has not committed.
func (s *Store) Outcome(_ context.Context, id kv.TxnID, _ kv.Account) (gateway.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.outcomes[id]
	if !ok {
		if id.Time == TooOld {
			return o, kv.Errorf(kv.KindTooOld, "transaction %v is older than what is remembered", id)
		}
		o.ID = id
		s.outcomes[id] = o
	}
	return o, nil
}

// Identity is that of a cluster of one node.
func (s *Store) Identity() *pb.StatusResponse {
	return &pb.StatusResponse{NodeId: s.node.Load(), ClusterId: "servertest", Version: "test", Shards: 2}
}

// Status is that of a cluster of one node.
func (s *Store) Status() *pb.StatusResponse {
	st := s.Identity()
	st.UptimeMs, st.Ready = uint64(time.Since(s.began).Milliseconds()), true
	st.Members = []pb.Member{{NodeId: 1, Address: "127.0.0.1:7070", Up: true, Self: true}}
	return st
}

// SetNodes sets the number of the node, which is 1 otherwise, and of the node that leads the shard, 0 for none.
func (s *Store) SetNodes(node, leader kv.NodeID) {
	s.node.Store(uint32(node))
	s.leader.Store(uint32(leader))
}

// Leader returns what SetNodes has set.
func (s *Store) Leader(kv.ShardID) kv.NodeID { return kv.NodeID(s.leader.Load()) }

// Shards returns the one shard.
func (s *Store) Shards() []pb.ShardStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []pb.ShardStatus{s.shard}
}

// HotKeys returns none.
func (*Store) HotKeys(int) []hotshard.KeyHeat { return nil }

// String gives everything that is stored, for messages of failed tests.
func (s *Store) String() string {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	var b bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(s.data)) {
		v := s.data[k]
		fmt.Fprintf(&b, "%q %s %v %q\n", k, adt.TypeName(v.Type), v.Version, v.Payload)
	}
	return b.String()
}
