package shard

import (
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Disk is how much room the disk below a shard's log has.
type Disk int32

const (
	// DiskRoomy is the usual case.
	DiskRoomy Disk = iota
	// DiskLow: less is free than the reserve. What only deletes is still written.
	DiskLow
	// DiskFull: nothing new is written at all.
	DiskFull
)

// When the disk below the log is nearly full (Input.Disk), a shard refuses
// what is new and would be written down: pieces to prepare, and pieces to
// decide, unless they are of this shard alone and only read. So what is left
// of the disk is for those who need it to end: what is prepared is decided and
// applied, enquiries are answered, and old versions go. What reads without
// locks is served as ever.
//
// Who wants room has to delete, and a deletion is a write. So at DiskLow a
// piece that writes is let in if all that it writes here is deletions of keys.
// What the transaction does on other shards is not known here, and theirs to
// judge. A deletion costs some hundred bytes now, and gives the key's room back
// when nobody reads its past any more. At DiskFull it is refused as well, so
// that a part of the reserve is there for what must end, whatever is deleted.
//
// A piece that others have voted for is refused as well: their votes do not
// bind this shard, and where most transactions span shards there would be no
// end to such pieces.

// retryNoRoom is when to come back for want of room. Somewhat arbitrary: somebody has
// to do something about it, which takes longer than a client should be kept waiting
// without a word, so clients give up at once (pkg/client).
const retryNoRoom = 10 * time.Second

// noRoom refuses a task for which there is no room on the disk.
func (m *Machine) noRoom(t *task) *msg.Failure {
	switch {
	case m.disk == DiskRoomy:
		return nil
	case t.kind == taskPrepare:
	case t.kind == taskPark && !t.rec.Park.Snapshot && (len(t.rec.Park.Participants) > 0 || writes(t.ops)):
	default:
		return nil
	}
	where := m.diskText
	if where == "" {
		where = fmt.Sprintf("where shard %v writes less is free than the reserve", m.cfg.ID)
	}
	what, hint := "so nothing new is written there", "make room on that node's disk"
	if m.disk == DiskLow {
		if onlyDeletes(t.ops) {
			return nil
		}
		what, hint = "so only deletions are written there", "delete what is not needed, or make room on that node's disk"
	}
	m.stats.NoRoom++
	return &msg.Failure{Reason: msg.ReasonExhausted, Kind: uint32(kv.KindExhausted), RetryAfterNanos: int64(retryNoRoom),
		Text: fmt.Sprintf("disk: %s, %s", where, what),
		Hint: hint + "; it goes on by itself, and serves reads meanwhile"}
}

func writes(ops []msg.Op) bool {
	for i := range ops {
		if ops[i].Writes() {
			return true
		}
	}
	return false
}

// onlyDeletes reports whether ops delete keys, or have them expire, and write nothing else. Methods that
// take something out of a value do not count: they write the value, or what is
// changed of it.
func onlyDeletes(ops []msg.Op) (deletes bool) {
	for i := range ops {
		switch ops[i].Kind {
		case msg.OpDelete, msg.OpDeleteRange, msg.OpDeleteExpired:
			deletes = true
		default:
			if ops[i].Writes() {
				return false
			}
		}
	}
	return deletes
}
