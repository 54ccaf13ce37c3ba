package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// What each message about a commit says that the gateway knew of the last agent.

// Known is what the CommitRequest says.
func (m *CommitRequest) Known() kv.Known {
	return kv.Known{Incarnation: m.Piece.Incarnation, Aborts: m.Aborts}
}

// Known is what the Prepare says.
func (m *Prepare) Known() kv.Known {
	return kv.Known{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is what the Vote says.
func (m *Vote) Known() kv.Known {
	return kv.Known{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is what the Unseal says.
func (m *Unseal) Known() kv.Known {
	return kv.Known{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is what the CancelRequest says.
func (m *CancelRequest) Known() kv.Known {
	return kv.Known{Incarnation: m.Incarnation, Aborts: m.Aborts}
}
