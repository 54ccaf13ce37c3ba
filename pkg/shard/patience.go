package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// typical is the median of times, nearly: it moves up when a longer time comes
// and down when a shorter one does, by a sixteenth. A few times that are very
// long, as those of updates that wait for others, move it as little as any.
type typical struct{ nanos int64 }

func (t *typical) note(nanos int64) {
	switch {
	case t.nanos == 0:
		t.nanos = nanos
	case nanos > t.nanos:
		t.nanos += t.nanos/16 + 1
	case nanos < t.nanos:
		t.nanos -= t.nanos / 16
	}
}

// leastPatience is what a reader waits for at least. Somewhat arbitrary: less
// is nothing beside the time of a message in one place.
const leastPatience = 50 * time.Microsecond

// patience is for how long a reader waits for sealed updates before it has
// them unsealed: what it mostly takes from sealing to the decision. It came
// after the sealing; so when it has waited for that long, the update is late,
// and probably waits for readers elsewhere, for this one perhaps. How long
// messages take is not known beforehand; and as long as a reader waits for
// what will not come, the update keeps locked what it has locked.
func (m *Machine) patience() time.Duration {
	if m.cfg.UnsealAfter != 0 || m.decisions.nanos == 0 {
		return 0 // the queue's own
	}
	return min(max(time.Duration(m.decisions.nanos), leastPatience), kv.DefaultUnsealAfter)
}

// quick is what something takes if nothing is in its way: about a tenth of the
// times are shorter. It moves down by an eighth, and up by a 64th.
type quick struct{ nanos int64 }

func (q *quick) note(nanos int64) {
	switch {
	case q.nanos == 0:
		q.nanos = nanos
	case nanos > q.nanos:
		q.nanos += q.nanos/64 + 1
	case nanos < q.nanos:
		q.nanos -= q.nanos / 8
	}
}

// grace takes down how long it was from a vote to its decision, and has whoever
// has voted left alone for twice as long as it takes when nothing is in the way.
// By then it probably waits for somebody itself, perhaps for the one who waits for
// it; and all who are caught up in that wait until one of them is told.
func (m *Machine) grace(nanos int64) {
	m.promises.note(nanos)
	m.locks.SetGrace(max(2*time.Duration(m.promises.nanos), leastPatience))
}
