package node

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// contentionCounters are the metrics of waits and aborts by the two conflicting operations. The labels of a
// kind of conflict are made once. After that, a lookup reads an immutable map without a lock; a new kind
// replaces the map.
type contentionCounters struct {
	known atomic.Pointer[map[conflictKind]*metrics.Contention]
	mu    sync.Mutex // held while known is replaced
}

// conflictKind is the part of a receipt that determines the labels.
type conflictKind struct {
	activity.Pair
	cause msg.Cause
}

// maxConflictKinds bounds the kinds. Modes and methods arrive in other nodes' messages, so this node does
// not control their number.
const maxConflictKinds = 1024

func (c *contentionCounters) counter(m *metrics.Node, r *msg.Receipt) *metrics.Contention {
	k := conflictKind{activity.PairOf(r), r.Cause}
	known := c.known.Load()
	if known != nil {
		if h := (*known)[k]; h != nil {
			return h
		}
	}
	return c.addKind(m, k)
}

func (c *contentionCounters) addKind(m *metrics.Node, k conflictKind) *metrics.Contention {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[conflictKind]*metrics.Contention{}
	if known := c.known.Load(); known != nil {
		if len(*known) >= maxConflictKinds {
			return m.Contention(metrics.OtherConflicts)
		}
		next = maps.Clone(*known)
	}
	h := m.Contention(k.labels())
	next[k] = h
	c.known.Store(&next)
	return h
}

// labels describe the two operations: "get and put", "add on a set".
func (k *conflictKind) labels() metrics.Conflict {
	return metrics.Conflict{Operation: describe(k.Methods, k.Mode), Holder: describe(k.HolderMethods, k.HolderMode),
		Cause: strings.ToLower(strings.TrimPrefix(k.cause.String(), "Cause"))}
}

func describe(methods uint64, mode uint64) string {
	if methods == 0 && adt.Mode(mode) == adt.ModeNone {
		return "unknown"
	}
	return adt.Methods(methods).Noun(adt.Mode(mode))
}

// abortCause returns the conflict that aborted attempts of a transaction. If it is unknown, the receipt has
// the cause only.
func abortCause(e *txn.Ended) *msg.Receipt {
	switch {
	case e.By != nil:
		return e.By
	case e.Reason == msg.ReasonWounded:
		return &msg.Receipt{Cause: msg.CauseWound}
	}
	return &msg.Receipt{Cause: msg.CauseChanged}
}
