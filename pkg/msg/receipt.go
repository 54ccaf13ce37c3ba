package msg

// Worst returns the receipt to report: that of a wait in progress before that of a completed one, and then
// the longer one.
func Worst(a, b Receipt) Receipt {
	if b.Open != a.Open {
		if b.Open {
			return b
		}
		return a
	}
	if b.WaitedNanos > a.WaitedNanos {
		return b
	}
	return a
}

// OrNil returns the receipt for an optional field: nil if there was no wait.
func (r Receipt) OrNil() *Receipt {
	if r.WaitedNanos == 0 {
		return nil
	}
	copied := r // a copy, so that r itself escapes to the heap only here
	return &copied
}

// IsContention reports whether other transactions ended the attempt.
func (r Reason) IsContention() bool {
	return r == ReasonWounded || r == ReasonStaleGrant || r == ReasonStaleRead
}
