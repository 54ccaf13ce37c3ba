package msg

// Worst is the receipt that tells more: of a wait that lasts rather than of one
// that is over, and then of the longer one.
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

// Told is a receipt in a message that has none if there was no wait.
func (r Receipt) Told() *Receipt {
	if r.WaitedNanos == 0 {
		return nil
	}
	told := r // else the parameter would be on the heap in any case
	return &told
}

// Contention reports whether it was other transactions that ended an attempt.
func (r Reason) Contention() bool {
	return r == ReasonWounded || r == ReasonStaleGrant || r == ReasonStaleRead
}
