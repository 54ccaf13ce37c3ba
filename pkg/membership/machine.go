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
		List: m.cfg.List, Shards: uint32(m.cfg.Shards), HotKeys: m.cfg.HotKeys}
	if !m.Formed() {
		return in
	}
	s := &m.saved
	in.Cluster, in.Node = s.Cluster, s.Node
	in.List, in.Shards, in.HotKeys = s.List, uint32(s.Shards), s.HotKeys
	in.StampCount, in.Stamps = s.Past.Count, slices.Clone(s.Past.Stamps)
	for _, o := range s.Members {
		in.Members = append(in.Members, peerpb.Member{Node: o.Node, Address: o.Address, Moves: o.Moves,
			StampNumber: o.StampCount, Stamp: o.Stamp})
	}
	return in
}

// CallTargets returns the addresses to call now, sorted. It is empty when every member has responded.
func (m *Machine) CallTargets() []string {
	targets := map[string]bool{}
	if !m.Formed() {
		for _, a := range m.cfg.List {
			targets[a] = true
		}
	} else if len(m.answered)+1 < len(m.saved.Members) {
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

func (m *Machine) isAnswered(addr string) bool {
	return slices.ContainsFunc(m.saved.Members, func(o Member) bool { return o.Address == addr && m.answered[o.Node] })
}

// tryForm forms the cluster if this node is the founder and all members agree.
func (m *Machine) tryForm() Effects {
	if !m.isFounder() || len(m.agreed)+1 < len(m.cfg.List) {
		return Effects{}
	}
	m.saved = Found(m.cfg.NewID, m.cfg.Address, m.cfg.List, m.cfg.Shards, m.cfg.HotKeys)
	return m.FinishFirstRound()
}

// fail stores the first reason to end, and returns it.
func (m *Machine) fail(err error) Effects {
	if m.failure == nil {
		m.failure = err
	}
	return Effects{Err: m.failure}
}

// applyIntroduction merges the introduction of a member of the same cluster.
func (m *Machine) applyIntroduction(in *peerpb.Introduction) Effects {
	var eff Effects
	stamped, older := m.applyStamps(in)
	if older != nil {
		return Effects{Note: older}
	}
	changed := false
	for _, o := range in.Members {
		if o.Node < 1 || int(o.Node) > len(m.saved.Members) || o.Address == "" {
			continue
		}
		mine := &m.saved.Members[o.Node-1]
		if o.Node == m.saved.Node {
			if o.Moves > mine.Moves || o.Moves == mine.Moves && o.Address != mine.Address {
				return m.fail(invalid("stop one of the two; if a store directory was copied, remove the copy",
					"node %v also runs at %s, according to %s; this is node %v at %s",
					o.Node, o.Address, in.Address, m.saved.Node, mine.Address))
			}
			if err := m.checkOwnStamp(in); err != nil {
				return m.fail(err)
			}
			continue
		}
		if o.Moves > mine.Moves {
			mine.Address, mine.Moves = o.Address, o.Moves
			eff.Moved = append(eff.Moved, *mine)
			changed = true
		}
	}
	if m.markSeen(in.Node) || changed {
		eff.Save = m.saved.clone()
	} else if stamped {
		eff.Try = m.saved.clone()
	}
	return eff
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
