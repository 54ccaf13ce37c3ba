package groups

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

// fills are the replicas of a group that were sent a Raft snapshot and have not caught up. For them the leader keeps
// the log from the position of those rows on, although it is long (R6.5). Otherwise a shard that is written fast is
// never complete on a new node:
//
//	rows of position 100 are sent ─▶ the log is cut up to 900 ─▶ they arrive, 101 is missing ─▶ rows of 900 are sent
type fills map[consensus.ReplicaID]fill

type fill struct {
	// at is the position of the rows.
	at consensus.Position
	// until is when the log is kept no longer, once they have arrived.
	until int64
}

// keptAfter is for how long the log is kept for a replica after its rows have arrived, if it does not catch up.
const keptAfter = 10 * time.Minute

// end records that rows have arrived, or not.
func (f fills) end(now int64, to consensus.ReplicaID, delivered bool) {
	if x, ok := f[to]; ok && delivered {
		f[to] = fill{x.at, now + int64(keptAfter)}
	} else {
		delete(f, to)
	}
}

// limit bounds the position up to which the log is cut. It forgets who has caught up, and what is too old.
func (f fills) limit(now int64, to consensus.Position, others []consensus.Follower) consensus.Position {
	behind := fills{}
	for i := range others {
		o := &others[i]
		if x, ok := f[o.ID]; ok && now < x.until && !(o.IsCurrent && o.Has >= x.at) {
			behind[o.ID] = x
			to = min(to, max(x.at, o.Has))
		}
	}
	for id := range f {
		if _, ok := behind[id]; !ok {
			delete(f, id)
		}
	}
	return to
}
