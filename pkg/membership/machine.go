package membership

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Effects are what to do after a step of the machine, in this order.
type Effects struct {
	// Save must be durable before anything else is done or sent.
	Save *Saved
	// Try should be durable; nothing depends on it.
	Try *Saved
	// Moved are the members whose address has changed.
	Moved []Member
	// Err ends the node.
	Err error
	// Note is for the log; no action is required.
	Note error
}

// Machine decides which nodes to call and how to respond. It has two states: unformed, in which saved is
// zero, and formed.
type Machine struct {
	cfg   Config
	saved Saved
	// agreed are the members, by address, that have responded since the start with the same flags. Used while
	// unformed.
	agreed map[string]bool
	// answered are the members that have responded since the start and have the cluster in their catalogs.
	// Used when formed.
	answered map[kv.NodeID]bool
	// firstRoundDone: all members have been called once since the start.
	firstRoundDone bool
	// failure is why the node must end.
	failure error
}

// NewMachine starts from the content of the catalog, nil if it is empty. The effects are those of the
// start: a cluster of one forms at once, and a new address is saved.
func NewMachine(cfg Config, saved *Saved) (*Machine, Effects, error) {
	cfg.HotKeys = sortedKeys(cfg.HotKeys)
	if err := cfg.check(); err != nil {
		return nil, Effects{}, err
	}
	m := &Machine{cfg: cfg, agreed: map[string]bool{}, answered: map[kv.NodeID]bool{}}
	if saved == nil {
		return m, m.tryForm(), nil
	}
	if err := saved.Check(); err != nil {
		return nil, Effects{}, err
	}
	m.saved = *saved.clone()
	if err := m.checkFlags(); err != nil {
		return nil, Effects{}, err
	}
	self := m.self()
	if self.Address == cfg.Address {
		return m, Effects{}, nil
	}
	self.Address = cfg.Address
	self.Moves++
	return m, Effects{Save: m.saved.clone()}, nil
}

// checkFlags rejects flags that do not belong to the node of the catalog: they were meant for another
// directory.
func (m *Machine) checkFlags() error {
	s := &m.saved
	if len(m.cfg.List) > len(s.Members) {
		return invalid("start the node with the --join list of its own cluster, or without --join; "+
			"a member of a new cluster needs an empty directory",
			"--join has %d members, but the store belongs to node %v of cluster %s, which was formed with %d",
			len(m.cfg.List), s.Node, s.Cluster, len(s.Members))
	}
	for _, o := range s.Members {
		if o.Node != s.Node && o.Address == m.cfg.Address {
			return invalid("use the directory of that node, or an --advertise address that no other member has had",
				"the store belongs to node %v of cluster %s, but %s is the address of node %v", s.Node, s.Cluster, o.Address,
				o.Node)
		}
	}
	return nil
}

// Formed reports whether the node is a member of a cluster.
func (m *Machine) Formed() bool { return m.saved.Cluster != "" }

// Saved returns the node's knowledge; it is zero while unformed.
func (m *Machine) Saved() Saved { return *m.saved.clone() }

// Err is why the node must end, nil if there is no reason.
func (m *Machine) Err() error { return m.failure }

func (m *Machine) self() *Member { return &m.saved.Members[m.saved.Node-1] }

func (m *Machine) isFounder() bool { return m.cfg.List[0] == m.cfg.Address }

// Introduction describes the node as of now.
func (m *Machine) Introduction() peerpb.Introduction {
	in := peerpb.Introduction{Version: peerpb.Version, Address: m.cfg.Address,
		List: m.cfg.List, Shards: uint32(m.cfg.Shards), Replicas: uint32(m.cfg.Replicas), NoLeases: m.cfg.NoLeases,
		HotKeys: m.cfg.HotKeys}
	if !m.Formed() {
		return in
	}
	s := &m.saved
	in.Cluster, in.Node = s.Cluster, s.Node
	in.List, in.Shards, in.Replicas, in.HotKeys = s.List, uint32(s.Shards), uint32(s.Replicas), s.HotKeys
	in.NoLeases = s.NoLeases
	in.StampCount, in.Stamps = s.Past.Count, slices.Clone(s.Past.Stamps)
	for _, o := range s.Members {
		in.Members = append(in.Members, peerpb.Member{Node: o.Node, Address: o.Address, Moves: o.Moves,
			StampNumber: o.StampCount, Stamp: o.Stamp, Disk: o.Disk, Seen: o.Seen})
	}
	in.Members[s.Node-1].Disk = s.Disk
	return in
}

// CallTargets returns the addresses to call now, sorted. It is empty when every member has responded.
func (m *Machine) CallTargets() []string {
	targets := map[string]bool{}
	if !m.Formed() {
		for _, a := range m.cfg.List {
			targets[a] = true
		}
	} else if !m.allAnswered() {
		for _, o := range m.saved.Members {
			if !m.answered[o.Node] {
				targets[o.Address] = true
			}
		}
		// A member may be at an address of the flags instead of its last known one.
		for _, a := range m.cfg.List {
			if !m.isAnswered(a) {
				targets[a] = true
			}
		}
	}
	delete(targets, m.cfg.Address)
	return slices.Sorted(maps.Keys(targets))
}

func (m *Machine) allAnswered() bool { return len(m.answered)+1 == len(m.saved.Members) }

func (m *Machine) isAnswered(addr string) bool {
	return slices.ContainsFunc(m.saved.Members, func(o Member) bool { return o.Address == addr && m.answered[o.Node] })
}

// tryForm forms the cluster if this node is the founder and all members agree.
func (m *Machine) tryForm() Effects {
	if !m.isFounder() || len(m.agreed)+1 < len(m.cfg.List) {
		return Effects{}
	}
	m.saved = m.cfg.Found(m.cfg.NewID)
	return m.saveFounding()
}

// fail stores the first reason to end, and returns it.
func (m *Machine) fail(err error) Effects {
	if m.failure == nil {
		m.failure = err
	}
	return Effects{Err: m.failure}
}

// applyIntroduction merges the introduction of a member of the same cluster.
func (m *Machine) applyIntroduction(in *peerpb.Introduction) (eff Effects) {
	if err := m.checkStore(in); err != nil {
		return Effects{Note: err}
	}
	changed := false
	for i := range in.Members {
		o := &in.Members[i]
		if o.Node < 1 || int(o.Node) > len(m.saved.Members) || o.Address == "" {
			continue
		}
		if o.Node == m.saved.Node {
			own, err := m.mergeSelf(o, in.Address)
			if err != nil {
				return m.fail(err)
			}
			changed = changed || own
			continue
		}
		merged, moved := m.mergeMember(o)
		changed = changed || merged
		if moved {
			eff.Moved = append(eff.Moved, m.saved.Members[o.Node-1])
		}
	}
	stamped := m.applyStamp(in)
	if m.markSeen(in.Node) || changed {
		eff.Save = m.saved.clone()
	} else if stamped {
		eff.Try = m.saved.clone()
	}
	return eff
}

// mergeMember merges what another node knows of a member. What it knows of a lost disk is outdated.
func (m *Machine) mergeMember(o *peerpb.Member) (changed, moved bool) {
	mine := &m.saved.Members[o.Node-1]
	if o.Disk < mine.Disk || o.Disk == mine.Disk && o.Moves <= mine.Moves {
		return false, false
	}
	moved = o.Address != mine.Address || o.Disk == mine.Disk
	if o.Disk > mine.Disk {
		mine.Disk, mine.StampCount, mine.Stamp = o.Disk, 0, 0
	}
	mine.Address, mine.Moves = o.Address, o.Moves
	return true, moved
}

// mergeSelf merges what the member at an address knows of this node, and reports whether that changes it. It returns an
// error if another process is this node, or has been it on a later disk or a later state of this one.
func (m *Machine) mergeSelf(o *peerpb.Member, from string) (changed bool, err error) {
	self := m.self()
	moved := o.Address != self.Address
	switch {
	case o.Disk < m.saved.Disk:
		return false, nil
	case o.Disk > m.saved.Disk && m.isUnused():
		m.chooseDisk(o.Disk)
		return true, nil
	case o.Disk == m.saved.Disk && (o.Moves > self.Moves || o.Moves == self.Moves && moved):
		return false, invalid("stop one of the two; if a store directory was copied, remove the copy",
			"node %v also runs at %s, according to %s; this is node %v at %s", o.Node, o.Address, from, m.saved.Node,
			self.Address)
	}
	return false, m.checkSelf(o, from)
}

// markSeen records that a member has the cluster in its catalog, and reports whether that is new.
func (m *Machine) markSeen(n kv.NodeID) bool {
	if n < 1 || int(n) > len(m.saved.Members) || m.saved.Members[n-1].Seen {
		return false
	}
	m.saved.Members[n-1].Seen = true
	return true
}

// MarkSeen records that a member has the cluster in its catalog, as its traffic shows.
func (m *Machine) MarkSeen(n kv.NodeID) (eff Effects) {
	if m.Formed() && m.markSeen(n) {
		eff.Save = m.saved.clone()
	}
	return eff
}
