package kv

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the closed list of ways in which a request can fail. Whether to try
// again is a property of the kind; the gRPC code of each stands in one table
// in package server.
type Kind uint8

const (
	KindOK Kind = iota
	// KindInvalid: the request can never succeed as it is.
	KindInvalid
	// KindWrongType: the operation does not exist for the key's data type.
	KindWrongType
	// KindConditionFailed: a require, put-if-absent or compare-and-set did not
	// hold, so nothing of the transaction was applied.
	KindConditionFailed
	// KindOutOfRange: a counter would have left its bounds, or the range of 64 bits.
	KindOutOfRange
	// KindAborted: the attempt lost against a conflicting transaction, or
	// something it relied on is gone. Another attempt may succeed.
	KindAborted
	// KindUnavailable: a shard that the request needs cannot be reached.
	// Nothing was applied.
	KindUnavailable
	// KindOutcomeUnknown: the answer to a commit was lost. The outcome can be asked
	// for by the transaction's id.
	KindOutcomeUnknown
	// KindTooOld: the id is older than what the store remembers.
	KindTooOld
	// KindResourceExhausted: a bounded queue is full, or the disk's reserve is used
	// up. Nothing was applied.
	KindResourceExhausted
	// KindDeadlineExceeded: the deadline passed first. Nothing was applied.
	KindDeadlineExceeded
	// KindCancelled: the caller went away. Nothing was applied.
	KindCancelled
	// KindNotFound: what was named does not exist: a snapshot, a user, a bounded counter.
	KindNotFound
	// KindInternal: linchpin broke a promise to itself.
	KindInternal
	// KindCorrupt: stored bytes are not what was written.
	KindCorrupt
	// KindUnauthenticated: the caller has not shown who it is, or nobody of
	// that name may come in.
	KindUnauthenticated
	// KindPermissionDenied: the caller is known, and may not do this. Nothing was applied.
	KindPermissionDenied
	// KindResultsLost: the transaction has committed, and its results are no longer
	// known. Only clients report it.
	KindResultsLost
	// KindClosed: the client was closed first. Nothing was applied. Only clients
	// report it.
	KindClosed
	kindEnd
)

var kindNames = [kindEnd]string{
	"OK", "Invalid", "WrongType", "ConditionFailed", "OutOfRange", "Aborted", "Unavailable",
	"OutcomeUnknown", "TooOld", "ResourceExhausted", "DeadlineExceeded", "Cancelled", "NotFound",
	"Internal", "Corrupt", "Unauthenticated", "PermissionDenied", "ResultsLost", "Closed",
}

func (k Kind) String() string {
	if k < kindEnd {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Kinds lists every kind, OK first.
func Kinds() []Kind {
	ks := make([]Kind, kindEnd)
	for i := range ks {
		ks[i] = Kind(i)
	}
	return ks
}

// OfClient reports whether only clients report the kind, and no node does.
func (k Kind) OfClient() bool { return k == KindResultsLost || k == KindClosed }

// Retryable reports whether the same request may succeed if it is made again
// as a new transaction. An unknown outcome is not retryable: it must be
// enquired about first.
func (k Kind) Retryable() bool {
	return k == KindAborted || k == KindUnavailable || k == KindResourceExhausted
}

// Error is a failure with its kind: what happened, to which key, and what the
// caller can do about it.
type Error struct {
	Kind Kind
	// Text says what happened, without a final stop.
	Text string
	// Key is the key concerned; empty when there is none.
	Key []byte
	// Op is the number of the operation concerned, from 0; -1 when there is
	// none.
	Op int
	// Hint says what to do about it; it may be empty.
	Hint string
	// RetryAfter is how long to wait before trying again, for KindResourceExhausted; 0
	// if nobody knows.
	RetryAfter time.Duration
	// ServerTime is the node's clock, in nanoseconds since 1970, if it was the time
	// in the transaction's id that was refused; else 0.
	ServerTime int64
	// Down is the node that is known to be down and has a shard that was needed;
	// nil if that is not why.
	Down *Down
}

func (e *Error) Error() string {
	s := e.Kind.String() + ": " + e.Text
	if len(e.Key) > 0 {
		s += fmt.Sprintf(" (key %q)", e.Key)
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is makes errors.Is(err, &Error{Kind: k}) compare kinds.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Text == ""
}

// Errorf makes an Error about no operation in particular.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Text: fmt.Sprintf(format, args...), Op: -1}
}

// TextOf gives what an error made here says, without its kind, however deeply
// wrapped, and all that any other says.
func TextOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Text
	}
	return err.Error()
}

// KindOf gives the kind of an error made here, however deeply wrapped, OK for
// nil, and Internal for any other.
func KindOf(err error) Kind {
	if err == nil {
		return KindOK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}
