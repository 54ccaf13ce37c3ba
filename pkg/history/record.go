package history

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// chunkBytes is the size of a client's buffer, which is written under the file's lock. It is large enough that the lock
// is rarely taken, and small enough that a crash loses little.
const chunkBytes = 64 << 10

// Recorder writes a history. Its methods and those of its clients may be
// called from any goroutine.
type Recorder struct {
	epoch time.Time

	mu      sync.Mutex // guards the fields below; taken after a Client's own
	w       io.Writer
	file    io.Closer // nil unless made by Create
	err     error     // the first write error; sticky
	count   uint64    // transactions written
	closed  bool
	clients []*Client
}

// Create begins a history file; it replaces an existing file.
func Create(path string, meta Meta) (*Recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r, err := NewRecorder(f, meta)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.file = f
	return r, nil
}

// NewRecorder begins a history on w, which receives whole records, many at a time.
func NewRecorder(w io.Writer, meta Meta) (*Recorder, error) {
	r := &Recorder{epoch: time.Now(), w: w}
	b := append([]byte(nil), magic...)
	b = appendRecord(b, encodeMeta(nil, meta))
	_, err := w.Write(b)
	return r, err
}

// Now is the recorder's clock: nanoseconds, monotonic, since its creation.
func (r *Recorder) Now() int64 { return int64(time.Since(r.epoch)) }

// Client returns a recorder for the transactions of one client. The number appears in explanations.
func (r *Recorder) Client(number int) *Client {
	c := &Client{r: r, number: number}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients = append(r.clients, c)
	return c
}

// Flush writes the clients' buffers.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	clients := r.clients
	r.mu.Unlock()
	for _, c := range clients {
		c.flush()
	}
	return r.Err()
}

// Err returns the first write error. Transactions recorded after it are lost.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes everything, and the record that marks the history as complete. Transactions that have not ended are
// lost, so end each first. Recording after Close is an error of the next Flush.
func (r *Recorder) Close() error {
	err := r.Flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return err
	}
	r.closed = true
	if err == nil {
		_, err = r.w.Write(appendRecord(nil, encodeEnd(nil, r.count)))
	}
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return err
}

func (r *Recorder) write(b []byte, count uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && r.closed {
		r.err = errors.New("history: a transaction was recorded after Close")
	}
	if r.err != nil {
		return
	}
	_, r.err = r.w.Write(b)
	r.count += count
}

// Client records the transactions of one client.
type Client struct {
	r      *Recorder
	number int

	mu    sync.Mutex // guards the fields below
	buf   []byte     // whole records
	count uint64     // transactions in buf
	free  []*Pending
}

// Begin starts a transaction now. Call it before sending the request.
func (c *Client) Begin(id []byte) *Pending {
	c.mu.Lock()
	var p *Pending
	if n := len(c.free); n > 0 {
		p, c.free = c.free[n-1], c.free[:n-1]
	} else {
		p = &Pending{c: c}
	}
	c.mu.Unlock()
	p.id = append(p.id[:0], id...)
	p.ops, p.count = p.ops[:0], 0
	p.start = c.r.Now()
	return p
}

func (c *Client) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushLocked()
}

func (c *Client) flushLocked() {
	if len(c.buf) > 0 {
		c.r.write(c.buf, c.count)
		c.buf, c.count = c.buf[:0], 0
	}
}

// Pending is a transaction in progress, for one goroutine. It must not be
// used after Commit, Fail or Unknown.
type Pending struct {
	c     *Client
	id    []byte
	start int64
	ops   []byte // encoded
	count int
	whole []byte // scratch for the payload
}

// SetID replaces the id, where it is known only later.
func (p *Pending) SetID(id []byte) { p.id = append(p.id[:0], id...) }

// Restart drops the operations recorded so far, for another attempt of the same transaction. The start stays.
func (p *Pending) Restart() { p.ops, p.count = p.ops[:0], 0 }

// Read records that key had this value.
func (p *Pending) Read(key, value []byte) { p.op(Read, SawValue).key(key).value(value) }

// ReadNumber records that key was a counter at n.
func (p *Pending) ReadNumber(key []byte, n int64) { p.op(Read, SawNumber).key(key).number(n) }

// ReadAbsent records that key was absent.
func (p *Pending) ReadAbsent(key []byte) { p.op(Read, SawAbsent).key(key) }

// ReadExists records that key existed, with an unknown value.
func (p *Pending) ReadExists(key []byte) { p.op(Read, SawExists).key(key) }

// Write records that value was put.
func (p *Pending) Write(key, value []byte) { p.op(Write, SawNothing).key(key).value(value) }

// Delete records the deletion of a key; saw is SawAbsent, SawExists or, if the result is not known, SawNothing.
func (p *Pending) Delete(key []byte, saw Saw) { p.op(Delete, saw).key(key) }

// Add records an increment without a result.
func (p *Pending) Add(key []byte, delta int64) { p.op(Add, SawNothing).key(key).number(delta) }

// AddGet records an increment that returned the new sum.
func (p *Pending) AddGet(key []byte, delta, sum int64) {
	p.op(Add, SawNumber).key(key).number(delta).number(sum)
}

// Scan records a scan of [start, end) that returned pairs; an empty end stands for the last key. A limit of 0 means
// that everything was returned. If the reader stopped the scan, the limit is the number of pairs read. Pairs hold raw
// values, not identities.
func (p *Pending) Scan(start, end []byte, limit int, pairs []Pair) {
	p.op(Scan, SawNothing).key(start).key(end).unsigned(uint64(limit)).pairs(pairs)
}

// DeleteRange records the deletion of the keys of [start, end).
func (p *Pending) DeleteRange(start, end []byte) { p.op(DeleteRange, SawNothing).key(start).key(end) }

// DeleteRangeCount is DeleteRange with the number of deleted keys as its result.
func (p *Pending) DeleteRangeCount(start, end []byte, removed int64) {
	p.op(DeleteRange, SawNumber).key(start).key(end).number(removed)
}

// Commit ends the transaction now as acknowledged.
func (p *Pending) Commit() { p.finish(Committed, p.c.r.Now()) }

// Fail ends the transaction as certainly not applied.
func (p *Pending) Fail() { p.finish(Failed, p.c.r.Now()) }

// Unknown ends the transaction with an unknown outcome.
func (p *Pending) Unknown() { p.finish(Unknown, Never) }

func (p *Pending) finish(o Outcome, end int64) {
	c := p.c
	p.whole = encodeTxnHead(p.whole[:0], c.number, p.id, p.start, end, o, p.count)
	p.whole = append(p.whole, p.ops...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = appendRecord(c.buf, p.whole)
	c.count++
	if len(c.buf) >= chunkBytes {
		c.flushLocked()
	}
	c.free = append(c.free, p)
}
