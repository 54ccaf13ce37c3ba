package client

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Snapshot is a state of the whole store, of the past: all its reads are of that state, through any
// node, and never block a writer. Any number of goroutines may use it. There is nothing to close.
type Snapshot struct {
	db *DB
	// first has an element while a read selects the state.
	first chan struct{}

	mu   sync.Mutex
	info SnapshotInfo
	// at is what the reads name. It is final once the state has been selected.
	at    *pb.At
	final bool
}

// SnapshotInfo describes a state of the past.
type SnapshotInfo struct {
	// ID identifies the state for ever. Name is that of a named snapshot until it expires or is
	// dropped, empty for a state of the history.
	ID, Name string
	// Time is when the state was the present one, by the clock of the hot shard's node: everything
	// that was acknowledged before is in it.
	Time time.Time
	// Expires is when a named snapshot expires; zero for a state of the history, which is kept for
	// ten minutes unless the nodes were started with another time.
	Expires time.Time
	// Token stands for the state; see After.
	Token CausalityToken
}

// SnapshotOption is an option of [DB.CreateSnapshot]: [TTL].
type SnapshotOption interface {
	snapshot(*pb.CreateSnapshotRequest) error
}

func (t TTLOption) snapshot(r *pb.CreateSnapshotRequest) error {
	if t <= 0 {
		return errorf(KindInvalid, nil, "the time to live of the snapshot is %v", time.Duration(t))
	}
	r.TtlMs = uint64((time.Duration(t) + time.Millisecond - 1) / time.Millisecond)
	return nil
}

func snapshotInfo(p *pb.Snapshot) SnapshotInfo {
	if p == nil {
		return SnapshotInfo{}
	}
	s := SnapshotInfo{ID: p.Id, Name: p.Name, Time: time.Unix(0, p.TimeNs), Token: p.CausalityToken}
	if p.ExpiresNs != 0 {
		s.Expires = time.Unix(0, p.ExpiresNs)
	}
	return s
}

// CreateSnapshot keeps the state of the store at one moment between the call and its return. A name
// has 1 to 200 printable bytes, without space and @. Without [TTL] the snapshot is kept for a day; 90
// days are the longest. A name that another snapshot has is an error of [KindConditionFailed]; so may
// be that of a call whose first response was lost.
func (db *DB) CreateSnapshot(ctx context.Context, name string, opts ...SnapshotOption) (*Snapshot, error) {
	req := &pb.CreateSnapshotRequest{Name: name}
	for _, o := range opts {
		if err := o.snapshot(req); err != nil {
			return nil, err
		}
	}
	p, err := change(ctx, db, func(ctx context.Context, s *link.Session) (*pb.Snapshot, error) {
		return s.KV.CreateSnapshot(ctx, req)
	})
	if err != nil {
		return nil, err
	}
	s := db.AtSnapshot(p.Id)
	s.info, s.final = snapshotInfo(p), true
	return s, nil
}

// Snapshots lists the named snapshots, the oldest first.
func (db *DB) Snapshots(ctx context.Context) ([]SnapshotInfo, error) {
	l, err := ask(ctx, db, func(ctx context.Context, s *link.Session) (*pb.ListSnapshotsResponse, error) {
		return s.KV.ListSnapshots(ctx, &pb.ListSnapshotsRequest{})
	})
	if err != nil {
		return nil, err
	}
	out := make([]SnapshotInfo, len(l.Snapshots))
	for i := range l.Snapshots {
		out[i] = snapshotInfo(&l.Snapshots[i])
	}
	return out, nil
}

// DropSnapshot drops a named snapshot, by its name or id. If there is none, the error is of
// [KindNotFound], or of [KindTooOld] if the id is that of a snapshot that there was.
func (db *DB) DropSnapshot(ctx context.Context, nameOrID string) error {
	_, err := db.dropSnapshot(ctx, nameOrID)
	return err
}

func (db *DB) dropSnapshot(ctx context.Context, nameOrID string) (*pb.Snapshot, error) {
	return change(ctx, db, func(ctx context.Context, s *link.Session) (*pb.Snapshot, error) {
		return s.KV.DropSnapshot(ctx, &pb.DropSnapshotRequest{Snapshot: nameOrID})
	})
}

// request is a unary call on a connection.
type request[A any] = func(context.Context, *link.Session) (A, error)

// ask makes a call that reads, until there is a response, or no point in another attempt.
func ask[A any](ctx context.Context, db *DB, call request[A]) (A, error) {
	return send(ctx, db, link.Ask[A], call)
}

// change is ask for a call that changes something.
func change[A any](ctx context.Context, db *DB, call request[A]) (A, error) {
	return send(ctx, db, link.Change[A], call)
}

func send[A any](ctx context.Context, db *DB, attempts func(*link.Call, request[A]) (A, *link.Error),
	call request[A]) (A, error) {
	if err := db.inAttempt(ctx); err != nil {
		return *new(A), err
	}
	c := db.call(ctx)
	defer c.End()
	answer, failed := attempts(&c, call)
	return answer, orNil(errorOf(failed))
}

// AtSnapshot returns the state of a snapshot, by its name or id. It sends nothing; if there is no
// such snapshot, the reads return an error of [KindNotFound], or of [KindTooOld] if the id is that of a
// snapshot that there was.
func (db *DB) AtSnapshot(nameOrID string) *Snapshot {
	info := SnapshotInfo{Name: nameOrID}
	if len(nameOrID) > 0 && nameOrID[0] == '@' {
		info = SnapshotInfo{ID: nameOrID}
	}
	return db.snapshot(&pb.At{At: &pb.At_Snapshot{Snapshot: nameOrID}}, info)
}

// AsOf returns the state of the store at a time: the newest one of the history, which has one a second,
// that is not younger. It sends nothing: the first read selects the state for all reads. Before the
// history, ten minutes ago, its reads return an error of [KindTooOld].
func (db *DB) AsOf(t time.Time) *Snapshot {
	return db.snapshot(&pb.At{At: &pb.At_AsOfNs{AsOfNs: t.UnixNano()}}, SnapshotInfo{Time: t})
}

func (db *DB) snapshot(at *pb.At, info SnapshotInfo) *Snapshot {
	return &Snapshot{db: db, first: make(chan struct{}, 1), info: info, at: at}
}

// Info returns what is known of the state: all of it after the first read and for a snapshot that was
// created by this client; before that only what AtSnapshot or AsOf was called with.
func (s *Snapshot) Info() SnapshotInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// named returns what a read names, and whether that is final.
func (s *Snapshot) named() (*pb.At, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at, s.final
}

// state returns what a read names. While the state is not selected, one read at a time does that, and
// done ends it, with the state that was read or with nil.
func (s *Snapshot) state(ctx context.Context) (at *pb.At, done func(*pb.Snapshot), err error) {
	at, final := s.named()
	if final {
		return at, func(*pb.Snapshot) {}, nil
	}
	select {
	case s.first <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, errorOf(link.ContextError(ctx, "before anything was sent"))
	}
	at, _ = s.named()
	var once sync.Once
	return at, func(p *pb.Snapshot) {
		once.Do(func() {
			s.selected(p)
			<-s.first
		})
	}, nil
}

// selected notes the state that was read, if there was one.
func (s *Snapshot) selected(p *pb.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p == nil || s.final {
		return
	}
	s.info, s.at, s.final = snapshotInfo(p), &pb.At{At: &pb.At_Snapshot{Snapshot: p.Id}}, true
}

// Execute implements [Reader]. An operation that writes is an error of [KindInvalid].
func (s *Snapshot) Execute(ctx context.Context, ops ...Op) error {
	return s.execute(ctx, "Execute", ops, false)
}

func (s *Snapshot) run(ctx context.Context, op Op) error {
	return s.execute(ctx, "", []Op{op}, true)
}

func (s *Snapshot) execute(ctx context.Context, call string, ops []Op, alone bool) error {
	for i, op := range ops {
		if op == nil || !op.part().writes() {
			continue
		}
		reset(ops)
		e := errorf(KindInvalid, nil, "a transaction that writes cannot read at a snapshot or in the past")
		e.Op, e.Hint = i, "read at the snapshot in one transaction and write in another"
		e.inArguments(ops)
		return e
	}
	at, done, err := s.state(ctx)
	if err != nil {
		return err
	}
	defer done(nil)
	db := *s.db
	db.how.at, db.how.opened = at, done
	return db.transact(ctx, call, ops, alone)
}

// Get implements [Reader].
func (s *Snapshot) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	op := GetOp(key)
	err = s.execute(ctx, "Get", []Op{op}, true)
	return op.value, op.found, err
}

// Entry implements [Reader].
func (s *Snapshot) Entry(ctx context.Context, key string) (e Entry, ok bool, err error) {
	op := EntryOp(key)
	err = s.execute(ctx, "Entry", []Op{op}, true)
	return op.value, op.found, err
}

// Scan implements [Reader]. If the connection is lost, it continues where it was.
func (s *Snapshot) Scan(ctx context.Context, r Range, opts ...ScanOption) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { s.db.scanning(ctx, s.state, r, opts, yield) }
}
