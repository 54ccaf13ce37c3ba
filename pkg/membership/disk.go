package membership

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// A member of a cluster with replicas that has lost its disk returns under its number with an empty one (R7.20):
//
//	node 2             disk 0 ── lost ── empty: calls, without a cluster
//	node 1 responds    node 2 was a member before: it has lost a disk
//	node 2             chooses a new number, 9f3a, saves it, calls all members, serves
//	the others         save it, and reject disk 0 if it returns
//
// The new disk has no replicas, and makes none by itself: the log and the votes of the old ones are lost (R7.17).
// Leaders add replicas on it, by its place (kv.PlaceOf). So a disk must never take itself for the founding one by
// mistake: FinishFirstRound.

// diskStep bounds the difference between the numbers of two successive disks. The numbers grow, and are random, so that
// two disks do not get the same number from members that know different ones.
const diskStep = 1 << 32

const hintEmpty = "empty the node's directory and start it again with the flags of the formation: " +
	"the other members make its replicas anew"

// isUnused reports whether the node has never served on its disk, in a cluster with replicas. Then nothing relies on
// the number of the disk.
func (m *Machine) isUnused() bool { return m.saved.isReplicated() && m.saved.Past.Count == 0 }

// diskOf returns the number of the introduced node's disk.
func diskOf(in *peerpb.Introduction) uint64 {
	if in.Node < 1 || int(in.Node) > len(in.Members) {
		return 0
	}
	return in.Members[in.Node-1].Disk
}

// hasLostDisk reports whether a member knows that this node, which is not formed, was a member, and the shards have
// other replicas.
func (m *Machine) hasLostDisk(called *peerpb.Introduction) bool {
	p := m.cfg.Placement()
	i := slices.Index(m.cfg.List, m.cfg.Address)
	return p.IsReplicated() && i < len(called.Members) && called.Members[i].Seen
}

// saveFounding saves the cluster that was just formed. Without replicas no member can know a later state of the store.
func (m *Machine) saveFounding() Effects {
	if m.saved.isReplicated() {
		return Effects{Save: m.saved.clone()}
	}
	return m.FinishFirstRound()
}

// joinWithNewDisk makes the node a member again, by the response of a member that knows that it was one. All others
// count as seen, since the node has forgotten which were.
func (m *Machine) joinWithNewDisk(called *peerpb.Introduction) Effects {
	m.saved = m.cfg.Found(called.Cluster)
	for i := range m.saved.Members {
		m.saved.Members[i].Seen = true
	}
	m.chooseDisk(called.Members[m.saved.Node-1].Disk)
	eff := m.applyIntroduction(called)
	if eff.Err != nil {
		m.saved = Saved{}
		return eff
	}
	eff.Save = m.saved.clone()
	return eff
}

// chooseDisk gives the node's disk a number above a known one.
func (m *Machine) chooseDisk(known uint64) { m.saved.Disk = known + max(1, m.cfg.NewStamp()%diskStep) }

// Place returns the place of the present disk of a member (kv.PlaceOf). It is not known if the node has never received
// anything of that member.
func (s *Saved) Place(n kv.NodeID) (place string, known bool) {
	switch {
	case n < 1 || int(n) > len(s.Members):
		return "", false
	case n == s.Node:
		return kv.PlaceOf(n, s.Disk), true
	}
	return kv.PlaceOf(n, s.Members[n-1].Disk), s.Members[n-1].Seen
}

func (m *Machine) oldDiskError(id kv.NodeID, addr, witness string) error {
	return invalid("start the node on its latest directory and remove this one; if that directory is lost, "+hintEmpty,
		"%s is node %v, and its disk has been replaced: %s knows a later one", addr, id, witness)
}
