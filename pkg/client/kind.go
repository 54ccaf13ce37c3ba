package client

import (
	"errors"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Kind is the kind of an [Error]. Errors in Go, on the wire and on the command line use the same
// word for it. The list is closed for a version of the client; a later version can add kinds.
type Kind string

// The kinds of errors. Unless a comment says otherwise, nothing of the transaction is applied.
const (
	// KindInvalid: the request can never succeed as it is.
	KindInvalid = Kind("Invalid")
	// KindWrongType: the operation does not exist for the data type of the key, or a codec cannot
	// decode what was read.
	KindWrongType = Kind("WrongType")
	// KindConditionFailed: a condition does not hold.
	KindConditionFailed = Kind("ConditionFailed")
	// KindOutOfRange: a number would leave the bounds of a bounded counter, or the range of int64.
	KindOutOfRange = Kind("OutOfRange")
	// KindNotFound: what an update needs does not exist: a bounded counter, a snapshot, a user.
	KindNotFound = Kind("NotFound")
	// KindAborted: the transaction lost against a conflicting one. Retryable.
	KindAborted = Kind("Aborted")
	// KindUnavailable: a node that the request needs cannot be reached. Retryable.
	KindUnavailable = Kind("Unavailable")
	// KindResourceExhausted: a bounded queue, the memory or the disk of a node is full. Retryable.
	KindResourceExhausted = Kind("ResourceExhausted")
	// KindOutcomeUnknown: the transaction may have been applied. [DB.Outcome] settles it.
	KindOutcomeUnknown = Kind("OutcomeUnknown")
	// KindTooOld: the state, or the outcome, is older than what the store keeps.
	KindTooOld = Kind("TooOld")
	// KindCancelled: the context was cancelled. Matches [context.Canceled], too.
	KindCancelled = Kind("Cancelled")
	// KindDeadlineExceeded: the deadline passed. Matches [context.DeadlineExceeded], too.
	KindDeadlineExceeded = Kind("DeadlineExceeded")
	// KindUnauthenticated: the client has not proved which user it is.
	KindUnauthenticated = Kind("Unauthenticated")
	// KindPermissionDenied: the user may not do this.
	KindPermissionDenied = Kind("PermissionDenied")
	// KindCorrupt: stored bytes are not those that were written.
	KindCorrupt = Kind("Corrupt")
	// KindInternal: a bug in linchpin.
	KindInternal = Kind("Internal")
	// KindResultsLost: the transaction has committed, but its results are lost with the response:
	// the store keeps at most 4 KiB of them.
	KindResultsLost = Kind("ResultsLost")
	// KindClosed: the client was closed.
	KindClosed = Kind("Closed")
)

// The sentinels of the kinds, for [errors.Is]: errors.Is(err, ErrNotFound) reports whether err is,
// or wraps, an [Error] of [KindNotFound].
var (
	ErrInvalid           error = sentinel(KindInvalid)
	ErrWrongType         error = sentinel(KindWrongType)
	ErrConditionFailed   error = sentinel(KindConditionFailed)
	ErrOutOfRange        error = sentinel(KindOutOfRange)
	ErrNotFound          error = sentinel(KindNotFound)
	ErrAborted           error = sentinel(KindAborted)
	ErrUnavailable       error = sentinel(KindUnavailable)
	ErrResourceExhausted error = sentinel(KindResourceExhausted)
	ErrOutcomeUnknown    error = sentinel(KindOutcomeUnknown)
	ErrTooOld            error = sentinel(KindTooOld)
	ErrCancelled         error = sentinel(KindCancelled)
	ErrDeadlineExceeded  error = sentinel(KindDeadlineExceeded)
	ErrUnauthenticated   error = sentinel(KindUnauthenticated)
	ErrPermissionDenied  error = sentinel(KindPermissionDenied)
	ErrCorrupt           error = sentinel(KindCorrupt)
	ErrInternal          error = sentinel(KindInternal)
	ErrResultsLost       error = sentinel(KindResultsLost)
	ErrClosed            error = sentinel(KindClosed)
)

// Kinds lists all kinds.
func Kinds() []Kind {
	all := kv.Kinds()[1:] // without OK
	out := make([]Kind, len(all))
	for i, k := range all {
		out[i] = kindOf(k)
	}
	return out
}

// Retryable reports whether the same transaction may succeed if it is run again. The client does
// that by itself, unless [NoRetry] forbids it.
func (k Kind) Retryable() bool {
	return k == KindAborted || k == KindUnavailable || k == KindResourceExhausted
}

// KindOf returns the kind of the first [Error] in the chain of err, and "" if there is none, as for
// nil and for an error of the function of an [DB.Update].
func KindOf(err error) Kind {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	return e.Kind
}

// sentinel is what errors.Is compares with.
type sentinel Kind

// Error implements error.
func (s sentinel) Error() string { return string(s) }

// kindOf converts a kind of the store. The words are the same.
func kindOf(k kv.Kind) Kind { return Kind(k.String()) }

// stored converts a kind back. A kind that the store does not have is Internal.
func (k Kind) stored() kv.Kind {
	for _, s := range kv.Kinds() {
		if s.String() == string(k) {
			return s
		}
	}
	return kv.KindInternal
}
