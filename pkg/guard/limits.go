package guard

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound what is open, and what strangers can use up.
type Limits struct {
	// Connections bounds all connections. Default 16384; below what the process
	// may have open files.
	Connections int
	// Strangers bounds the connections whose callers are not known yet, in all.
	// Default 256, each of which costs about 150 KiB.
	Strangers int
	// PerAddress bounds those of one address, which is the first 64 bits of one of
	// IPv6. Default 64.
	PerAddress int
	// Timeout is how long a caller may remain a stranger. Default 10 s.
	Timeout time.Duration
	// Tries is how many failures a connection survives. Default 2.
	Tries int
	// Failures is how many an address may have at once, and in a minute. Default
	// 20. Beyond them it is refused for a second, then two and so on, up to
	// Longest, whose default is 30 s.
	Failures int
	Longest  time.Duration
}

func (l Limits) withDefaults() Limits {
	fill := func(n *int, usual int) {
		if *n == 0 {
			*n = usual
		}
	}
	fill(&l.Connections, 16384)
	fill(&l.Strangers, 256)
	fill(&l.PerAddress, 64)
	fill(&l.Tries, 2)
	fill(&l.Failures, 20)
	if l.Timeout == 0 {
		l.Timeout = 10 * time.Second
	}
	if l.Longest == 0 {
		l.Longest = 30 * time.Second
	}
	return l
}

func (l Limits) check() error {
	var errs []error
	for name, n := range map[string]int64{"Connections": int64(l.Connections), "Strangers": int64(l.Strangers), "PerAddress": int64(l.PerAddress),
		"Tries": int64(l.Tries), "Failures": int64(l.Failures), "Timeout": int64(l.Timeout), "Longest": int64(l.Longest)} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("guard: %s is %d, must not be negative", name, n))
		}
	}
	return errors.Join(errs...)
}

// refusal is why a connection was closed at the door, or later as a stranger's.
type refusal int

const (
	tooMany refusal = iota
	tooManyStrangers
	tooManyOfAddress
	failedTooOften
	tooSlow
	numRefusals
)

func (r refusal) String() string {
	return [numRefusals]string{"connections", "strangers", "address", "failures", "timeout"}[r]
}

// text is what the log says of it. What was refused for which reason is counted
// by its name above.
func (r refusal) text() string {
	return [numRefusals]string{
		"a connection was refused: as many are open as may be (--max-connections, files)",
		"a connection was refused: too many are open of callers that have not shown who they are",
		"a connection was refused: its address has too many open on which nobody has shown who it is",
		"a connection was refused: its address has failed too often, and is refused for a while",
		"a connection was closed: its caller did not show who it is in time",
	}[r]
}

// ledger counts connections and failures by address.
type ledger struct {
	limits Limits
	// refused counts connections by refusal.
	refused [numRefusals]atomic.Uint64

	mu sync.Mutex
	// open are all connections, strangers those of them whose callers are not
	// known.
	open, strangers int
	// at has the addresses of which there is something to know.
	at map[netip.Prefix]*address
}

// address is what is known of one. It is forgotten when it has no stranger and no
// failure that counts.
type address struct {
	strangers int
	// failures is how many count now; a minute takes away Limits.Failures of
	// them. It is as of when.
	failures float64
	when     time.Time
	// refused is for how long the address was refused last, until when.
	refused time.Duration
	until   time.Time
}

// keptAddresses bounds the addresses with failures. Beyond it those are forgotten
// that have no connection: who has so many addresses is not stopped by counting.
const keptAddresses = 1 << 16

// enter admits a connection as a stranger's, or says why not. known says that
// there are no strangers here.
func (l *ledger) enter(from netip.Prefix, known bool, now time.Time) (refusal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.at[from]
	switch {
	case l.open >= l.limits.Connections:
		return tooMany, false
	case known:
		l.open++
		return 0, true
	case a != nil && now.Before(a.until):
		return failedTooOften, false
	case l.strangers >= l.limits.Strangers:
		return tooManyStrangers, false
	case a != nil && a.strangers >= l.limits.PerAddress:
		return tooManyOfAddress, false
	}
	l.open++
	l.strangers++
	l.of(from, now).strangers++
	return 0, true
}

// of gives what is known of an address, and makes room for it.
func (l *ledger) of(from netip.Prefix, now time.Time) *address {
	a := l.at[from]
	if a == nil {
		if len(l.at) >= keptAddresses {
			for k, old := range l.at {
				if old.strangers == 0 {
					delete(l.at, k)
				}
			}
		}
		a = &address{when: now}
		l.at[from] = a
	}
	return a
}

// known ends that a connection is a stranger's.
func (l *ledger) known(from netip.Prefix, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stranger(from, now)
}

// leave ends a connection.
func (l *ledger) leave(from netip.Prefix, stranger bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if stranger {
		l.stranger(from, now)
	}
}

// stranger takes one away.
func (l *ledger) stranger(from netip.Prefix, now time.Time) {
	l.strangers--
	a := l.at[from]
	if a.strangers--; a.strangers == 0 {
		if a.fade(now, l.limits); a.failures == 0 {
			delete(l.at, from)
		}
	}
}

// fade has failures pass away with time, and with the last one the memory of how
// long the address was refused.
func (a *address) fade(now time.Time, limits Limits) {
	a.failures = max(0, a.failures-now.Sub(a.when).Minutes()*float64(limits.Failures))
	a.when = now
	if a.failures == 0 && !now.Before(a.until) {
		a.refused = 0
	}
}

// failed counts a failure of an address.
func (l *ledger) failed(from netip.Prefix, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(from, now)
	a.fade(now, l.limits)
	a.failures++
	if a.failures > float64(l.limits.Failures) && !now.Before(a.until) {
		a.refused = min(max(2*a.refused, time.Second), l.limits.Longest)
		a.until = now.Add(a.refused)
	}
}

func (l *ledger) counts() (open, strangers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.strangers
}

// origin is the address that counts for a connection.
func origin(a net.Addr) netip.Prefix {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{} // all that have none are one
	}
	ip, bits := p.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// Listener bounds what it accepts. What is refused is closed without a word to the
// other side; the log tells of it.
func (g *Gate) Listener(inner net.Listener) net.Listener { return &listener{inner, g} }

type listener struct {
	net.Listener
	gate *Gate
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if k := l.gate.admit(c); k != nil {
			return k, nil
		}
		c.Close()
	}
}

// conn is a connection that was admitted.
type conn struct {
	net.Conn
	gate *Gate
	from netip.Prefix
	// failures of its callers.
	failures atomic.Int32
	// ended: the other side has ended what it says.
	ended atomic.Bool

	mu               sync.Mutex
	stranger, closed bool
	// late closes the connection if its caller remains a stranger.
	late *time.Timer
}

// admit gives nil if there is no room.
func (g *Gate) admit(c net.Conn) *conn {
	k := &conn{Conn: c, gate: g, from: origin(c.RemoteAddr()), stranger: g.opt.Keeper != nil}
	why, ok := g.ledger.enter(k.from, !k.stranger, g.opt.Now())
	if !ok {
		g.turned(k.from, why)
		return nil
	}
	if k.stranger {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.late = time.AfterFunc(g.opt.Limits.Timeout, k.expire)
	}
	return k
}

// turned counts and tells of a connection that was turned away.
func (g *Gate) turned(from netip.Prefix, why refusal) {
	g.ledger.refused[why].Add(1)
	open, strangers := g.ledger.counts()
	g.tell(why.text(), from, "cause", why.String(), "open", open, "strangers", strangers)
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		c.ended.Store(true)
	}
	return n, err
}

// expire closes the connection of a stranger.
func (c *conn) expire() {
	c.mu.Lock()
	late := c.stranger && !c.closed
	c.mu.Unlock()
	if late {
		c.gate.turned(c.from, tooSlow)
		c.Close()
	}
}

// known says that its caller is.
func (c *conn) known() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stranger && !c.closed {
		c.stranger = false
		c.late.Stop()
		c.gate.ledger.known(c.from, c.gate.opt.Now())
	}
}

// failed counts a failure of its caller, and closes it if there were too many.
func (c *conn) failed() {
	c.gate.ledger.failed(c.from, c.gate.opt.Now())
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
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	if c.late != nil {
		c.late.Stop()
	}
	stranger := c.stranger
	c.mu.Unlock()
	c.gate.ledger.leave(c.from, stranger, c.gate.opt.Now())
	return c.Conn.Close()
}
