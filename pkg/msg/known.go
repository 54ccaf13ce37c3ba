package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// Known of each message about a commit is what its gateway knew of the last agent.

// Known is the last agent's incarnation and abort count in a CommitRequest.
func (m *CommitRequest) Known() kv.KnownState {
	return kv.KnownState{Incarnation: m.Piece.Incarnation, Aborts: m.Aborts}
}

// Known is the last agent's incarnation and abort count in a Prepare.
func (m *Prepare) Known() kv.KnownState {
	return kv.KnownState{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is the last agent's incarnation and abort count in a Vote.
func (m *Vote) Known() kv.KnownState {
	return kv.KnownState{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is the last agent's incarnation and abort count in an Unseal.
func (m *Unseal) Known() kv.KnownState {
	return kv.KnownState{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is the last agent's incarnation and abort count in a CancelRequest.
func (m *CancelRequest) Known() kv.KnownState {
	return kv.KnownState{Incarnation: m.Incarnation, Aborts: m.Aborts}
}
