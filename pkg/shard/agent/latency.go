package agent

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// latencies are the measured latencies of commits on a shard, in nanoseconds.
type latencies struct {
	// sealedToDecision is measured by participants, requestToVotes by last agents. voteToDecision is
	// the latency of a decision that nothing delays.
	sealedToDecision, requestToVotes median
	voteToDecision                   lowPercentile
}

// lockHoldNanos estimates how long an update holds the locks of a participant, 0 if nothing is
// known. A shard that only decides uses the time for which it waits for votes.
func (p *latencies) lockHoldNanos() int64 {
	if p.sealedToDecision.nanos != 0 {
		return p.sealedToDecision.nanos
	}
	return p.requestToVotes.nanos
}

// median estimates a median. A longer sample raises it by a sixteenth, a shorter one lowers it by a
// sixteenth; so a few very long samples, as of updates that wait for others, count no more than any
// other.
type median struct{ nanos int64 }

func (t *median) add(nanos int64) {
	switch {
	case t.nanos == 0:
		t.nanos = nanos
	case nanos > t.nanos:
		t.nanos += t.nanos/16 + 1
	case nanos < t.nanos:
		t.nanos -= t.nanos / 16
	}
}

// MinWait is the shortest wait of a reader and the shortest wound delay. Somewhat arbitrary: shorter
// than a message takes between two nodes.
const MinWait = 50 * time.Microsecond

// unsealAfter is how long a reader waits for sealed updates before it requests an unseal: the median
// time from sealing to decision. The reader arrived after the sealing. If it has waited for that
// long, the update is late: probably it waits for readers on another shard, perhaps for this one.
// Message latency is not configured, so it is measured. The bound limits how long such an update
// keeps its locks.
func (p *latencies) unsealAfter() time.Duration {
	return min(max(time.Duration(p.sealedToDecision.nanos), MinWait), kv.DefaultUnsealAfter)
}

// lowPercentile estimates a latency without delays: about the 10th percentile. A shorter sample
// lowers it by an eighth, a longer one raises it by a 64th.
type lowPercentile struct{ nanos int64 }

func (q *lowPercentile) add(nanos int64) {
	switch {
	case q.nanos == 0:
		q.nanos = nanos
	case nanos > q.nanos:
		q.nanos += q.nanos/64 + 1
	case nanos < q.nanos:
		q.nanos -= q.nanos / 8
	}
}

// woundDelay is how long a prepared transaction is not wounded: twice the time of an undelayed
// decision. After that it probably waits itself, perhaps for the transaction that waits for it.
func (p *latencies) woundDelay() time.Duration {
	return max(2*time.Duration(p.voteToDecision.nanos), MinWait)
}
