package kv

import (
	"errors"
	"fmt"
	"time"
)

// Kind is a kind of error. The list is closed. Whether a request can be retried is a property of
// the kind; package server maps kinds to gRPC codes.
type Kind uint8

const (
	KindOK Kind = iota
	// KindInvalid: the request cannot succeed.
	KindInvalid
	// KindWrongType: the key has another data type than the operation.
	KindWrongType
	// KindConditionFailed: a condition did not hold. Nothing was applied.
	KindConditionFailed
	// KindOutOfRange: a counter would exceed its bounds or 64 bits. Nothing was applied.
	KindOutOfRange
	// KindAborted: a conflict with another transaction, or a restart of a shard, aborted the
	// attempt. Nothing was applied; a retry may succeed.
	KindAborted
	// KindUnavailable: a shard that the request needs cannot be reached.
	// Nothing was applied.
	KindUnavailable
	// KindOutcomeUnknown: the response to a commit was lost. Query the outcome by the
	// transaction's id.
	KindOutcomeUnknown
	// KindTooOld: the transaction id or the state is older than the retention.
	KindTooOld
	// KindResourceExhausted: a queue, a budget or the disk is full. Nothing was applied.
	KindResourceExhausted
	// KindDeadlineExceeded: the deadline passed before the commit. Nothing was applied.
	KindDeadlineExceeded
	// KindCancelled: the caller, or CancelTransaction, cancelled the request. Nothing was applied.
	KindCancelled
	// KindNotFound: the snapshot, user or bounded counter does not exist.
	KindNotFound
	// KindInternal: an invariant does not hold, which is a bug.
	KindInternal
	// KindCorrupt: stored data failed a check.
	KindCorrupt
	// KindUnauthenticated: the caller has no valid certificate or token.
	KindUnauthenticated
	// KindPermissionDenied: the user lacks the right. Nothing was applied.
	KindPermissionDenied
	// KindResultsLost: the transaction committed, but its results are not available. Only
	// clients report it.
	KindResultsLost
	// KindClosed: the client is closed. Nothing was applied. Only clients report it.
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

// IsClientOnly reports whether only clients report the kind, and no node does.
func (k Kind) IsClientOnly() bool { return k == KindResultsLost || k == KindClosed }

// Retryable reports whether the same request may succeed as a new transaction. KindOutcomeUnknown is
// not retryable: query the outcome first.
func (k Kind) Retryable() bool {
	return k == KindAborted || k == KindUnavailable || k == KindResourceExhausted
}

// Error is an error with its kind, the key concerned, and what the caller can do.
type Error struct {
	Kind Kind
	// Text describes what failed, without a final full stop.
	Text string
	// Key is the key concerned; empty for none.
	Key []byte
	// Op is the index of the operation concerned, from 0; -1 for none.
	Op int
	// Hint describes what to do; it may be empty.
	Hint string
	// RetryAfter is how long to wait before a retry, for KindResourceExhausted; 0 is not
	// known.
	RetryAfter time.Duration
	// ServerTime is the node's clock, in nanoseconds since 1970, if the time in the
	// transaction's id was rejected; otherwise 0.
	ServerTime int64
	// Down is the node that is down, if it has a shard that the request needs; otherwise
	// nil.
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

// Is reports whether target is an Error of the same kind without a text.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Text == ""
}

// Errorf returns an Error without an operation.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Text: fmt.Sprintf(format, args...), Op: -1}
}

// TextOf returns the Text of a wrapped Error, or the message of any other error.
func TextOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Text
	}
	return err.Error()
}

// KindOf returns the kind of a wrapped Error, KindOK for nil, and KindInternal for any other error.
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
