package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// What each message about a commit names: what the gateway knew of the last agent.

// Known is what the Park names.
func (m *Park) Known() kv.Known {
	return kv.Known{Incarnation: m.Piece.Incarnation, Aborts: m.Aborts}
}

// Known is what the Prepare names.
func (m *Prepare) Known() kv.Known {
	return kv.Known{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is what the Vote names.
func (m *Vote) Known() kv.Known {
	return kv.Known{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is what the Unseal names.
func (m *Unseal) Known() kv.Known {
	return kv.Known{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is what the Decide names.
func (m *Decide) Known() kv.Known {
	return kv.Known{Incarnation: m.LastIncarnation, Aborts: m.LastAborts}
}

// Known is what the Cancel names.
func (m *Cancel) Known() kv.Known {
	return kv.Known{Incarnation: m.Incarnation, Aborts: m.Aborts}
}

// Named is what the Park named that is answered.
func (m *Answer) Named() kv.Known {
	return kv.Known{Incarnation: m.NamedIncarnation, Aborts: m.NamedAborts}
}
