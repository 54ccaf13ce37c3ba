package hotshard

// Why is why a move is begun, in one word. Move.Reason says it in full.
type Why uint8

// To the hot shard, and home.
const (
	// WhyWaiting: transactions wait for the key.
	WhyWaiting Why = iota
	// WhyTogether: it is written together with one for which they wait.
	WhyTogether
	// WhyPinned: the operator wants it there.
	WhyPinned
	// WhyQuiet: nobody has waited for it for long.
	WhyQuiet
	// WhyBusy: the hot shard has too much to do.
	WhyBusy
	// WhyRoom: the hot shard has no room for a key that is pinned.
	WhyRoom
	// WhyOrdered: the operator has banned it, or moves at all.
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

// PlannerCounters count what a planner did; they only rise.
type PlannerCounters struct {
	// Begun counts moves that were begun, by why. GivenUp counts those of which
	// nothing was heard in time, or that failed.
	Begun   [NumWhys]uint64
	GivenUp uint64
}

// Counters tells what the planner did so far.
func (p *Planner) Counters() PlannerCounters { return p.counters }

// Capacity is how many keys may be on the hot shard, those apart that were put
// there when the cluster was made.
func (p *Planner) Capacity() int { return p.opt.MaxKeys }
