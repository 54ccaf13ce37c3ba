package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Limits bound what is open, and what strangers can use up.
type Limits struct {
	// Connections bounds all connections. Default 16384; below what the process
	// may have open files. Strangers, HTTP, administrators and the other nodes have places
	// of their own among them, and users the rest (places), one at most a quarter of what
	// is free.
	Connections int
	// Strangers bounds the connections whose callers are not known yet, in all.
	// Default 256, each of which costs about 150 KiB.
	Strangers int
	// Web bounds those of them that came by way of HTTP, where they have places of
	// their own, so that health checks do not wait for others. Default 64.
	Web int
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
	fill(&l.Web, 64)
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
	for name, n := range map[string]int64{"Connections": int64(l.Connections), "Strangers": int64(l.Strangers),
		"Web": int64(l.Web), "PerAddress": int64(l.PerAddress),
		"Tries": int64(l.Tries), "Failures": int64(l.Failures), "Timeout": int64(l.Timeout), "Longest": int64(l.Longest)} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("guard: %s is %d, must not be negative", name, n))
		}
	}
	return errors.Join(errs...)
}

// places are how many connections of each kind there may be.
type places struct {
	// users are known callers, administrators those slots that only administrators get,
	// nodes the other nodes; strangers are by port.
	users, administrators, nodes int
	strangers                    [numPorts]int
}

// places deals out the connections. Where there are few, for want of files, each kind
// has its part of them.
func (l Limits) places() places {
	p := places{nodes: min(maxNodeConnections, max(l.Connections/8, 1))}
	p.strangers[Calls] = min(l.Strangers, max(l.Connections/4, 1))
	p.strangers[Web] = min(l.Web, max(l.Connections/8, 1))
	p.administrators = min(maxAdministrators, max(l.Connections/16, 1))
	p.users = max(l.Connections-p.administrators-p.nodes-p.strangers[Calls]-p.strangers[Web], 1)
	return p
}

// maxAdministrators are enough for a few administrators and their tools. Somewhat
// arbitrary.
const maxAdministrators = 16

// maxNodeConnections are two for each node of the largest cluster: an old one may be
// there still when a new one comes.
const maxNodeConnections = 2 * kv.MaxNodes
