package snapshotqueue

import "github.com/linchpindb/linchpin/pkg/mutant"

// leases are those of the registered readers.
type leases struct {
	// elsewhere counts the readers that do not end when this process does, and until is when
	// the last lease ends of those registered since there was none.
	elsewhere int
	until     int64
}

func (l *leases) enter(rd *reader) {
	if rd.endsHere {
		return
	}
	if l.elsewhere == 0 {
		l.until = 0
	}
	l.elsewhere++
}

func (l *leases) leave(rd *reader) {
	if !rd.endsHere {
		l.elsewhere--
	}
}

func (l *leases) prolong(rd *reader, until int64) {
	rd.until = max(rd.until, until)
	if !rd.endsHere {
		l.until = max(l.until, rd.until)
	}
}

// LeasesUntil returns when the last lease ends of the readers that are registered, or that
// earlier incarnations may have registered, those aside that end with this process. It is the
// past if there is none.
func (q *Queue) LeasesUntil() int64 {
	until := q.opt.SealFrom
	if q.opt.Mutants.Has(mutant.EarlierLeasesForgotten) {
		until = 0
	}
	if q.leases.elsewhere == 0 {
		return until
	}
	return max(until, q.leases.until)
}
