package snapshotqueue

// leases are the leases of the registered readers whose gateways are in other processes.
type leases struct {
	// otherProcesses counts these readers. until is the latest lease end among the readers registered since the
	// count was last 0.
	otherProcesses int
	until          int64
}

// Counting keeps the horizon from staying in the future for a whole lease after the last reader has deregistered.
func (l *leases) add(rd *reader) {
	if rd.sameProcess {
		return
	}
	if l.otherProcesses == 0 {
		l.until = 0
	}
	l.otherProcesses++
}

func (l *leases) remove(rd *reader) {
	if !rd.sameProcess {
		l.otherProcesses--
	}
}

func (l *leases) prolong(rd *reader, until int64) {
	rd.until = max(rd.until, until)
	if !rd.sameProcess {
		l.until = max(l.until, rd.until)
	}
}

// The node stores the lease horizon durably before responses to readers leave. After a crash the next incarnation seals
// nothing before it (Options.SealFrom). A gateway in this process ends with the shard, and its readers with it; so in a
// cluster of one node a restart waits for nothing.
// LeaseHorizon returns the lease horizon: the latest end of a lease of this or an earlier incarnation, except leases
// of gateways in this process. It is in the past if there is none.
func (q *Queue) LeaseHorizon() int64 {
	until := q.earlierHorizon()
	if q.leases.otherProcesses == 0 {
		return until
	}
	return max(until, q.leases.until)
}

// HasOpenReaders reports whether readers are registered that stay so until they deregister, other than snapshot rounds:
// their next reads rely on that.
func (q *readerTable) HasOpenReaders() bool {
	for _, rd := range q.readers {
		if rd.lasting && !rd.whole {
			return true
		}
	}
	return false
}

// RegisteredUntil returns when the last lease ends of the readers that are registered now, 0 without readers. A leader
// that transfers leadership reports it: its gateways live on.
func (q *readerTable) RegisteredUntil() (until int64) {
	for _, rd := range q.readers {
		until = max(until, rd.until)
	}
	return until
}
