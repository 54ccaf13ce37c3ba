package hotshard

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Cause is why a transaction waited.
type Cause uint8

// The causes of waiting.
const (
	// LockWait: a request waited for a lock on the key.
	LockWait Cause = iota
	// Held: registered readers held an update of the key.
	Held
	// ReadWait: a reader waited for the decision of updates of the key.
	ReadWait
	// Retry: an attempt aborted because of the key; the wait is the duration of the attempt.
	Retry
	// EstimatedWait: no request waited, but one would have waited if the key had been locked on a participant. See
	// Meter.RecordUse.
	EstimatedWait
	// NumCauses is the number of causes.
	NumCauses
)

var causeNames = [NumCauses]string{"lock wait", "held", "read wait", "retry", "estimated wait"}

func (c Cause) String() string {
	if c < NumCauses {
		return causeNames[c]
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}

// KeyHeat is the waiting that a key causes.
type KeyHeat struct {
	Key []byte
	// Shard is set by the shard that reports the key.
	Shard kv.ShardID
	// Heat is the measured waiting, EstimatedWait the waiting that was avoided by the placement of the key. Both are
	// decaying averages in nanoseconds per second. Keys are ranked by their sum. Heat includes Error.
	Heat, EstimatedWait float64
	// Error bounds by how much Heat is overestimated: the weight that the entry had when it was assigned to
	// this key.
	Error float64
	// Conflicts are the writes per second that conflicted with another write, or would have conflicted
	// (Meter.RecordUse); a decaying average.
	Conflicts float64
	// Nanos and Count are the sum and number of the waits since the key was entered, without decay and without
	// EstimatedWait.
	Nanos int64
	Count uint64
	// Causes splits Heat and EstimatedWait by cause; Error belongs to none. Holds are the updates per second that
	// registered readers held; a decaying average.
	Causes [NumCauses]float64
	Holds  float64
	// Holder is the last blocking transaction that was reported, zero if there is none.
	Holder kv.TxnRef
	// Since is when the key was entered, Last when its entry last changed.
	Since, Last int64
}

// Total is the weight by which keys are ranked.
func (k *KeyHeat) Total() float64 { return k.Heat + k.EstimatedWait }
