package hotshard

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Cause is why somebody waited.
type Cause uint8

// The causes of waiting.
const (
	// LockWait: a request waited for a lock of the key.
	LockWait Cause = iota
	// Held: an update of the key was held by readers before it.
	Held
	// ReadWait: a reader waited for updates of the key to be decided.
	ReadWait
	// Retry: an attempt died because of the key, and its time was lost.
	Retry
	// WouldWait: nobody waited, but somebody would have, had the key been
	// locked on a participant. See Meter.Ran.
	WouldWait
	// NumCauses is how many there are.
	NumCauses
)

var causeNames = [NumCauses]string{"lock wait", "held", "read wait", "retry", "would wait"}

func (c Cause) String() string {
	if c < NumCauses {
		return causeNames[c]
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}

// KeyHeat says how much waiting a key causes.
type KeyHeat struct {
	Key []byte
	// Heat is the waiting that there was, and Would that which there would
	// have been, both in nanoseconds per second, of which what is older counts
	// less. Keys are ranked by the sum. All of Error is in Heat.
	Heat, Would float64
	// Error is by how much Heat may be too large: the waiting for other keys,
	// or this one, that the entry had summed up before it became this key's.
	Error float64
	// Clashes are the writes per second that another write was in the way of,
	// or would have been (Meter.Ran), of which what is older counts less.
	Clashes float64
	// Nanos and Count sum up the waits since the key was entered, without
	// decay and without WouldWait.
	Nanos int64
	Count uint64
	// Causes are Heat and Would by cause; what the entry had before it became
	// this key's is in none. Holds are the updates per second that readers held
	// back, of which what is older counts less.
	Causes [NumCauses]float64
	Holds  float64
	// Holder is the transaction that was last waited for, if one was told.
	Holder kv.TxnRef
	// Since is when the key was entered, Last when it was last charged.
	Since, Last int64
}

// Total is what keys are ranked by.
func (k *KeyHeat) Total() float64 { return k.Heat + k.Would }
