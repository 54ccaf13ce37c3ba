package client

import (
	"context"
	"iter"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// CallOption says how the transactions of a Handle read.
type CallOption func(*how)

// how is what options have said.
type how struct {
	at    *pb.At
	token []byte
	plan  pb.ReadPlan
	into  *Outcome
	once  bool
	// grace is CommitGrace, if hasGrace.
	grace    time.Duration
	hasGrace bool
}

// defaultCommitGrace is how long a call waits after the end of its context for the
// response to what was sent.
const defaultCommitGrace = 50 * time.Millisecond

func (h *how) commitGrace() time.Duration {
	if h == nil || !h.hasGrace {
		return defaultCommitGrace
	}
	return h.grace
}

// AtSnapshot reads the state of the store that a snapshot keeps, given by its
// name or by its id. Transactions that write are refused.
func AtSnapshot(snapshot string) CallOption {
	return func(h *how) { h.at = &pb.At{At: &pb.At_Snapshot{Snapshot: snapshot}} }
}

// AsOf reads the newest state of the store's history that is not younger than
// a time, by the clock of the hot shard's node. Transactions that write are
// refused. The answer names the state (Into), by which it can be read again:
// a little later there may be one that is nearer to a time just past.
func AsOf(t time.Time) CallOption {
	return func(h *how) { h.at = &pb.At{At: &pb.At_AsOfNs{AsOfNs: t.UnixNano()}} }
}

// After sees to it that what is read is not older than what a token tells of,
// whoever got it, from whatever node. In the present that is so without a
// token, for what had been answered before the call; then it guards against a
// cluster that has lost what it once told. A snapshot that is too old for it is
// refused.
func After(token []byte) CallOption { return func(h *how) { h.token = token } }

// ByPlan forces how a read-only transaction reads: pb.ReadPlan_PLAN_PARALLEL,
// PLAN_HOT_LAST or PLAN_SNAPSHOT. It is for measuring.
func ByPlan(p pb.ReadPlan) CallOption { return func(h *how) { h.plan = p } }

// Into has a Handle tell in o how its last call was answered: the token, the
// plan, the snapshot. It is for calls that return no Outcome, and is not for
// several goroutines.
func Into(o *Outcome) CallOption { return func(h *how) { h.into = o } }

// Once has Update and View run their function once, whatever WithRetries says: for a
// function that cannot be run again, as one in which somebody types. The error is that
// which would have led to another run.
func Once() CallOption { return func(h *how) { h.once = true } }

// CommitGrace bounds how long a call waits for the response to what it has sent when its
// context has ended: the request of Execute, or the commit of an Update. The default is
// 50 ms. A call without a response by then ends with kv.KindOutcomeUnknown if it writes.
func CommitGrace(d time.Duration) CallOption {
	return func(h *how) { h.grace, h.hasGrace = max(d, 0), true }
}

// Handle is a DB that reads in a particular way.
type Handle struct {
	db *DB
	h  how
}

// With makes a handle whose calls have the options. It costs nothing, and has
// nothing to be closed.
func (db *DB) With(opts ...CallOption) *Handle {
	x := &Handle{db: db}
	for _, o := range opts {
		o(&x.h)
	}
	return x
}

// Execute is DB.Execute with the handle's options.
func (x *Handle) Execute(ctx context.Context, ops ...Op) (*Outcome, error) {
	out, err := x.db.executeAs(ctx, &x.h, ops)
	if err == nil && x.h.into != nil {
		*x.h.into = *out
	}
	return out, err
}

// View is DB.View with the handle's options.
func (x *Handle) View(ctx context.Context, fn func(ro *ReadTx) error) error {
	return x.db.interact(ctx, true, &x.h, func(t *interaction) error { return fn(&ReadTx{t}) })
}

// Update is DB.Update with the handle's options.
func (x *Handle) Update(ctx context.Context, fn func(tx *Tx) error) error {
	return x.db.interact(ctx, false, &x.h, func(t *interaction) error { return fn(&Tx{ReadTx{t}}) })
}

// Scan is DB.Scan with the handle's options. What Into is told comes before
// the first pair.
func (x *Handle) Scan(ctx context.Context, start, end []byte, opts ScanOptions) iter.Seq2[Pair, error] {
	return x.db.scanAs(ctx, &x.h, start, end, opts)
}

// Snapshot is a state of the whole store that is kept.
type Snapshot struct {
	// ID names it for ever, Name until it expires; one of the history has no
	// name.
	ID, Name string
	// Time is when it was the present. All that was answered before is in it.
	Time time.Time
	// Expires is when one with a name is given up.
	Expires time.Time
	// Token is the state's.
	Token []byte
}

func snapshotOf(p *pb.Snapshot) *Snapshot {
	if p == nil {
		return nil
	}
	s := &Snapshot{ID: p.Id, Name: p.Name, Time: time.Unix(0, p.TimeNs), Token: p.CausalityToken}
	if p.ExpiresNs != 0 {
		s.Expires = time.Unix(0, p.ExpiresNs)
	}
	return s
}

// CreateSnapshot keeps the state of the store at one moment between the call
// and its return, for reads with AtSnapshot through any node. A ttl of 0 is a
// day; it is rounded up to milliseconds. A name that another snapshot has is an error of kv.KindConditionFailed; so
// may be that of a call whose first answer was lost.
func (db *DB) CreateSnapshot(ctx context.Context, name string, ttl time.Duration) (*Snapshot, error) {
	if ttl < 0 {
		return nil, errorf(kv.KindInvalid, nil, "a snapshot is to be kept for %v", ttl)
	}
	ms := uint64(ttl / time.Millisecond)
	if ttl%time.Millisecond > 0 { // 0 would be a day
		ms++
	}
	p, err := asking(db, ctx, func(ctx context.Context, s *session) (*pb.Snapshot, error) {
		return s.kv.CreateSnapshot(ctx, &pb.CreateSnapshotRequest{Name: name, TtlMs: ms})
	})
	return snapshotOf(p), err
}

// Snapshots lists the snapshots that have a name, oldest first.
func (db *DB) Snapshots(ctx context.Context) ([]Snapshot, error) {
	l, err := asking(db, ctx, func(ctx context.Context, s *session) (*pb.ListSnapshotsResponse, error) {
		return s.kv.ListSnapshots(ctx, &pb.ListSnapshotsRequest{})
	})
	if err != nil {
		return nil, err
	}
	out := make([]Snapshot, len(l.Snapshots))
	for i := range l.Snapshots {
		out[i] = *snapshotOf(&l.Snapshots[i])
	}
	return out, nil
}

// DropSnapshot gives a snapshot up, by its name or its id, and tells what it
// was.
func (db *DB) DropSnapshot(ctx context.Context, snapshot string) (*Snapshot, error) {
	p, err := asking(db, ctx, func(ctx context.Context, s *session) (*pb.Snapshot, error) {
		return s.kv.DropSnapshot(ctx, &pb.DropSnapshotRequest{Snapshot: snapshot})
	})
	return snapshotOf(p), err
}
