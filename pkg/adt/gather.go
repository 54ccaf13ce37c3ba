package adt

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// gatherArgs is up to how many arguments a call may have for another to be
// combined with it. Somewhat arbitrary: combining copies them.
const gatherArgs = 64

// Gather appends calls to others, of the same transaction or of ones that came
// before, and makes one of neighbours where the type can. It writes over calls, as
// append does, but not over their arguments, and keeps more's.
func Gather(id entry.Type, calls, more []msg.Call) []msg.Call {
	return Lookup(id).gather(calls, more)
}

func (t *Type) gather(calls, more []msg.Call) []msg.Call {
	for _, c := range more {
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

// combine makes one call of two that follow each other.
func (t *Type) combine(first, then *msg.Call) (msg.Call, bool) {
	m := t.Method(then.Method)
	if first.Method != then.Method || m == nil || m.combine == nil || len(first.Args) > gatherArgs {
		return msg.Call{}, false
	}
	args, ok := m.combine(first.Args[:len(first.Args):len(first.Args)], then.Args)
	return msg.Call{Method: then.Method, Args: args}, ok
}
