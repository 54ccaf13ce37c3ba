package consensus

import "time"

// Election is how a replica became the leader of its term.
type Election struct {
	// Transferred: the previous leader transferred leadership (R5.3). Otherwise it was silent.
	Transferred bool
	// Silent is for how long the replica had accepted no message of a leader and had not led itself; 0 if it has done
	// neither since its start.
	Silent time.Duration
}

// Loss is why a replica does not lead any more.
type Loss uint8

const (
	// LaterTerm is a message of a later term, mostly of the next leader.
	LaterTerm Loss = iota
	// LostLease is a lease that no majority has renewed for Hold (R3.8).
	LostLease
	// FailedTransfer is a transfer after which no replica has taken over (R5.6).
	FailedTransfer
	// IsUnfit is damage of the replica's log or rows (R6.13, R6.15).
	IsUnfit
)

// causes are what a replica knows of elections, for logs and statistics.
type causes struct {
	campaigns uint64
	// accepted is when the replica accepted the last message of a leader or led, by its own clock; 0 if it has done
	// neither.
	accepted int64
	elected  Election
	lost     Loss
}

// Elected returns how the replica became the leader of its term. It is of no meaning if the replica does not lead.
func (r *Replica) Elected() Election { return r.causes.elected }

// Lost returns why the last leadership of the replica has ended. It is of no meaning if the replica has not led.
func (r *Replica) Lost() Loss { return r.causes.lost }

// Campaigns counts the elections that the replica has begun.
func (r *Replica) Campaigns() uint64 { return r.causes.campaigns }

// observeElection records how the replica has become the leader of its term.
func (r *Replica) observeElection() {
	r.causes.lost = LaterTerm
	r.causes.elected = Election{Transferred: r.campaignFor != 0 && r.campaignFor+1 == r.term}
	if at := r.causes.accepted; at != 0 {
		r.causes.elected.Silent = time.Duration(r.now - at)
	}
}

// overdue returns why a leader has to step down now, if it has to.
func (r *Replica) overdue() (why Loss, must bool) {
	switch {
	case r.transfer.hasFailed(r.now, r.cfg.Hold):
		return FailedTransfer, true
	case r.now >= r.lease.since+int64(r.cfg.Hold):
		return LostLease, true
	}
	return 0, false
}

func (r *Replica) campaign() {
	r.causes.campaigns++
	_ = r.raw.Campaign() // a replica that may not campaign ignores it
}
