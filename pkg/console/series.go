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
	// late is for how many seconds a node's last one is waited for: clocks differ, and
	// a second is told when it is over.
	late = 2
	// again is how many seconds a Document has that is not a whole one: a stream that
	// misses some is sent them again.
	again = 10
)

// series are the seconds of all nodes, which are added up when they are shown: what
// a node tells late is not lost.
type series struct {
	// nodes are by node and second.
	nodes map[uint32]map[int64]*pb.ActivitySecond
}

func newSeries() *series { return &series{nodes: map[uint32]map[int64]*pb.ActivitySecond{}} }

// since is the last second that is known of each node. Nodes of which nothing is
// known are not in it.
func (s *series) since() map[uint32]int64 {
	out := map[uint32]int64{}
	for n, seconds := range s.nodes {
		for at := range seconds {
			out[n] = max(out[n], at)
		}
	}
	return out
}

// take keeps what a node tells, and forgets what is older than is shown.
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

// total adds up the seconds after one, to the last that all nodes can have told.
func (s *series) total(after, now int64) []Second {
	at := map[int64]map[string]*sum{}
	for _, seconds := range s.nodes {
		for t, sec := range seconds {
			if t <= after || t > now-late {
				continue
			}
			if at[t] == nil {
				at[t] = map[string]*sum{}
			}
			for i := range sec.Classes {
				add(at[t], sec.Classes[i].Kind, &sec.Classes[i])
				add(at[t], "all", &sec.Classes[i])
			}
		}
	}
	out := make([]Second, 0, len(at))
	for _, t := range slices.Sorted(maps.Keys(at)) {
		sec := Second{Time: t, Classes: map[string]Class{}}
		for kind, c := range at[t] {
			sec.Classes[kind] = c.class()
		}
		out = append(out, sec)
	}
	return out
}

// sum adds up one kind of several nodes.
type sum struct {
	ended, failed uint32
	counts        map[uint64]uint32 // by the upper end of the bucket
}

func add(to map[string]*sum, kind string, c *pb.ActivityClass) {
	x := to[kind]
	if x == nil {
		x = &sum{counts: map[uint64]uint32{}}
		to[kind] = x
	}
	x.ended, x.failed = x.ended+c.Ended, x.failed+c.Failed
	for i := range min(len(c.UpperUs), len(c.Counts)) {
		x.counts[c.UpperUs[i]] += c.Counts[i]
	}
}

func (x *sum) class() Class {
	return Class{Ended: x.ended, Failed: x.failed, P50: x.quantile(0.5), P99: x.quantile(0.99)}
}

// quantile is the upper end of the bucket that a share of the times are in or below:
// at most a quarter too much.
func (x *sum) quantile(share float64) uint64 {
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
