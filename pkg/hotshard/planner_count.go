package hotshard

// Why is the reason of a move as a label. Move.Reason is the full text.
type Why uint8

// To the hot shard, and home.
const (
	// WhyWaiting: transactions wait for the key.
	WhyWaiting Why = iota
	// WhyTogether: it is written together with a key for which transactions wait.
	WhyTogether
	// WhyPinned: an operator's rule pins it.
	WhyPinned
	// WhyQuiet: no transaction has waited for it for a long time.
	WhyQuiet
	// WhyBusy: the hot shard is overloaded.
	WhyBusy
	// WhyRoom: a pinned key needs its place on the full hot shard.
	WhyRoom
	// WhyOrdered: an operator's rule bans it, or the mode excludes it.
	WhyOrdered
	NumWhys
)

func (w Why) String() string {
	if w >= NumWhys {
		return "unknown"
	}
	return [NumWhys]string{"contended", "co-located", "pinned", "idle", "overloaded", "full", "ordered"}[w]
}

// In reports whether it is a move to the hot shard.
func (w Why) In() bool { return w <= WhyPinned }

// PlannerCounters are monotonic counters of a planner.
type PlannerCounters struct {
	// Begun counts started moves by reason. GivenUp counts moves that failed or timed out.
	Begun   [NumWhys]uint64
	GivenUp uint64
}

// Counters returns a copy of the counters.
func (p *Planner) Counters() PlannerCounters { return p.counters }

// Capacity is the maximum number of moved keys on the hot shard. Keys that were placed there when the
// cluster was created do not count.
func (p *Planner) Capacity() int { return p.opt.MaxKeys }
