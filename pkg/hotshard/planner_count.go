package hotshard

// MoveCause is the reason of a move as a label. Move.Reason is the full text.
type MoveCause uint8

// To the hot shard, and home.
const (
	// CauseContended: transactions wait for the key.
	CauseContended MoveCause = iota
	// CauseColocated: it is written together with a key for which transactions wait.
	CauseColocated
	// CausePinned: an operator's rule pins it.
	CausePinned
	// CauseIdle: no transaction has waited for it for a long time.
	CauseIdle
	// CauseOverloaded: the hot shard is overloaded.
	CauseOverloaded
	// CauseFull: a pinned key needs its place on the full hot shard.
	CauseFull
	// CauseOrdered: an operator's rule bans it, or the mode excludes it.
	CauseOrdered
	NumMoveCauses
)

func (w MoveCause) String() string {
	if w >= NumMoveCauses {
		return "unknown"
	}
	return [NumMoveCauses]string{"contended", "co-located", "pinned", "idle", "overloaded", "full", "ordered"}[w]
}

// In reports whether it is a move to the hot shard.
func (w MoveCause) In() bool { return w <= CausePinned }

// PlannerCounters are monotonic counters of a planner.
type PlannerCounters struct {
	// Begun counts started moves by reason. GivenUp counts moves that failed or timed out.
	Begun   [NumMoveCauses]uint64
	GivenUp uint64
}

// Counters returns a copy of the counters.
func (p *Planner) Counters() PlannerCounters { return p.counters }

// Capacity is the maximum number of moved keys on the hot shard. Keys that were placed there when the
// cluster was created do not count.
func (p *Planner) Capacity() int { return p.opt.MaxKeys }
