package groups

// A leader that transfers leadership while readers are registered makes the next one wait: it neither seals nor
// decides until their registrations have ended, up to D (R5.5). So before a transfer the leader grants short
// registrations, and serves until the others have ended. Then it registers no readers until the open ones have ended:
//
//	wanted ─▶ registrations are short ─▶ no long one is left, or D is over ─▶ holders of locks end (R14.3) ─▶
//	no reader is registered ─▶ open readers end, or 3/16 D are over ─▶ transfer
//
// Example. A reader was registered for 700 ms just before its node drains, and ends 3 ms later: leadership is
// transferred then. If its gateway has died, leadership is transferred after 550 ms.
//
// Hazard: a reader that is registered when leadership is transferred can neither renew nor read again at the next
// leader, and is aborted. A view continues at a snapshot after 50 ms, so short registrations must last for longer than
// that and its snapshot round: an eighth of D was too short on a busy machine.

// shortRegistration is the longest registration that a leader grants which is about to transfer leadership.
func (r transfer) shortRegistration() int64 { return int64(r.set.opt.Hold) * 3 / 16 }

// registrationsEnd returns when registrations that a step grants end at the latest, if the lease ends at a time.
func (r transfer) registrationsEnd(now, leaseEnd int64) int64 {
	if r.handover.wanted {
		return min(leaseEnd, now+r.shortRegistration())
	}
	return leaseEnd
}

// awaitReaders reports whether a transfer waits for long registrations. Until then locks are granted, and the time in
// which their holders may end has not begun.
func (r transfer) awaitReaders(now int64) bool {
	h := &r.handover
	if h.registeredBy == 0 {
		h.registeredBy = now + int64(r.set.opt.Hold)
	}
	left := r.Machine().RegisteredUntil() - r.shortRegistration()
	if h.withholds || left <= now || now >= h.registeredBy {
		h.withholds = true
		return false
	}
	h.by = now + int64(holdersTimeout)
	r.wakeAt = min(r.wakeAt, left, h.registeredBy)
	return true
}

// awaitOpenReaders reports whether a transfer waits for open readers: for as long as a short registration, at most.
func (r transfer) awaitOpenReaders(now int64) bool {
	h := &r.handover
	if h.readersBy == 0 {
		h.readersBy = now + r.shortRegistration()
	}
	if now >= h.readersBy || !r.Machine().HasOpenReaders() {
		return false
	}
	r.wakeAt = min(r.wakeAt, h.readersBy)
	return true
}
