package membership

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Asked answers an introduction. The answer is what the node is after the
// step, so it must not be sent before the effects are done.
func (m *Machine) Asked(req *peerpb.MeetRequest) (*peerpb.MeetResponse, Effects) {
	var eff Effects
	var refusal error
	switch caller := &req.Caller; {
	case !m.Formed():
		eff, refusal = m.askedUnformed(caller)
	case caller.Cluster == "":
		refusal = m.askedByNew(caller)
	default:
		eff, refusal = m.askedByMember(caller)
	}
	resp := &peerpb.MeetResponse{Called: m.Introduction()}
	if refusal != nil {
		resp.Refusal = refusal.Error()
		if eff.Err == nil {
			eff.Note = refusal
		}
	}
	return resp, eff
}

// askedUnformed compares notes with the caller. Only one of our own list can
// end us: a stranger who errs is the stranger's trouble.
func (m *Machine) askedUnformed(caller *peerpb.Introduction) (Effects, error) {
	mine := m.Introduction()
	diff := difference(caller, &mine)
	if diff != nil && caller.Cluster == "" && slices.Contains(m.cfg.List, caller.Address) {
		return m.fail(diff), diff
	}
	return Effects{}, diff
}

// askedByNew answers a node that has no cluster yet, which gets the id from
// the answer if it may have it.
func (m *Machine) askedByNew(caller *peerpb.Introduction) error {
	mine := m.Introduction()
	if diff := difference(caller, &mine); diff != nil {
		return invalid("the members of a formed cluster cannot change",
			"%s is not a member of cluster %s: %v", caller.Address, m.saved.Cluster, diff)
	}
	i := slices.Index(m.saved.List, caller.Address)
	if i < 0 {
		return invalid("add the node itself to --join", "%s is not in its own list of members", caller.Address)
	}
	if o := m.saved.Members[i]; o.Seen {
		return cameBackEmpty(o.Node, caller.Address, m.saved.Cluster)
	}
	return nil
}

func cameBackEmpty(id kv.NodeID, addr, cluster string) error {
	return invalid("start it on its own directory, or on a copy that was made after it last stopped; "+
		"if the directory is lost, the data of its shards is lost, and a new cluster is needed",
		"%s is node %v of cluster %s, whose store already exists, but it started with an empty one", addr, id, cluster)
}

// askedByMember hears out a node that says it is of a cluster.
func (m *Machine) askedByMember(caller *peerpb.Introduction) (Effects, error) {
	if caller.Cluster != m.saved.Cluster {
		return Effects{}, m.foreign(caller)
	}
	if mine := m.Introduction(); caller.Version != mine.Version {
		return Effects{}, difference(caller, &mine)
	}
	eff := m.hear(caller)
	if eff.Note != nil {
		return Effects{}, eff.Note
	}
	return eff, eff.Err
}

func (m *Machine) foreign(in *peerpb.Introduction) error {
	return invalid("check --join, --advertise and the store directory of both nodes",
		"%s belongs to cluster %s, and this node, %s, to cluster %s", in.Address, in.Cluster, m.cfg.Address, m.saved.Cluster)
}

// Answered takes the answer of the node at addr.
func (m *Machine) Answered(addr string, resp *peerpb.MeetResponse) Effects {
	called := &resp.Called
	if m.Formed() {
		return m.answeredFormed(addr, called, resp.Refusal)
	}
	mine := m.Introduction()
	if diff := difference(called, &mine); diff != nil {
		return m.fail(diff)
	}
	if resp.Refusal != "" {
		return m.fail(invalid("", "%s rejects this node, %s: %s", addr, m.cfg.Address, resp.Refusal))
	}
	if called.Cluster != "" {
		return m.answeredByMember(addr, called)
	}
	if called.Address != addr {
		return m.fail(invalid("set --advertise of each node to its address in --join",
			"this node, %s, called %s, which reports the address %s", m.cfg.Address, addr, called.Address))
	}
	m.met[addr] = true
	return m.tryFound()
}

// answeredByMember: the cluster is formed, and this node not yet. It takes the
// id from the founder only, who would know if this node had been a member.
func (m *Machine) answeredByMember(addr string, called *peerpb.Introduction) Effects {
	if m.isFounder() {
		return m.fail(cameBackEmpty(1, m.cfg.Address, called.Cluster))
	}
	if addr != m.cfg.List[0] || called.Node != 1 {
		return Effects{}
	}
	m.saved = Found(called.Cluster, m.cfg.Address, m.cfg.List, m.cfg.Shards, m.cfg.HotKeys)
	eff := m.hear(called)
	if eff.Err != nil {
		m.saved = Saved{}
		return eff
	}
	eff.Save = m.Looked().Save
	return eff
}

// answeredFormed hears out a node that was expected to be a member.
func (m *Machine) answeredFormed(addr string, called *peerpb.Introduction, refusal string) Effects {
	switch {
	case called.Cluster == "":
		// It has not heard the id yet, or it came back empty; it is told
		// when it asks.
		return Effects{}
	case called.Cluster != m.saved.Cluster:
		err := m.foreign(called)
		if slices.Contains(m.cfg.List, addr) {
			return m.fail(err)
		}
		return Effects{Note: err}
	case m.setBack(called) != nil:
		return m.fail(m.setBack(called))
	case refusal != "":
		return Effects{Note: invalid("", "%s rejects this node, %s: %s", addr, m.cfg.Address, refusal)}
	case called.Version != peerpb.Version:
		mine := m.Introduction()
		return Effects{Note: difference(called, &mine)}
	}
	eff := m.hear(called)
	switch {
	case eff.Note != nil:
		// The answer was overtaken by what the node has told since. If its store is
		// an older copy, it has learnt that from the call.
		return Effects{}
	case eff.Err == nil && called.Node != m.saved.Node:
		m.answered[called.Node] = true
	}
	return eff
}
