package past

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Reads are a shard's reads in the past that are under way.
type Reads struct {
	*step.Env
	store     *store.Store
	heat      *contention.Part
	expiry    *expiry.Deadlines
	snapshots *Snapshots
	// under are those without an answer, by reader and number, and scans the pages that are being read.
	under map[kv.TxnRef]map[uint32]*read
	scans map[kv.TxnRef]pageRead
	count uint64
}

// NewReads makes them.
func NewReads(e *step.Env, s *store.Store, h *contention.Part, x *expiry.Deadlines, snapshots *Snapshots) *Reads {
	return &Reads{Env: e, store: s, heat: h, expiry: x, snapshots: snapshots,
		under: map[kv.TxnRef]map[uint32]*read{}, scans: map[kv.TxnRef]pageRead{}}
}

// Len is how many are under way, Count how many were answered.
func (r *Reads) Len() int      { return len(r.under) }
func (r *Reads) Count() uint64 { return r.count }

// OnLeave drops the reads of a reader that has ended.
func (r *Reads) OnLeave(reader kv.TxnRef) {
	for _, p := range r.under[reader] {
		p.drop()
	}
}

// read reads what was visible at a snapshot, or at an index that is kept for a reader. It is registered
// nowhere and holds nobody: what is in the past stays as it was. It is what its operations see
// (mvcc.View).
type read struct {
	r *Reads
	q *msg.Read
	// pins are items in memory whose values it uses, so that the cache counts what it
	// has decoded and read of them.
	pins    []*mvcc.Item
	values  map[string]entry.Value
	rows    map[uint32]mvcc.RangeRows
	scans   exec.Scans
	missing int
	err     error
	// asked are the reads of the log that it has asked for.
	asked []uint64
	over  bool
}

// Is reports whether a read is of the past.
func Is(q *msg.Read) bool { return q.Pin != 0 || !q.Kept.IsZero() }

// OnRead begins a read in the past. A repeat that comes while it is under way is dropped; one that comes
// later reads the same again.
func (r *Reads) OnRead(q *msg.Read) {
	if r.under[q.Reader][q.Number] != nil {
		return
	}
	ok, f := r.keeps(q)
	if !ok && f == nil {
		return // it will be repeated
	}
	p := &read{r: r, q: q, values: map[string]entry.Value{}, rows: map[uint32]mvcc.RangeRows{}}
	if f != nil {
		p.refuse(f)
		return
	}
	if r.under[q.Reader] == nil {
		r.under[q.Reader] = map[uint32]*read{}
	}
	r.under[q.Reader][q.Number] = p
	p.missing = 1
	for i := range q.Ops {
		p.ask(&q.Ops[i])
	}
	p.scans.Begin()
	p.arrived(nil)
}

// keeps reports whether the state of a read is kept, or why not; neither if that is not known.
func (r *Reads) keeps(q *msg.Read) (bool, *msg.Failure) {
	if q.Pin != 0 {
		return r.snapshots.Readable(q.Pin, q.Index)
	}
	if r.Mutants.Has(mutant.StateOfAnyIncarnation) {
		return true, nil
	}
	k := r.store.Kept().Of(q.Kept)
	if k == nil || k.Index != q.Index || q.Incarnation != r.Inc {
		return false, msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "a shard no longer keeps the state that the transaction reads")
	}
	// That its gateway reads at the state shows that it is complete.
	r.store.Kept().Keep(q.Kept, k.Index, int64(kv.DefaultScanKeep))
	return true, nil
}

// ask looks up what an operation sees, in memory if nothing newer has become visible, in the log
// otherwise.
func (p *read) ask(op *msg.Op) {
	span := op.Span()
	if !span.IsPoint() {
		if !span.IsEmpty() {
			p.askRange(op)
		}
		return
	}
	_, asked := p.values[string(op.Key)]
	if asked {
		return
	}
	it := p.r.store.Get(op.Key)
	if it != nil && it.Loaded && it.Index <= p.q.Index {
		p.pins = append(p.pins, p.r.store.Pin(op.Key))
		adt.Remember(&it.Value)
		p.values[string(op.Key)] = it.Value
		return
	}
	p.values[string(op.Key)] = entry.Value{}
	p.missing++
	p.readAt(entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: op.Key},
		func(res *entry.ReadResult) {
			f, err := p.r.store.Found(res)
			p.values[string(op.Key)] = f.Value
			p.arrived(err)
		})
}

// readAt reads the log at the read's index, for its user.
func (p *read) readAt(q entry.Read, then func(*entry.ReadResult)) {
	q.Index, q.User = p.q.Index, p.q.User
	p.asked = append(p.asked, p.r.store.ReadAt(q, then))
}

func (p *read) askRange(op *msg.Op) {
	p.missing++
	q := entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: op.Span(), Reverse: op.Reverse,
		Limit: mvcc.ScanLimit(op), LimitBytes: exec.ScanBytes}
	p.scans.Add(func() { p.readAt(q, func(res *entry.ReadResult) { p.scanned(op.Seq, res) }) })
}

// scanned takes the rows of a range.
func (p *read) scanned(seq uint32, res *entry.ReadResult) {
	rows, err := store.RangeRows(res)
	dropped, large := p.scans.Arrived(res)
	p.missing -= dropped
	if large != nil {
		err, p.rows = large, map[uint32]mvcc.RangeRows{}
	} else {
		p.rows[seq] = rows
	}
	p.arrived(err)
}

// arrived: one thing less is missing.
func (p *read) arrived(err error) {
	if err != nil {
		p.err = err
	}
	p.missing--
	if p.missing == 0 && !p.over {
		p.complete()
	}
}

// complete answers, unless pages turn out to be absent.
func (p *read) complete() {
	if p.err != nil {
		p.end()
		p.refuse(msg.FailureOf(p.err))
		return
	}
	x := mvcc.Exec(p, p.q.Ops, func(kv.Version) kv.Version { return kv.Version{} })
	if len(x.Absent) > 0 {
		p.fill(x.Absent)
		return
	}
	p.end()
	f := x.Failure
	if f == nil {
		f = msg.ReplyTooLarge(x.Results)
	}
	if f != nil {
		p.refuse(f)
		return
	}
	p.r.count++
	p.reply().Results = x.Results
}

// fill asks for the pages that a read lacks, as of its own index.
func (p *read) fill(absent []mvcc.Absent) {
	for _, a := range absent {
		for _, page := range a.Pages {
			if !page.Filled() {
				p.missing++
				p.r.store.ReadPage(a.Key, page, entry.Read{Index: p.q.Index, User: p.q.User}, p.arrived)
			}
		}
	}
}

// drop ends a read of which no answer is awaited any more.
func (p *read) drop() {
	for _, id := range p.asked {
		p.r.store.Drop(id)
	}
	p.end()
}

// end gives back what a read has held.
func (p *read) end() {
	p.over = true
	of := p.r.under[p.q.Reader]
	delete(of, p.q.Number)
	if len(of) == 0 {
		delete(p.r.under, p.q.Reader)
	}
	for _, it := range p.pins {
		p.r.store.Unpin(it)
	}
}

// reply sends an answer, which its caller fills in.
func (p *read) reply() *msg.ReadResponse {
	r := &msg.ReadResponse{Reader: p.q.Reader, Number: p.q.Number, Index: p.q.Index,
		Reading: msg.Reading{Shard: p.r.ID, Incarnation: p.r.Inc, Number: p.r.NextReading()}}
	m := msg.ToGateway(p.q.Gateway)
	m.Body = r
	if !p.q.Kept.IsZero() && p.r.Mutants.Has(mutant.StateReadBeforeDurable) {
		p.r.Urgent(m)
		return r
	}
	p.r.Send(m)
	return r
}

func (p *read) refuse(f *msg.Failure) { p.reply().Failure = f }

func (p *read) Value(key []byte) (entry.Value, error) {
	v := p.values[string(key)]
	to, moved := v.MovedTo()
	if moved {
		return v, mvcc.Elsewhere{Shard: to}
	}
	home := p.r.heat.Home(key)
	if home != p.r.ID && !v.Exists() && !p.marked(key) {
		return v, mvcc.Elsewhere{Shard: home}
	}
	return v, nil
}

// marked reports whether the key's home has said that it lived here. Otherwise
// a key of which nothing is known here, or that was gone, may have been there.
func (p *read) marked(key []byte) bool {
	return slices.ContainsFunc(p.q.Ops, func(op msg.Op) bool { return op.Marked && bytes.Equal(op.Key, key) })
}

// Pending: nothing is undecided in the past.
func (p *read) Pending([]byte) (low, high int64) { return 0, 0 }

// Clock is that of the present: what has expired since is shown with nothing left.
func (p *read) Clock() int64 { return p.r.expiry.Clock() }

// Calls see the value alone.
func (p *read) Calls() *mvcc.Calls { return &mvcc.Calls{Txn: p.q.Reader} }

func (p *read) Rows(seq uint32) mvcc.RangeRows { return p.rows[seq] }
