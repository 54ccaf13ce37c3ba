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
// stamp, which is sent to all members, and the node may serve (MayServe).
//
// With replicas, a founding disk that has not served yet waits until all members have responded: they have then saved
// that the node has it. If the disk is lost later, each of them reports to the node that it was a member.
func (m *Machine) FinishFirstRound() Effects {
	if m.firstRoundDone || !m.Formed() || m.failure != nil ||
		m.isUnused() && m.saved.Disk == 0 && !m.allAnswered() {
		return Effects{}
	}
	m.firstRoundDone = true
	next := m.NextStamp()
	m.ApplyStamp(next)
	return Effects{Save: next}
}

// MayServe reports whether the node may serve on its store.
func (m *Machine) MayServe() bool { return m.firstRoundDone && m.failure == nil }

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

// checkOwnStore returns an error if a member knows a later disk of this node, or a stamp of this disk that it does not
// have.
func (m *Machine) checkOwnStore(in *peerpb.Introduction) error {
	for i := range in.Members {
		if o := &in.Members[i]; o.Node == m.saved.Node {
			return m.checkSelf(o, in.Address)
		}
	}
	return nil
}

// checkSelf is checkOwnStore for what the member at an address knows.
func (m *Machine) checkSelf(o *peerpb.Member, from string) error {
	switch {
	case o.Disk > m.saved.Disk && !m.isUnused():
		return m.oldDiskError(m.saved.Node, m.cfg.Address, from)
	case o.Disk == m.saved.Disk && !m.saved.Past.mayHave(o.StampNumber, o.Stamp):
		return m.olderCopyError(m.saved.Node, m.cfg.Address, from)
	}
	return nil
}

// isOther reports whether an introduction is of another member.
func (m *Machine) isOther(in *peerpb.Introduction) bool {
	return in.Node >= 1 && int(in.Node) <= len(m.saved.Members) && in.Node != m.saved.Node
}

// checkStore returns an error if the disk of the introduced node has been replaced, or its store lacks a known stamp.
func (m *Machine) checkStore(in *peerpb.Introduction) error {
	if !m.isOther(in) {
		return nil
	}
	theirs := StampHistory{Count: in.StampCount, Stamps: in.Stamps}
	known, disk := &m.saved.Members[in.Node-1], diskOf(in)
	switch {
	case !theirs.isValid():
		return invalid("", "%s reports %d store stamps but lists %d", in.Address, in.StampCount, len(in.Stamps))
	case disk < known.Disk:
		return m.oldDiskError(in.Node, in.Address, m.cfg.Address)
	case disk == known.Disk && !theirs.mayHave(known.StampCount, known.Stamp):
		return m.olderCopyError(in.Node, in.Address, m.cfg.Address)
	}
	return nil
}

// applyStamp records the newest stamp of the introduced node, and reports whether it is new.
func (m *Machine) applyStamp(in *peerpb.Introduction) (changed bool) {
	if !m.isOther(in) {
		return false
	}
	theirs := StampHistory{Count: in.StampCount, Stamps: in.Stamps}
	known := &m.saved.Members[in.Node-1]
	changed = theirs.Count != known.StampCount
	known.StampCount, known.Stamp = theirs.Count, theirs.last()
	return changed
}

func (m *Machine) olderCopyError(id kv.NodeID, addr, witness string) error {
	hint := "start the node on its latest directory and remove the copy; if that directory is lost, " +
		"later acknowledged commits are lost: restore a backup into a new cluster"
	if m.saved.isReplicated() {
		hint = "start the node on its latest directory and remove the copy; if that directory is lost, " + hintEmpty
	}
	return invalid(hint, "%s is node %v, and its store is an older copy: %s has seen a later state of it", addr, id,
		witness)
}
