package guard

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Listener bounds what it accepts. A refused connection is closed without a
// message to the client, and logged.
func (g *Gate) Listener(inner net.Listener) net.Listener { return &listener{inner, g, Calls} }

type listener struct {
	net.Listener
	gate *Gate
	port Port
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if k := l.gate.admit(c, l.port); k != nil {
			return k, nil
		}
		c.Close()
	}
}

const (
	// unreadTimeout bounds a write: a client that reads nothing for so long is
	// disconnected, as one that does not answer pings is (server.PingAfter and
	// PingTimeout).
	unreadTimeout = 12 * time.Second
	// readAhead is how much is read while the other side takes nothing. What it says
	// may want answers, which would wait in memory: so who does not read is not read
	// either. Somewhat arbitrary.
	readAhead = 256 << 10
	// ConnBytes is about what a connection costs: buffers of TLS and gRPC, and a few
	// goroutines.
	ConnBytes = 128 << 10
)

// conn is a connection that was admitted.
type conn struct {
	net.Conn
	gate  *Gate
	place place
	// spent is what its callers have of the node's memory.
	spent *memory.Conn
	// failures of its callers.
	failures atomic.Int32
	// ended: the other side has ended what it says.
	ended atomic.Bool
	// blameless: that it shows no caller is no failure.
	blameless atomic.Bool
	// caller is the one that was let in last.
	caller atomic.Pointer[Caller]
	flow   flow
	pace   pace

	mu            sync.Mutex
	known, closed bool
	// due reviews the connection (review).
	due *time.Timer
}

// flow couples what is read with what is written.
type flow struct {
	mu sync.Mutex
	// writing: a write is in progress, during which ahead bytes were read.
	writing, closed bool
	ahead           int
	moved           sync.Cond
}

// admit gives nil if there is no room.
func (g *Gate) admit(c net.Conn, port Port) *conn {
	k := &conn{Conn: c, gate: g, pace: pace{gone: make(chan struct{})}, spent: g.opt.Budget.Conn()}
	ip := peerIP(c.RemoteAddr())
	k.place = place{ip: ip, from: strangersPrefix(ip), port: port}
	k.flow.moved.L = &k.flow.mu
	k.place.evict = k.onDisplaced
	why, victim, ok := g.ledger.enter(&k.place, g.opt.Now())
	if !ok {
		g.onRefused(&k.place, why)
		return nil
	}
	if victim != nil {
		g.onRefused(victim, why)
		victim.evict()
	}
	if k.place.slow {
		k.pace.slow(slowAddressBy)
		g.logFailure("address throttled: it fails too often, and also has connections of members, users or health checks",
			k.place.from)
	}
	if !g.Secure() {
		k.known = true
		return k
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due = time.AfterFunc(g.opt.Limits.Timeout, k.review)
	return k
}

// onRefused counts and logs a refused connection.
func (g *Gate) onRefused(p *place, why refusal) {
	g.ledger.refused[why].Add(1)
	open, strangers := g.ledger.counts()
	g.logFailure(why.text(), p.from, "cause", why.String(), "open", open, "strangers", strangers)
}

// account is what a user has on the connection. Where users have no names, addresses
// are what stands for them.
func (c *conn) account(user string) *memory.Account {
	if user == "" {
		user = "from " + c.place.ip.String()
	}
	return c.spent.Account(user)
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.pace.wait()
	f := &c.flow
	f.mu.Lock()
	for f.writing && f.ahead >= readAhead && !f.closed {
		f.moved.Wait()
	}
	f.mu.Unlock()
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		c.ended.Store(true)
	}
	f.mu.Lock()
	if f.writing {
		f.ahead += n
	}
	f.mu.Unlock()
	if c.pace.read(n) && !c.isKnown() {
		c.gate.onRefused(&c.place, tooMuch)
		c.blame()
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) isKnown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// Write implements net.Conn. Over HTTP the server has a time for its answers, and
// closes the connection itself.
func (c *conn) Write(p []byte) (int, error) {
	f := &c.flow
	f.mu.Lock()
	f.writing = true
	f.mu.Unlock()
	if c.place.port == Calls {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(unreadTimeout)); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Write(p)
	if err != nil && c.place.port == Calls {
		c.Close() // gRPC would go on reading
		return n, err
	}
	f.mu.Lock()
	f.writing, f.ahead = false, 0
	f.moved.Broadcast()
	f.mu.Unlock()
	return n, err
}

// review closes the connection of a caller that has remained a stranger, or of one
// that is no user any more. Others are looked at again later.
func (c *conn) review() {
	c.mu.Lock()
	known := c.known
	if c.closed {
		c.mu.Unlock()
		return
	}
	if known && c.caller.Load().stands() {
		c.due.Reset(c.gate.opt.Limits.Timeout)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	if known {
		c.gate.onRefused(&c.place, revoked)
	} else {
		c.gate.onRefused(&c.place, tooSlow)
		c.blame()
	}
	c.Close()
}

// blame counts a failure of the connection's address.
func (c *conn) blame() {
	if !c.blameless.Load() {
		c.gate.ledger.failed(c.place.from, c.gate.opt.Now())
	}
}

// onDisplaced closes the connection of a stranger that was evicted. That is a failure
// of its address if it had the time to authenticate.
func (c *conn) onDisplaced() {
	if c.gate.opt.Now().Sub(c.place.since) >= displaceAfter {
		c.blame()
	}
	c.Close()
}

// knows says who its caller is. It fails if there is no place for another one.
func (c *conn) knows(who *Caller) *kv.Error {
	c.caller.Store(who)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || c.closed {
		return nil
	}
	if err := who.account.Take(memory.Connections, ConnBytes); err != nil {
		c.gate.onRefused(&c.place, noMemory)
		return err
	}
	why, ok := c.gate.ledger.known(&c.place, who.identity(), c.gate.opt.Now())
	if !ok {
		who.account.Give(memory.Connections, ConnBytes)
		c.gate.onRefused(&c.place, why)
		if why == tooManyOfUser {
			return &kv.Error{Kind: kv.KindResourceExhausted, Op: -1,
				Text: "the user has reached its connection limit: a quarter of the free connections (--max-connections, open " +
					"files)",
				Hint: "use another node, or fewer connections"}
		}
		return &kv.Error{Kind: kv.KindResourceExhausted, Op: -1,
			Text: "the node has reached its connection limit (--max-connections, open files, --memory-budget)",
			Hint: "use another node, or fewer connections"}
	}
	c.known = true
	c.due.Reset(c.gate.opt.Limits.Timeout)
	return nil
}

// failed counts a failure of its caller, and closes it if there were too many.
func (c *conn) failed() {
	c.gate.ledger.failed(c.place.from, c.gate.opt.Now())
	c.refused()
}

// refused closes the connection if too many calls were. Answers to them wait in
// memory until the caller reads them, so there must not be many.
func (c *conn) refused() {
	if int(c.failures.Add(1)) > c.gate.opt.Limits.Tries {
		c.Close()
	}
}

// Close implements net.Conn; again it does nothing.
func (c *conn) Close() error {
	if !c.leave() {
		return nil
	}
	return c.Conn.Close()
}

// leave gives up the connection's place, once.
func (c *conn) leave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	if c.due != nil {
		c.due.Stop()
	}
	c.gate.ledger.leave(&c.place, c.gate.opt.Now())
	c.spent.Close()
	close(c.pace.gone)
	f := &c.flow
	f.mu.Lock()
	f.closed = true
	f.moved.Broadcast()
	f.mu.Unlock()
	return true
}
