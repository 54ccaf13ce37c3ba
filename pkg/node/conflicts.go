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

// conflicts finds the counters of who waits for whom. What a receipt says is put
// into words once for each kind of conflict; from then on that is a look into a
// map that does not change: when there is a new kind, there is a new map.
type conflicts struct {
	known atomic.Pointer[map[conflict]*metrics.Contention]
	mu    sync.Mutex // for whoever replaces known
}

// conflict is what the words of a receipt depend on.
type conflict struct {
	activity.Pair
	cause msg.Cause
}

// maxConflicts bounds the kinds that are known. Modes and methods come from
// other nodes' messages, so that their number is not ours to say.
const maxConflicts = 1024

func (c *conflicts) of(m *metrics.Node, r *msg.Receipt) *metrics.Contention {
	k := conflict{activity.PairOf(r), r.Cause}
	known := c.known.Load()
	if known != nil {
		if h := (*known)[k]; h != nil {
			return h
		}
	}
	return c.learn(m, k)
}

func (c *conflicts) learn(m *metrics.Node, k conflict) *metrics.Contention {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[conflict]*metrics.Contention{}
	if known := c.known.Load(); known != nil {
		if len(*known) >= maxConflicts {
			return m.Contention(metrics.OtherConflicts)
		}
		next = maps.Clone(*known)
	}
	h := m.Contention(k.words())
	next[k] = h
	c.known.Store(&next)
	return h
}

// words are what the labels say: "get and put", "add on a set".
func (k *conflict) words() metrics.Conflict {
	return metrics.Conflict{Operation: noun(k.Methods, k.Mode), Holder: noun(k.HolderMethods, k.HolderMode), Cause: strings.ToLower(strings.TrimPrefix(k.cause.String(), "Cause"))}
}

func noun(methods uint64, mode uint64) string {
	if methods == 0 && adt.Mode(mode) == adt.ModeNone {
		return "unknown"
	}
	return adt.Methods(methods).Noun(adt.Mode(mode))
}

// endedBy is what the attempts of a transaction had to give way to. Where that is
// not known there is at least the cause.
func endedBy(e *txn.Ended) *msg.Receipt {
	switch {
	case e.By != nil:
		return e.By
	case e.Reason == msg.ReasonWounded:
		return &msg.Receipt{Cause: msg.CauseWound}
	}
	return &msg.Receipt{Cause: msg.CauseChanged}
}
