package snapshot

import (
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Copy is the registry as a replica of the hot shard has its rows, for reads while that shard has no leader. Rows may
// be missing that the registry has, and snapshots may be there that were dropped. So a Copy answers only what later
// rows cannot change:
//
//	by number        a number is never reused
//	as of a time     if the history has a later state: no other will be put between them
//	by name, a list  no: the name may have been given to another snapshot since
type Copy struct{ registry *Registry }

// NewCopy returns the copy with these rows, in any order; wall is the time of day.
func NewCopy(rows []*msg.Snapshot, wall int64) Copy {
	next := uint64(0)
	for _, r := range rows {
		next = max(next, r.Number+1)
	}
	return Copy{New(Options{History: time.Hour}, rows, next, wall, wall)}
}

// Find looks a snapshot up. The error is of kv.KindTooOld if it is not kept any more, and of kv.KindUnavailable if that
// needs the registry; its hint says what can be read without it.
func (c Copy) Find(q *msg.FindSnapshot) (*msg.Snapshot, *kv.Error) {
	k := c.registry
	switch {
	case q.List:
		return nil, c.unavailable("the snapshots cannot be listed")
	case q.Name != "":
		return nil, c.unknownName(q.Name)
	case q.Number != 0:
		if i, ok := k.indexOf(q.Number); ok {
			return &k.snapshots[i].Snapshot, nil
		}
		if q.Number < k.nextNumber {
			return k.FindNumber(0, q.Number)
		}
		return nil, c.unavailable(fmt.Sprintf("snapshot %d is not known here", q.Number))
	}
	return c.asOf(q.AsOf)
}

// asOf is Registry.AsOf, if a later state of the history is known.
func (c Copy) asOf(at int64) (*msg.Snapshot, *kv.Error) {
	k := c.registry
	last := k.lastOfHistory(len(k.snapshots))
	if last < 0 || k.snapshots[last].earliest <= at {
		return nil, c.unavailable("the state at " + formatTime(at) + " is not known here")
	}
	return k.stateAt(at)
}

// unavailable is the error of what needs the registry.
func (c Copy) unavailable(text string) *kv.Error {
	k := c.registry
	hint := `start the nodes that "linchpin status" shows as down; until then snapshots can be read by their ids`
	last := k.lastOfHistory(len(k.snapshots))
	last = k.lastOfHistory(max(last, 0))
	if last >= 0 {
		at := k.snapshots[last].latest + int64(time.Millisecond) - 1 // shown in milliseconds
		hint += ", and states up to " + formatTime(at) + " as of their times"
	}
	return newError(kv.KindUnavailable, text+" while the hot shard has no leader", hint)
}

// unknownName is the error for a name, with the number that it has here.
func (c Copy) unknownName(name string) *kv.Error {
	err := c.unavailable(fmt.Sprintf("the name %q cannot be looked up", name))
	for _, p := range c.registry.snapshots {
		if p.Name == name {
			err.Hint += fmt.Sprintf("; here the name is that of the snapshot of %s, whose id ends with -%d",
				formatTime(p.Time), p.Number)
		}
	}
	return err
}
