package agent

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// pace is how long the steps of a commit take here, as measured.
type pace struct {
	// decisions is the time from sealing to the decision, parked that from the CommitRequest to all votes,
	// and promises that from a vote to the decision if nothing is in the way.
	decisions, parked typical
	promises          quick
}

// hold is how long an update mostly keeps its keys locked, in nanoseconds.
func (p *pace) hold() int64 {
	if p.decisions.nanos != 0 {
		return p.decisions.nanos
	}
	return p.parked.nanos
}

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

// LeastWait is what a reader waits for at least. Somewhat arbitrary: less
// is nothing beside the time of a message in one place.
const LeastWait = 50 * time.Microsecond

// unsealAfter is how long a reader waits for sealed updates before it has them unsealed: the typical
// time from sealing to the decision. The reader came after the sealing; when it has waited for that
// long the update is late, and probably waits for readers elsewhere, perhaps for this one. How long
// messages take is not known beforehand; and as long as a reader waits for what will not come, the
// update keeps its locks.
func (p *pace) unsealAfter() time.Duration {
	return min(max(time.Duration(p.decisions.nanos), LeastWait), kv.DefaultUnsealAfter)
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

// woundDelay is how long a transaction that has voted is left alone before it is wounded: twice the
// time that its decision takes when nothing is in the way. By then it probably waits itself, perhaps
// for the transaction that waits for it.
func (p *pace) woundDelay() time.Duration { return max(2*time.Duration(p.promises.nanos), LeastWait) }
