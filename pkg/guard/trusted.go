package guard

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// trusted are the addresses whose connections are slowed when too many fail, and never
// refused for it: those of the members, and those with an authenticated connection. Else a
// stranger at the address of a node or of a user would lock both out.
type trusted struct {
	// members are the addresses of the cluster's members.
	members map[netip.Addr]bool
	// authenticated are addresses with authenticated connections, now or within
	// trustFor.
	authenticated map[netip.Addr]*sessions
}

// sessions are the authenticated connections of an address: how many are open, and when the
// last one was opened or closed.
type sessions struct {
	open int
	last time.Time
}

const (
	// trustFor is how long an address remains trusted after its last authenticated
	// connection, so that a client or node that restarts comes back. Somewhat arbitrary.
	trustFor = 10 * time.Minute
	// slowAddressBy is for how long a new connection of a slowed address is not read. It
	// is below what health checks, nodes and clients wait, and with Limits.PerAddress it
	// bounds the failures per second of an address.
	slowAddressBy = 100 * time.Millisecond
)

func (t *trusted) has(ip netip.Addr, now time.Time) bool {
	s := t.authenticated[ip]
	return t.members[ip] || s != nil && (s.open > 0 || now.Sub(s.last) < trustFor)
}

// open counts an authenticated connection.
func (t *trusted) open(ip netip.Addr, now time.Time) {
	if !ip.IsValid() {
		return
	}
	s := t.authenticated[ip]
	if s == nil {
		t.prune(now)
		s = &sessions{}
		t.authenticated[ip] = s
	}
	s.open++
	s.last = now
}

// close ends one.
func (t *trusted) close(ip netip.Addr, now time.Time) {
	s := t.authenticated[ip]
	if s != nil {
		s.open--
		s.last = now
	}
}

// prune makes room for an address: it forgets those whose trust has ended, and if these are
// too few, all without an open connection.
func (t *trusted) prune(now time.Time) {
	if len(t.authenticated) < keptAddresses {
		return
	}
	maps.DeleteFunc(t.authenticated, func(ip netip.Addr,
		s *sessions) bool {
		return s.open == 0 && now.Sub(s.last) >= trustFor
	})
	if len(t.authenticated) >= keptAddresses {
		maps.DeleteFunc(t.authenticated, func(ip netip.Addr, s *sessions) bool { return s.open == 0 })
	}
}

// TrustMembers sets the addresses of the cluster's members. Any goroutine may call it.
func (g *Gate) TrustMembers(ips []netip.Addr) {
	members := map[netip.Addr]bool{}
	for _, ip := range ips {
		members[ip.Unmap().WithZone("")] = true
	}
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	g.ledger.trusted.members = members
}

// RefusedAddress is an address of which too many connections have failed.
type RefusedAddress struct {
	// Address is an IP address, or the prefix under which strangers of IPv6 count.
	Address string
	// Failures is how many count now: a minute takes away Limits.Failures of them.
	Failures int
	// Remaining is for how long it is refused or slowed; 0 if the next failure decides.
	Remaining time.Duration
	// Slowed: the address is trusted, so it is slowed and not refused.
	Slowed bool
}

// maxRefusedAddresses bounds what RefusedAddresses returns.
const maxRefusedAddresses = 16

// RefusedAddresses returns the addresses with the most failures, of those that are refused or
// slowed, or would be by another failure.
func (g *Gate) RefusedAddresses() (all []RefusedAddress) {
	l, now := g.ledger, g.opt.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for from, a := range l.at {
		a.fade(now, l.limits)
		remaining := max(a.until.Sub(now), 0)
		if remaining == 0 && a.failures < float64(l.limits.Failures) {
			continue
		}
		r := RefusedAddress{Address: from.String(), Failures: int(a.failures), Remaining: remaining,
			Slowed: l.trusted.has(from.Addr(), now)}
		if from.IsSingleIP() {
			r.Address = from.Addr().String()
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b RefusedAddress) int {
		return cmp.Or(b.Failures-a.Failures, cmp.Compare(a.Address, b.Address))
	})
	return all[:min(len(all), maxRefusedAddresses)]
}
