package consensus

import "time"

// Causes are what a replica knows of elections, for logs and statistics.
type Causes struct {
	// Elected is how the replica became the leader of its term. It is of no meaning if the replica does not lead.
	Elected Election
	// Lost is why the last leadership of the replica has ended. It is of no meaning if the replica has not led.
	Lost Loss
	// Campaigns counts the elections that the replica has begun.
	Campaigns uint64
	// followed is when the replica accepted the last message of a leader or led, by its own clock; 0 if it has done
	// neither.
	followed int64
}

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
	// ClockOff is the rate of the node's clock (R10.8).
	ClockOff
)

func (c *Causes) onElected(now int64, transferred bool) {
	c.Lost, c.Elected = LaterTerm, Election{Transferred: transferred}
	if c.followed != 0 {
		c.Elected.Silent = time.Duration(now - c.followed)
	}
}
