package history

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// chunkBytes is how much a client gathers before it takes the file's lock:
// large enough that the lock is rare, small enough that a crash loses little.
const chunkBytes = 64 << 10

// Recorder writes a history. Its methods and those of its clients may be
// called from any goroutine.
type Recorder struct {
	epoch time.Time

	mu      sync.Mutex // guards what follows; taken after a Client's own
	w       io.Writer
	file    io.Closer // nil unless made by Create
	err     error     // the first failure to write; sticky
	count   uint64    // transactions written
	closed  bool
	clients []*Client
}

// Create begins a history file; an existing file is replaced.
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

// NewRecorder begins a history on w, which gets whole records, many at a time.
func NewRecorder(w io.Writer, meta Meta) (*Recorder, error) {
	r := &Recorder{epoch: time.Now(), w: w}
	b := append([]byte(nil), magic...)
	b = appendRecord(b, encodeMeta(nil, meta))
	_, err := w.Write(b)
	return r, err
}

// Now is the recorder's clock: nanoseconds, monotonic, from its creation.
func (r *Recorder) Now() int64 { return int64(time.Since(r.epoch)) }

// Client makes a source of transactions. The number appears in explanations.
func (r *Recorder) Client(number int) *Client {
	c := &Client{r: r, number: number}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients = append(r.clients, c)
	return c
}

// Flush writes what the clients have gathered.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	clients := r.clients
	r.mu.Unlock()
	for _, c := range clients {
		c.flush()
	}
	return r.Err()
}

// Err is the first failure to write. Transactions recorded after it are lost.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes everything and the record that marks the history as whole.
// Transactions that have begun and not ended are lost, so end each first. What
// is recorded after Close is an error on the next Flush.
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

	mu    sync.Mutex // guards what follows
	buf   []byte     // whole records
	count uint64     // transactions in buf
	free  []*Pending
}

// Begin starts a transaction now. Call it before the request is sent.
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

// Restart forgets the operations recorded so far, for another attempt of the
// same transaction. The start stays.
func (p *Pending) Restart() { p.ops, p.count = p.ops[:0], 0 }

// Read records that key held value.
func (p *Pending) Read(key, value []byte) { p.op(Read, SawValue).key(key).value(value) }

// ReadNumber records that key was a counter at n.
func (p *Pending) ReadNumber(key []byte, n int64) { p.op(Read, SawNumber).key(key).number(n) }

// ReadAbsent records that key did not exist.
func (p *Pending) ReadAbsent(key []byte) { p.op(Read, SawAbsent).key(key) }

// ReadExists records that key existed, with a value that is not known.
func (p *Pending) ReadExists(key []byte) { p.op(Read, SawExists).key(key) }

// Write records that value was put.
func (p *Pending) Write(key, value []byte) { p.op(Write, SawNothing).key(key).value(value) }

// Delete records that key was removed; saw is SawAbsent, SawExists or, when
// the answer is not known, SawNothing.
func (p *Pending) Delete(key []byte, saw Saw) { p.op(Delete, saw).key(key) }

// Add records an increment that told nothing.
func (p *Pending) Add(key []byte, delta int64) { p.op(Add, SawNothing).key(key).number(delta) }

// AddGet records an increment that returned the new sum.
func (p *Pending) AddGet(key []byte, delta, sum int64) {
	p.op(Add, SawNumber).key(key).number(delta).number(sum)
}

// Scan records a scan of [start, end) that returned pairs; an empty end means
// to the last key. A limit of 0 means that everything was returned. For a scan
// stopped early by its reader, the limit is the number of pairs read. Pairs
// hold raw values, not identities.
func (p *Pending) Scan(start, end []byte, limit int, pairs []Pair) {
	p.op(Scan, SawNothing).key(start).key(end).unsigned(uint64(limit)).pairs(pairs)
}

// DeleteRange records the removal of the keys of [start, end).
func (p *Pending) DeleteRange(start, end []byte) { p.op(DeleteRange, SawNothing).key(start).key(end) }

// DeleteRangeCount is DeleteRange where the number of removed keys was told.
func (p *Pending) DeleteRangeCount(start, end []byte, removed int64) {
	p.op(DeleteRange, SawNumber).key(start).key(end).number(removed)
}

// Commit ends the transaction now as acknowledged.
func (p *Pending) Commit() { p.finish(Committed, p.c.r.Now()) }

// Fail ends the transaction as certainly not applied.
func (p *Pending) Fail() { p.finish(Failed, p.c.r.Now()) }

// Unknown ends the transaction without knowing whether it was or ever will be
// applied.
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
