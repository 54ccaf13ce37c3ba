package msg

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// CSNs returns a vector clock in the form of messages and rows.
func CSNs(c *vclock.Clock) []ShardCSN {
	out := make([]ShardCSN, 0, len(c.Entries()))
	for _, e := range c.Entries() {
		out = append(out, ShardCSN{Shard: e.Shard, CSN: e.CSN})
	}
	return out
}

// Clock returns the vector clock of such a list.
func Clock(csns []ShardCSN) *vclock.Clock {
	c := &vclock.Clock{}
	for _, x := range csns {
		c.Raise(x.Shard, x.CSN)
	}
	return c
}

// At is the CSN of a shard in the snapshot.
func (m *Snapshot) At(s kv.ShardID) kv.CSN {
	for _, x := range m.Clock {
		if x.Shard == s {
			return x.CSN
		}
	}
	return 0
}
