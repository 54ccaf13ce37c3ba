package membership

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// StampHistory is the history of a node's store. The store gets a stamp when a node starts to serve on it, and
// periodically while it does. An older copy of a store lacks stamps that its node has already sent to other
// members:
//
//	store at node 2    stamps 1 2 3 ── copy ── 4 5
//	node 1 remembers   stamp 5 of node 2
//	copy is started    stamps 1 2 3: stamp 5 is missing, so the copy is rejected
type StampHistory struct {
	// Count is the number of stamps.
	Count uint64 `json:"Marked,omitempty"`
	// Stamps are the last stamps, at most MaxStamps, newest last. They are random numbers.
	Stamps []uint64 `json:"Marks,omitempty"`
}

// MaxStamps bounds the stored stamps. A copy that gets more stamps than that before it meets a member with
// newer knowledge is not detected.
const MaxStamps = 64

// isValid reports whether the history is consistent.
func (p *StampHistory) isValid() bool {
	return len(p.Stamps) <= MaxStamps && uint64(len(p.Stamps)) <= p.Count && (p.Count == 0) == (len(p.Stamps) == 0)
}

func (p *StampHistory) add(mark uint64) {
	p.Count++
	p.Stamps = append(p.Stamps, mark)
	if over := len(p.Stamps) - MaxStamps; over > 0 {
		p.Stamps = slices.Delete(p.Stamps, 0, over)
	}
}

// mayHave reports whether the n-th stamp, from 1, may be the given one: it is, or it is no longer stored.
// For n = 0 nothing is known.
func (p *StampHistory) mayHave(n, mark uint64) bool {
	switch {
	case n == 0:
		return true
	case n > p.Count:
		return false
	}
	age := p.Count - n
	return age >= uint64(len(p.Stamps)) || p.Stamps[len(p.Stamps)-1-int(age)] == mark
}

// last is the newest stamp, 0 if there is none.
func (p *StampHistory) last() uint64 {
	if len(p.Stamps) == 0 {
		return 0
	}
	return p.Stamps[len(p.Stamps)-1]
}

// FinishFirstRound is called when the node has called all members once, before it serves. If a response contained a
// stamp that the node's store does not have, the node has ended (Err). Otherwise the store gets a new
// stamp, which is sent to all members.
func (m *Machine) FinishFirstRound() Effects {
	if m.firstRoundDone || !m.Formed() || m.failure != nil {
		return Effects{}
	}
	m.firstRoundDone = true
	next := m.NextStamp()
	m.ApplyStamp(next)
	return Effects{Save: next}
}

// NextStamp returns a state with a new stamp, to be saved and then passed to ApplyStamp; nil if the store gets none
// now.
func (m *Machine) NextStamp() *Saved {
	if !m.firstRoundDone || m.failure != nil {
		return nil
	}
	next := m.saved.clone()
	next.Past.add(m.cfg.NewStamp())
	return next
}

// ApplyStamp applies a durable stamp, and makes the node call all members again to send it.
func (m *Machine) ApplyStamp(saved *Saved) {
	m.saved.Past = saved.clone().Past
	clear(m.answered)
}

// checkOwnStamp returns an error if a member knows a stamp of this node that its store does not have.
func (m *Machine) checkOwnStamp(in *peerpb.Introduction) error {
	for _, o := range in.Members {
		if o.Node == m.saved.Node && !m.saved.Past.mayHave(o.StampNumber, o.Stamp) {
			return olderCopyError(m.saved.Node, m.cfg.Address, in.Address)
		}
	}
	return nil
}

// applyStamps records the newest stamp of the introduced node, and reports whether it is new; or returns an
// error if its store lacks a known one.
func (m *Machine) applyStamps(in *peerpb.Introduction) (changed bool, err error) {
	if in.Node < 1 || int(in.Node) > len(m.saved.Members) || in.Node == m.saved.Node {
		return false, nil
	}
	theirs := StampHistory{Count: in.StampCount, Stamps: in.Stamps}
	known := &m.saved.Members[in.Node-1]
	switch {
	case !theirs.isValid():
		return false, invalid("", "%s reports %d store stamps but lists %d", in.Address, in.StampCount, len(in.Stamps))
	case !theirs.mayHave(known.StampCount, known.Stamp):
		return false, olderCopyError(in.Node, in.Address, m.cfg.Address)
	}
	changed = theirs.Count != known.StampCount
	known.StampCount, known.Stamp = theirs.Count, theirs.last()
	return changed, nil
}

func olderCopyError(id kv.NodeID, addr, witness string) error {
	return invalid("start the node on its latest directory and remove the copy; if that directory is lost, "+
		"later acknowledged commits are lost: restore a backup into a new cluster",
		"%s is node %v, and its store is an older copy: %s has seen a later state of it", addr, id, witness)
}
