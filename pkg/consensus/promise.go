package consensus

// promise is what binds a voter not to help to replace a leader (R3.1 to R3.4). It needs no disk write: a voter
// that has restarted grants nothing for the longest time that it may have promised before.
type promise struct {
	// until is when the promises to other leaders end, and to is the greatest term of these leaders.
	until int64
	to    Term
	// own is when the longest lease that this replica had as a leader ends, and ownTerm is its last term as a
	// leader (R3.3). Without it a leader that has stepped down helps to elect a successor while gateways still
	// count on registrations that it granted.
	own     int64
	ownTerm Term
	// start ends the time after a restart in which promises may exist that the replica has forgotten (R3.2).
	start int64
}

// bind promises a leader of a term not to help to replace it before a time.
func (p *promise) bind(to Term, until int64) {
	p.until, p.to = max(p.until, until), max(p.to, to)
}

// bindSelf restricts a replica that has led in a term.
func (p *promise) bindSelf(term Term, leaseEnd int64) {
	p.own, p.ownTerm = max(p.own, leaseEnd), max(p.ownTerm, term)
}

// end is called when a leader of a term has transferred leadership. That ends the promises to it and to leaders
// of earlier terms, and its own restriction (R5.4).
//
// What the replica may have promised before a restart stays: it does not know to which term.
func (p *promise) end(of Term) {
	if p.to <= of {
		p.until = 0
	}
	if p.ownTerm <= of {
		p.own = 0
	}
}

// ends is when the replica may vote and campaign.
func (p *promise) ends() int64 { return max(p.until, p.own, p.start) }
