package guard

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Port is the kind of port at which a connection arrives.
type Port int

const (
	// Calls is that of gRPC.
	Calls Port = iota
	// Web is that of HTTP.
	Web
	numPorts
)

// refusal is why a connection was closed on arrival, or later.
type refusal int

const (
	tooMany refusal = iota
	tooManyStrangers
	tooManyOfAddress
	failedTooOften
	tooSlow
	tooMuch
	revoked
	noMemory
	tooManyOfUser
	numRefusals
)

func (r refusal) String() string {
	return [numRefusals]string{"connections", "unauthenticated", "address", "failures", "timeout", "bytes", "user",
		"memory", "share"}[r]
}

// text is what the log says of it. What was refused for which reason is counted
// by its name above.
func (r refusal) text() string {
	return [numRefusals]string{
		"connection refused: the node has reached its connection limit (--max-connections, open files, --memory-budget)",
		"connection refused or closed: too many unauthenticated connections",
		"connection refused or closed: too many unauthenticated connections of the address",
		"connection refused: the address failed too often and is blocked for some time",
		"connection closed: the client did not authenticate in time",
		"connection closed: the client sent too much data before it authenticated",
		"connection closed: the user no longer exists",
		"connection refused: the user has reached the limit that --memory-budget allows",
		"connection refused: the user has a quarter of the free connections",
	}[r]
}

// standing is what is known of a connection's caller.
type standing int

const (
	stranger standing = iota
	user
	administrator // on one of the slots that are administrators'
	peerNode
	// gone: it was evicted for another, or closed.
	gone
)

// place is what the ledger knows of a connection.
type place struct {
	// ip is the address of the other side, and from is what its strangers count under
	// (enter).
	ip    netip.Addr
	from  netip.Prefix
	port  Port
	since time.Time
	// standing and at, its place in the queue of strangers, are guarded by the
	// ledger.
	standing standing
	at       *list.Element
	// evict closes the connection, which has given its place to another.
	evict func()
	// name is the user's, if standing is user.
	name string
	// slow: the address has failed too often, and is slowed instead of refused.
	slow bool
}

// ledger counts connections and failures by address.
type ledger struct {
	limits Limits
	places places
	// openHouse says that there are no strangers here: all are admitted.
	openHouse bool
	// refused counts connections by refusal.
	refused [numRefusals]atomic.Uint64

	mu sync.Mutex
	// users, administrators and nodes are how many there are by standing, strangers those
	// whose callers are not known, by port, the oldest first.
	users, administrators, nodes int
	strangers                    [numPorts]list.List
	// byUser are the connections of each user among users.
	byUser map[string]int
	// at has the addresses of which there is something to know.
	at      map[netip.Prefix]*address
	trusted trusted
}

func newLedger(l Limits, openHouse bool) *ledger {
	return &ledger{limits: l, places: l.places(), openHouse: openHouse, at: map[netip.Prefix]*address{},
		byUser: map[string]int{}, trusted: trusted{authenticated: map[netip.Addr]*sessions{}}}
}

// address is what is known of one. It is forgotten when it has no stranger and no
// failure that counts.
type address struct {
	strangers [numPorts]int
	// failures is how many count now; a minute takes away Limits.Failures of
	// them. It is as of when.
	failures float64
	when     time.Time
	// refused is for how long the address was refused last, until when.
	refused time.Duration
	until   time.Time
}

func (a *address) idle() bool { return a.strangers == [numPorts]int{} }

// keptAddresses bounds the addresses with failures. Beyond it those are forgotten
// that have no connection: who has so many addresses is not stopped by counting.
const keptAddresses = 1 << 16

// enter admits a connection as a stranger's, or says why not. Where all places are
// taken, a stranger may be evicted: the caller calls evict of victim.
func (l *ledger) enter(p *place, now time.Time) (why refusal, victim *place, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.openHouse {
		return l.enterOpen(p)
	}
	isTrusted, timeout := l.trusted.has(p.ip, now), displaceAfter
	if isTrusted {
		p.from, timeout = netip.PrefixFrom(p.ip, p.ip.BitLen()), displaceTrustedAfter
	}
	a := l.of(p.from, now)
	defer l.forget(p.from, a, now)
	a.fade(now, l.limits)
	p.slow = now.Before(a.until)
	if p.slow && !isTrusted && p.port == Calls {
		return failedTooOften, nil, false
	}
	queue := &l.strangers[p.port]
	switch {
	case a.strangers[p.port] >= l.limits.PerAddress:
		why = tooManyOfAddress
		victim = l.oldest(p.port, p.from)
		if now.Sub(victim.since) < timeout {
			return why, nil, false
		}
	case queue.Len() >= l.places.strangers[p.port]:
		why = tooManyStrangers
		victim = l.mostOf(p.port)
		if l.at[victim.from].strangers[p.port] <= a.strangers[p.port]+1 && now.Sub(victim.since) < displaceAfter {
			return why, nil, false
		}
	}
	p.since = now
	p.at = queue.PushBack(p)
	a.strangers[p.port]++
	if victim != nil {
		l.remove(victim, now)
	}
	return why, victim, true
}

// enterOpen admits a connection where there is no TLS. There are no users, so that one
// address may have all connections but some: those are for the node's own machine and for
// members.
func (l *ledger) enterOpen(p *place) (why refusal, victim *place, ok bool) {
	bound := l.limits.Connections - l.places.administrators
	if p.port == Calls {
		bound -= l.places.strangers[Web]
	}
	switch {
	case l.users < max(bound, 1):
		l.users++
		p.standing = user
	case l.administrators < l.places.administrators && (p.ip.IsLoopback() || l.trusted.members[p.ip]):
		l.administrators++
		p.standing = administrator
	default:
		return tooMany, nil, false
	}
	return 0, nil, true
}

// displaceAfter is how long a stranger has its place for itself: more than an honest
// caller needs to show who it is. From then on it can be evicted for others.
// Somewhat arbitrary.
const displaceAfter = time.Second

// displaceTrustedAfter replaces displaceAfter among the strangers of a trusted address:
// twice the delay of a slowed connection.
const displaceTrustedAfter = 2 * slowAddressBy

// oldest is the oldest stranger of an address, which has some.
func (l *ledger) oldest(port Port, from netip.Prefix) *place {
	for e := l.strangers[port].Front(); e != nil; e = e.Next() {
		if p := e.Value.(*place); p.from == from {
			return p
		}
	}
	return nil
}

// mostOf is the oldest stranger of the address that has most.
func (l *ledger) mostOf(port Port) (victim *place) {
	most := 0
	for e := l.strangers[port].Front(); e != nil; e = e.Next() {
		p := e.Value.(*place)
		if n := l.at[p.from].strangers[port]; n > most {
			victim, most = p, n
		}
	}
	return victim
}

// of gives what is known of an address, and makes room for it.
func (l *ledger) of(from netip.Prefix, now time.Time) *address {
	a := l.at[from]
	if a == nil {
		if len(l.at) >= keptAddresses {
			for k, old := range l.at {
				if old.idle() {
					delete(l.at, k)
				}
			}
		}
		a = &address{when: now}
		l.at[from] = a
	}
	return a
}

// forget forgets an address of which there is nothing to know.
func (l *ledger) forget(from netip.Prefix, a *address, now time.Time) {
	if !a.idle() {
		return
	}
	a.fade(now, l.limits)
	if a.failures == 0 {
		delete(l.at, from)
	}
}

// identity is the caller of a connection.
type identity struct {
	name                string
	node, administrator bool
}

// known ends that a connection is a stranger's, or says why it cannot.
func (l *ledger) known(p *place, who identity, now time.Time) (why refusal, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.standing != stranger {
		return 0, true
	}
	as, why := l.standingOf(who)
	if as == stranger {
		return why, false
	}
	l.remove(p, now)
	p.standing = as
	switch as {
	case peerNode:
		l.nodes++
	case administrator:
		l.administrators++
	case user:
		p.name = who.name
		l.users++
		l.byUser[p.name]++
	}
	l.trusted.open(p.ip, now)
	return 0, true
}

// standingOf chooses the slot of a known caller. It is stranger if there is none, for a
// reason.
func (l *ledger) standingOf(who identity) (as standing, why refusal) {
	has := l.byUser[who.name]
	free := l.places.users - l.users - 1
	switch {
	case who.node && l.nodes < l.places.nodes:
		return peerNode, 0
	case free >= 0 && (has+1 <= free/4 || has < alwaysOfUser || who.node):
		return user, 0
	case who.administrator && l.administrators < l.places.administrators:
		return administrator, 0
	case free >= 0:
		return stranger, tooManyOfUser
	}
	return stranger, tooMany
}

// alwaysOfUser is how many connections a user may have as long as any is free.
const alwaysOfUser = 4

// leave ends a connection.
func (l *ledger) leave(p *place, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch p.standing {
	case stranger:
		l.remove(p, now)
	case user:
		l.users--
		l.leaveUser(p.name)
	case administrator:
		l.administrators--
	case peerNode:
		l.nodes--
	}
	if !l.openHouse && p.standing != stranger && p.standing != gone {
		l.trusted.close(p.ip, now)
	}
	p.standing = gone
}

func (l *ledger) leaveUser(name string) {
	if l.openHouse {
		return
	}
	l.byUser[name]--
	if l.byUser[name] == 0 {
		delete(l.byUser, name)
	}
}

// remove takes a stranger away.
func (l *ledger) remove(p *place, now time.Time) {
	l.strangers[p.port].Remove(p.at)
	p.standing, p.at = gone, nil
	a := l.at[p.from]
	a.strangers[p.port]--
	l.forget(p.from, a, now)
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

// counts are the connections, and the strangers' among them.
func (l *ledger) counts() (open, strangers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.strangers {
		strangers += l.strangers[i].Len()
	}
	return l.users + l.administrators + l.nodes + strangers, strangers
}

// peerIP is the IP address of the other side; the zero Addr if it has none.
func peerIP(a net.Addr) netip.Addr {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap().WithZone("")
}

// strangersPrefix is what the strangers of an address count under: the address itself, of
// IPv6 its first 64 bits, which one site has for itself. All connections without an IP
// address count as one.
func strangersPrefix(ip netip.Addr) netip.Prefix {
	if ip.Is6() {
		return netip.PrefixFrom(ip, 64).Masked()
	}
	return netip.PrefixFrom(ip, ip.BitLen())
}
