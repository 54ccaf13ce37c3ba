package membership

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Effects is what to do after a step of the machine, in this order.
type Effects struct {
	// Save is to be durable before anything else is done or told.
	Save *Saved
	// Try had better be durable, too; nothing depends on it.
	Try *Saved
	// Moved are members whose address changed.
	Moved []Member
	// Err ends the node.
	Err error
	// Note is for the log; nothing has to be done about it.
	Note error
}

// Machine decides what to say to whom. It has two states: unformed, in which
// saved is zero, and formed.
type Machine struct {
	cfg   Config
	saved Saved
	// met are the members, by address, that have answered since the start
	// and agree. It counts while unformed.
	met map[string]bool
	// answered are the members that have answered since the start and have
	// the cluster in their catalogs. It counts when formed.
	answered map[kv.NodeID]bool
	// looked: all members have been called once since the start.
	looked bool
	// failed is why the node must end.
	failed error
}

// NewMachine starts from what the catalog has, nil if nothing. The effects are
// those of the start: a cluster of one is formed at once, and a new address is
// saved.
func NewMachine(cfg Config, saved *Saved) (*Machine, Effects, error) {
	cfg.HotKeys = sortedKeys(cfg.HotKeys)
	if err := cfg.check(); err != nil {
		return nil, Effects{}, err
	}
	m := &Machine{cfg: cfg, met: map[string]bool{}, answered: map[kv.NodeID]bool{}}
	if saved == nil {
		return m, m.tryFound(), nil
	}
	if err := saved.Check(); err != nil {
		return nil, Effects{}, err
	}
	m.saved = *saved.clone()
	if err := m.fits(); err != nil {
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

// fits refuses flags that are not those of the catalog's node: they were meant
// for another directory.
func (m *Machine) fits() error {
	s := &m.saved
	if len(m.cfg.List) > len(s.Members) {
		return invalid("start the node with the --join list of its own cluster, or without --join; a member of a new cluster needs an empty directory",
			"--join has %d members, but the store belongs to node %v of cluster %s, which was formed with %d",
			len(m.cfg.List), s.Node, s.Cluster, len(s.Members))
	}
	for _, o := range s.Members {
		if o.Node != s.Node && o.Address == m.cfg.Address {
			return invalid("use the directory of that node, or an --advertise address that no other member has had",
				"the store belongs to node %v of cluster %s, but %s is the address of node %v", s.Node, s.Cluster, o.Address, o.Node)
		}
	}
	return nil
}

// Formed reports whether the node is a member of a cluster.
func (m *Machine) Formed() bool { return m.saved.Cluster != "" }

// Saved gives what the node knows; it is zero while unformed.
func (m *Machine) Saved() Saved { return *m.saved.clone() }

// Err is why the node must end, nil if it need not.
func (m *Machine) Err() error { return m.failed }

func (m *Machine) self() *Member { return &m.saved.Members[m.saved.Node-1] }

func (m *Machine) isFounder() bool { return m.cfg.List[0] == m.cfg.Address }

// Introduction is what the node says about itself now.
func (m *Machine) Introduction() peerpb.Introduction {
	in := peerpb.Introduction{Version: peerpb.Version, Address: m.cfg.Address,
		List: m.cfg.List, Shards: uint32(m.cfg.Shards), HotKeys: m.cfg.HotKeys}
	if !m.Formed() {
		return in
	}
	s := &m.saved
	in.Cluster, in.Node = s.Cluster, s.Node
	in.List, in.Shards, in.HotKeys = s.List, uint32(s.Shards), s.HotKeys
	in.Marked, in.Marks = s.Past.Marked, slices.Clone(s.Past.Marks)
	for _, o := range s.Members {
		in.Members = append(in.Members, peerpb.Member{Node: o.Node, Address: o.Address, Moves: o.Moves, Marked: o.Marked, Mark: o.Mark})
	}
	return in
}

// Ask gives the addresses to call now, sorted. When it is empty, nothing is
// left to be found out.
func (m *Machine) Ask() []string {
	whom := map[string]bool{}
	if !m.Formed() {
		for _, a := range m.cfg.List {
			whom[a] = true
		}
	} else if len(m.answered)+1 < len(m.saved.Members) {
		for _, o := range m.saved.Members {
			if !m.answered[o.Node] {
				whom[o.Address] = true
			}
		}
		// A member may be where the flags say, and not where it was last.
		for _, a := range m.cfg.List {
			if !m.isAnswered(a) {
				whom[a] = true
			}
		}
	}
	delete(whom, m.cfg.Address)
	return slices.Sorted(maps.Keys(whom))
}

func (m *Machine) isAnswered(addr string) bool {
	return slices.ContainsFunc(m.saved.Members, func(o Member) bool { return o.Address == addr && m.answered[o.Node] })
}

// tryFound forms the cluster if this is the founder and all have met.
func (m *Machine) tryFound() Effects {
	if !m.isFounder() || len(m.met)+1 < len(m.cfg.List) {
		return Effects{}
	}
	m.saved = Found(m.cfg.NewID, m.cfg.Address, m.cfg.List, m.cfg.Shards, m.cfg.HotKeys)
	return m.Looked()
}

// fail notes the first reason to end, and repeats it.
func (m *Machine) fail(err error) Effects {
	if m.failed == nil {
		m.failed = err
	}
	return Effects{Err: m.failed}
}

// hear takes over what a member of the same cluster says.
func (m *Machine) hear(in *peerpb.Introduction) Effects {
	var eff Effects
	marked, older := m.hearPast(in)
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
			if err := m.setBack(in); err != nil {
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
	if m.see(in.Node) || changed {
		eff.Save = m.saved.clone()
	} else if marked {
		eff.Try = m.saved.clone()
	}
	return eff
}

// see notes that a member has the cluster in its catalog, and reports whether
// that is news.
func (m *Machine) see(n kv.NodeID) bool {
	if n < 1 || int(n) > len(m.saved.Members) || m.saved.Members[n-1].Seen {
		return false
	}
	m.saved.Members[n-1].Seen = true
	return true
}

// Heard takes another sign than a meeting that a member has the cluster in
// its catalog.
func (m *Machine) Heard(n kv.NodeID) (eff Effects) {
	if m.Formed() && m.see(n) {
		eff.Save = m.saved.clone()
	}
	return eff
}
