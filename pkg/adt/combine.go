package adt

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// maxCombinedArgs is the number of arguments above which a call is not combined with more, since
// combining copies them. The value is not critical.
const maxCombinedArgs = 64

// CombineCalls appends calls of the same or a later transaction to others, and combines neighbours if the
// type can. Like append it overwrites calls, but not their arguments; it retains the arguments of
// more.
func CombineCalls(id entry.Type, calls, more []msg.Call) []msg.Call {
	return Lookup(id).combineCalls(calls, more)
}

// combineCalls implements CombineCalls. t may be nil.
func (t *Type) combineCalls(calls, more []msg.Call) []msg.Call {
	for _, c := range more {
		// A type that is not declared here cannot combine, but its calls can still be logged.
		if n := len(calls); n > 0 && t != nil {
			if both, ok := t.combine(&calls[n-1], &c); ok {
				calls[n-1] = both
				continue
			}
		}
		calls = append(calls, c)
	}
	return calls
}

// combine merges two successive calls into one.
//
// Two calls may be combined if the state between them is needed by no reader: they are of one transaction, or both
// have committed and only the later version is kept.
func (t *Type) combine(first, then *msg.Call) (msg.Call, bool) {
	m := t.Method(then.Method)
	if first.Method != then.Method || m == nil || m.combine == nil || len(first.Args) > maxCombinedArgs {
		return msg.Call{}, false
	}
	args, ok := m.combine(first.Args[:len(first.Args):len(first.Args)], then.Args)
	return msg.Call{Method: then.Method, Args: args}, ok
}
