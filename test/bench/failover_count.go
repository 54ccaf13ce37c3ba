package main

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// severalShards is the shard of a request that needs more than one.
const severalShards = kv.ShardID(1<<16 - 1)

// request is a request of the load, which has ended.
type request struct {
	// client is the number of the node that the client preferred, from 0.
	client int
	// shard is the only shard that it needs, or severalShards. increments: it is no read.
	shard      kv.ShardID
	increments bool
	begin, end time.Time
	err        error
}

// requests are those of one fault, in no order.
type requests []request

// of are the requests for which is holds.
func (rs requests) of(is func(*request) bool) (out requests) {
	for i := range rs {
		if is(&rs[i]) {
			out = append(out, rs[i])
		}
	}
	return out
}

// endedBy are the requests that ended at a time or before.
func (rs requests) endedBy(t time.Time) requests {
	return rs.of(func(r *request) bool { return !r.end.After(t) })
}

// firstCommit returns when the first increment on a shard that began at a time or later was acknowledged. What began
// before may have been committed before, by the leader that has died, with a response that arrived late.
func (rs requests) firstCommit(shard kv.ShardID, since time.Time) (at time.Time, ok bool) {
	for i := range rs {
		r := &rs[i]
		if r.shard == shard && r.increments && r.err == nil && !r.begin.Before(since) && (!ok || r.end.Before(at)) {
			at, ok = r.end, true
		}
	}
	return at, ok
}

// took is how long it took. Errors count: a client waits for them as well.
func (r *request) took() time.Duration { return r.end.Sub(r.begin) }

// longest returns the longest of the requests that were in flight at some time of a span, nil if there are none.
func (rs requests) longest(from, until time.Time) (longest *request) {
	for i := range rs {
		r := &rs[i]
		if !r.end.Before(from) && !r.begin.After(until) && (longest == nil || r.took() > longest.took()) {
			longest = r
		}
	}
	return longest
}

// longestTook is the duration of the longest, 0 if there are none.
func (rs requests) longestTook(from, until time.Time) time.Duration {
	if r := rs.longest(from, until); r != nil {
		return r.took()
	}
	return 0
}

// perSecond is the rate of the requests that ended well in a span, which includes its end.
func (rs requests) perSecond(from, until time.Time) float64 {
	n := 0
	for i := range rs {
		if r := &rs[i]; r.err == nil && r.end.After(from) && !r.end.After(until) {
			n++
		}
	}
	return float64(n) / until.Sub(from).Seconds()
}

// errors are those of the requests that failed.
func (rs requests) errors() (all []error) {
	for i := range rs {
		if err := rs[i].err; err != nil {
			all = append(all, err)
		}
	}
	return all
}

// lost compares counters with their acknowledged increments. lost is how many increments are missing, over all
// counters; excess how many there are that were not acknowledged.
func lost(acknowledged, found map[string]int64) (lost, excess int64) {
	for k, want := range acknowledged {
		lost += max(want-found[k], 0)
		excess += max(found[k]-want, 0)
	}
	return lost, excess
}
