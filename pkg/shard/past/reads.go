package past

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Reads are the reads of past states in execution on a shard.
//
// They hold nothing on the shard but the retention of their CSN: no lock, no registration, and no place in a queue.
type Reads struct {
	*step.Env
	store     *store.Store
	heat      *contention.Part
	expiry    *expiry.Deadlines
	snapshots *Snapshots
	// inFlight are the reads without a response, by reader and number. pages are the page reads of scans.
	inFlight map[kv.TxnRef]map[uint32]*read
	pages    map[kv.TxnRef]pageRead
	count    uint64
}

// NewReads returns the reads of a shard.
func NewReads(e *step.Env, s *store.Store, h *contention.Part, x *expiry.Deadlines, snapshots *Snapshots) *Reads {
	return &Reads{Env: e, store: s, heat: h, expiry: x, snapshots: snapshots,
		inFlight: map[kv.TxnRef]map[uint32]*read{}, pages: map[kv.TxnRef]pageRead{}}
}

// Len is the number of readers with reads in execution, Count the number of responses.
func (r *Reads) Len() int      { return len(r.inFlight) }
func (r *Reads) Count() uint64 { return r.count }

// OnDeregister cancels the reads of a reader that has ended.
//
// A read of the log is the only thing that such a reader has here: it is registered nowhere.
func (r *Reads) OnDeregister(reader kv.TxnRef) {
	for _, p := range r.inFlight[reader] {
		p.cancel()
	}
}

// read reads what was visible at a snapshot, or at a CSN that is retained for a reader. It registers nowhere
// and blocks nothing, since past states do not change.
type read struct {
	r *Reads
	state
	// references are items in memory whose values it uses, so that the cache accounts for what it decodes of
	// them.
	references []*mvcc.Item
	scans      exec.Scans
	missing    int
	err        error
	// logReads are the numbers of its reads of the log.
	logReads []uint64
	ended    bool
}

// IsPast reports whether a request reads a past state.
//
// Either a retained snapshot is named, or a round whose CSN the shard retains.
func IsPast(q *msg.Read) bool { return q.SnapshotNumber != 0 || !q.Round.IsZero() }

// OnRead starts a read. A retry is ignored while the read is in execution; later it reads the same again.
//
// The same read gives the same result, whenever it is executed: nothing below a retained CSN changes. So no
// response is stored for retries.
func (r *Reads) OnRead(q *msg.Read) {
	// A retry of a read in execution.
	if r.inFlight[q.Reader][q.Number] != nil {
		return
	}
	ok, f := r.isRetained(q)
	if !ok && f == nil {
		return // the gateway retries
	}
	p := &read{r: r, state: newState(r.ID, q, r.heat.Home, r.expiry.Clock)}
	if f != nil {
		p.fail(f)
		return
	}
	if r.inFlight[q.Reader] == nil {
		r.inFlight[q.Reader] = map[uint32]*read{}
	}
	r.inFlight[q.Reader][q.Number] = p
	// One for this loop, so that the read does not complete before all operations are fetched.
	p.missing = 1
	for i := range q.Ops {
		p.fetch(&q.Ops[i])
	}
	p.scans.Begin()
	p.onFetched(nil)
}

// isRetained reports whether the state of a read is retained, or why not; neither if that is unknown.
//
// A CSN that a round has fixed is retained for a minute after the last read at it, in this incarnation. After a
// restart the state at the CSN may be another one: transactions that were not durable are lost.
func (r *Reads) isRetained(q *msg.Read) (bool, *msg.Failure) {
	if q.SnapshotNumber != 0 {
		return r.snapshots.Readable(q.SnapshotNumber, q.CSN)
	}
	if !r.isFixed(q) {
		return false, msg.Fail(msg.ReasonIncarnation, kv.KindAborted,
			"a shard no longer keeps the state that the transaction reads")
	}
	// A read at the state proves that the round is complete.
	r.store.Retention().Retain(q.Round, q.CSN, int64(kv.DefaultScanRetention))
	return true, nil
}

// fetch obtains what an operation reads: from memory if the newest value was visible at the CSN, else from
// the log.
//
//	k in memory, visible since CSN 5; read at 7    from memory
//	k in memory, visible since CSN 9; read at 7    from the log: the older version
//	k not in memory                                from the log
//
// Undecided writes of k do not matter: their CSN will be above 7.
func (p *read) fetch(op *msg.Op) {
	span := op.Span()
	if !span.IsPoint() {
		if !span.IsEmpty() {
			p.fetchRange(op)
		}
		return
	}
	_, fetched := p.values[string(op.Key)]
	if fetched {
		return
	}
	it := p.r.store.Get(op.Key)
	// The newest version was visible at the CSN already, and is in memory.
	if it != nil && it.Loaded && it.CSN <= p.q.CSN {
		p.references = append(p.references, p.r.store.Reference(op.Key))
		adt.CacheState(&it.Value)
		p.values[string(op.Key)] = it.Value
		return
	}
	// The entry shows that the key is requested; several operations may read it.
	p.values[string(op.Key)] = entry.Value{}
	p.missing++
	p.readAt(entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: op.Key},
		func(res *entry.ReadResult) {
			f, err := p.r.store.Found(res)
			p.values[string(op.Key)] = f.Value
			p.onFetched(err)
		})
}

// readAt reads the log at the CSN of the read, on behalf of its user.
//
// The store retains the CSN while the read is in flight, even if the snapshot is dropped meanwhile.
func (p *read) readAt(q entry.Read, then func(*entry.ReadResult)) {
	q.CSN, q.User = p.q.CSN, p.q.User
	p.logReads = append(p.logReads, p.r.store.ReadAt(q, then))
}

// fetchRange queues the scan of a range.
func (p *read) fetchRange(op *msg.Op) {
	p.missing++
	p.scans.Add(func() { p.readAt(rangeOf(op), func(res *entry.ReadResult) { p.onRange(op.Seq, res) }) })
}

// onRange stores the rows of a range.
func (p *read) onRange(seq uint32, res *entry.ReadResult) {
	rows, err := store.RangeRows(res)
	dropped, large := p.scans.OnResult(res)
	p.missing -= dropped
	// Partial rows must not be executed.
	if large != nil {
		err, p.rows = large, map[uint32]mvcc.RangeRows{}
	} else {
		p.rows[seq] = rows
	}
	p.onFetched(err)
}

// onFetched counts a result that has arrived.
func (p *read) onFetched(err error) {
	if err != nil {
		p.err = err
	}
	p.missing--
	// The read may have been cancelled while its results were in flight.
	if p.missing == 0 && !p.ended {
		p.complete()
	}
}

// complete executes the operations and responds. If pages are absent, it reads them first, and executes again: an
// operation that finds a page may need another one.
func (p *read) complete() {
	if p.err != nil {
		p.end()
		p.fail(msg.FailureOf(p.err))
		return
	}
	x := p.execute()
	if len(x.Absent) > 0 {
		p.fetchPages(x.Absent)
		return
	}
	p.end()
	reply := p.reply()
	reply.Results, reply.Failure = outcomeOf(&x)
	if reply.Failure == nil {
		p.r.count++
	}
}

// fetchPages reads absent pages as of the CSN of the read.
//
// The value was decoded at the CSN of the read, so its pages are those of that time, which are retained with it.
func (p *read) fetchPages(absent []mvcc.AbsentPages) {
	for _, a := range absent {
		for _, page := range a.Pages {
			if !page.Filled() {
				p.missing++
				p.r.store.ReadPage(a.Key, page, entry.Read{CSN: p.q.CSN, User: p.q.User}, p.onFetched)
			}
		}
	}
}

// cancel ends a read whose response is not needed any more.
func (p *read) cancel() {
	for _, id := range p.logReads {
		p.r.store.Drop(id)
	}
	p.end()
}

// end releases the references of a read.
func (p *read) end() {
	p.ended = true
	of := p.r.inFlight[p.q.Reader]
	delete(of, p.q.Number)
	if len(of) == 0 {
		delete(p.r.inFlight, p.q.Reader)
	}
	for _, it := range p.references {
		p.r.store.Dereference(it)
	}
}

// reply sends a response, which the caller fills in. It leaves when the log is durable: what was visible at a CSN
// that was fixed in this incarnation may not be durable yet.
func (p *read) reply() *msg.ReadResponse {
	r := &msg.ReadResponse{Reader: p.q.Reader, Number: p.q.Number, CSN: p.q.CSN,
		Reading: msg.Reading{Shard: p.r.ID, Incarnation: p.r.Inc, Number: p.r.NextReading()}}
	m := msg.ToGateway(p.q.Gateway)
	m.Body = r
	p.send(m)
	return r
}

// fail responds with a failure.
func (p *read) fail(f *msg.Failure) { p.reply().Failure = f }
