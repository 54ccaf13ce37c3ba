package env

import "github.com/linchpindb/linchpin/pkg/kv"

// RetainedState is what a gateway knows of the state of a shard at which it reads: which incarnation has confirmed that
// it keeps the state, and until when, by Env.Now. An incarnation keeps a state for kv.DefaultScanRetention from each
// request on; the gateway counts a tenth less, from the sending of the request.
type RetainedState struct {
	Incarnation kv.Incarnation
	Until       int64
}

// Confirm records the response of an incarnation to a request that was sent at a time. It reports false if the response
// must not be used: the next leader serves the states of earlier ones (R14.2), and cannot know whether this one was
// still kept when its leader ended. It was if the response arrives within the time for which that leader kept it.
//
//	leader 1    keeps state c for R, which is silent; after 60 s it collects a version that c has
//	leader 2    begins, and R reads at c
//
// Without leases, no time of the leader is compared with one of the gateway: the state ends with its leader.
//
// A response without an incarnation is from the rows of a replica, which has verified that the state is there. It says
// nothing about for how long the leader keeps it.
func (k *RetainedState) Confirm(e *Env, inc kv.Incarnation, sent int64) bool {
	if inc == 0 {
		return true
	}
	if inc > k.Incarnation && (e.NoLeases || !e.isRetained(k.Until)) {
		return false
	}
	k.Incarnation = max(k.Incarnation, inc)
	k.Until = max(k.Until, sent+int64(kv.DefaultScanRetention)*9/10)
	return true
}
