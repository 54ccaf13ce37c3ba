package console

import (
	"cmp"
	"maps"
	"slices"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

const (
	// kept is how many seconds are shown.
	kept = 300
	// late is how many seconds a second is awaited: clocks differ, and nodes report a
	// second when it is over.
	late = 2
	// again is how many seconds a Document has that is not whole: a stream that missed
	// some receives them again.
	again = 10
)

// series are the seconds of all nodes. They are added up when they are shown, so that a
// late report is not lost.
type series struct {
	// nodes are by node and second.
	nodes map[uint32]map[int64]*pb.ActivitySecond
}

func newSeries() *series { return &series{nodes: map[uint32]map[int64]*pb.ActivitySecond{}} }

// since returns the last known second of each node that has reported one.
func (s *series) since() map[uint32]int64 {
	out := map[uint32]int64{}
	for n, seconds := range s.nodes {
		for at := range seconds {
			out[n] = max(out[n], at)
		}
	}
	return out
}

// take adds the report of a node, and drops seconds that are no longer shown.
func (s *series) take(a *pb.ActivityResponse, now int64) {
	m := s.nodes[a.NodeId]
	if m == nil {
		m = map[int64]*pb.ActivitySecond{}
		s.nodes[a.NodeId] = m
	}
	for i := range a.Seconds {
		m[a.Seconds[i].TimeS] = &a.Seconds[i]
	}
	maps.DeleteFunc(m, func(at int64, _ *pb.ActivitySecond) bool { return at <= now-kept-late || at > now+kept })
}

// total returns the sums of the seconds after one, up to the last that all nodes can have
// reported.
func (s *series) total(after, now int64) []Second {
	at := map[int64]map[string]*Class{}
	for _, seconds := range s.nodes {
		for t, sec := range seconds {
			if t <= after || t > now-late {
				continue
			}
			if at[t] == nil {
				at[t] = map[string]*Class{}
			}
			for i := range sec.Classes {
				add(at[t], sec.Classes[i].Kind, &sec.Classes[i])
				add(at[t], "all", &sec.Classes[i])
			}
		}
	}
	out := make([]Second, 0, len(at))
	for _, t := range slices.Sorted(maps.Keys(at)) {
		for _, c := range at[t] {
			c.P50, c.P99 = c.quantile(0.5), c.quantile(0.99)
		}
		out = append(out, Second{t, at[t]})
	}
	return out
}

func add(to map[string]*Class, kind string, c *pb.ActivityClass) {
	x := to[kind]
	if x == nil {
		x = &Class{counts: map[uint64]uint32{}}
		to[kind] = x
	}
	x.Ended += c.Ended
	x.Committed += c.Committed
	x.Retried += c.Retried
	x.Failed += c.Failed
	for i := range min(len(c.UpperUs), len(c.Counts)) {
		x.counts[c.UpperUs[i]] += c.Counts[i]
	}
}

// quantile is the upper end of the bucket that a share of the times are in or below:
// at most a quarter too much.
func (x *Class) quantile(share float64) uint64 {
	uppers := slices.SortedFunc(maps.Keys(x.counts), cmp.Compare)
	total := uint32(0)
	for _, n := range x.counts {
		total += n
	}
	sofar := uint32(0)
	for _, u := range uppers {
		sofar += x.counts[u]
		if float64(sofar) >= share*float64(total) {
			return u
		}
	}
	return 0
}
