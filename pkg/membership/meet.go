package membership

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// HandleCall handles an introduction and returns the response. The response contains the state after the step,
// so it must not be sent before the effects are executed.
func (m *Machine) HandleCall(req *peerpb.MeetRequest) (*peerpb.MeetResponse, Effects) {
	var eff Effects
	var refusal error
	switch caller := &req.Caller; {
	case !m.Formed():
		eff, refusal = m.handleBeforeForming(caller)
	case caller.Cluster == "":
		refusal = m.handleNewNode(caller)
	default:
		eff, refusal = m.handleMember(caller)
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

// handleBeforeForming compares the flags of caller and node. A difference ends this node only if the caller
// is on its list: otherwise the caller is wrong, and ends.
func (m *Machine) handleBeforeForming(caller *peerpb.Introduction) (Effects, error) {
	mine := m.Introduction()
	diff := difference(caller, &mine)
	if diff != nil && caller.Cluster == "" && slices.Contains(m.cfg.List, caller.Address) {
		return m.fail(diff), diff
	}
	return Effects{}, diff
}

// handleNewNode handles a caller without a cluster. It gets the id from the response, if it is an expected
// member that never had a store, or if its shards have other replicas.
func (m *Machine) handleNewNode(caller *peerpb.Introduction) error {
	mine := m.Introduction()
	if diff := difference(caller, &mine); diff != nil {
		return invalid("the members of a formed cluster cannot change",
			"%s is not a member of cluster %s: %v", caller.Address, m.saved.Cluster, diff)
	}
	i := slices.Index(m.saved.List, caller.Address)
	if i < 0 {
		return invalid("add the node itself to --join", "%s is not in its own list of members", caller.Address)
	}
	if o := m.saved.Members[i]; o.Seen && !m.saved.isReplicated() {
		return emptyStoreError(o.Node, caller.Address, m.saved.Cluster)
	}
	return nil
}

func emptyStoreError(id kv.NodeID, addr, cluster string) error {
	return invalid("start it on its own directory, or on a copy that was made after it last stopped; "+
		"if the directory is lost, the data of its shards is lost, and a new cluster is needed",
		"%s is node %v of cluster %s, whose store already exists, but it started with an empty one", addr, id, cluster)
}

// handleMember handles a caller that has a cluster.
func (m *Machine) handleMember(caller *peerpb.Introduction) (Effects, error) {
	if caller.Cluster != m.saved.Cluster {
		return Effects{}, m.foreignError(caller)
	}
	if mine := m.Introduction(); caller.Version != mine.Version {
		return Effects{}, difference(caller, &mine)
	}
	eff := m.applyIntroduction(caller)
	if eff.Note != nil {
		return Effects{}, eff.Note
	}
	return eff, eff.Err
}

func (m *Machine) foreignError(in *peerpb.Introduction) error {
	return invalid("check --join, --advertise and the store directory of both nodes",
		"%s belongs to cluster %s, and this node, %s, to cluster %s", in.Address, in.Cluster, m.cfg.Address, m.saved.Cluster)
}

// HandleResponse handles the response of the node at addr.
func (m *Machine) HandleResponse(addr string, resp *peerpb.MeetResponse) Effects {
	called := &resp.Called
	if m.Formed() {
		return m.onMemberResponse(addr, called, resp.Refusal)
	}
	mine := m.Introduction()
	if diff := difference(called, &mine); diff != nil {
		return m.fail(diff)
	}
	if resp.Refusal != "" {
		return m.fail(m.refusalError(addr, resp.Refusal))
	}
	if called.Cluster != "" {
		return m.onFormedResponse(addr, called)
	}
	if called.Address != addr {
		return m.fail(invalid("set --advertise of each node to its address in --join",
			"this node, %s, called %s, which reports the address %s", m.cfg.Address, addr, called.Address))
	}
	m.agreed[addr] = true
	return m.tryForm()
}

// onFormedResponse handles the response of a member while this node is unformed. The id is accepted from
// the founder only, because the founder knows whether this node was a member before.
func (m *Machine) onFormedResponse(addr string, called *peerpb.Introduction) Effects {
	if m.hasLostDisk(called) {
		return m.joinWithNewDisk(called)
	}
	if m.isFounder() {
		return m.fail(emptyStoreError(1, m.cfg.Address, called.Cluster))
	}
	if addr != m.cfg.List[0] || called.Node != 1 {
		return Effects{}
	}
	m.saved = m.cfg.Found(called.Cluster)
	eff := m.applyIntroduction(called)
	if eff.Err != nil {
		m.saved = Saved{}
		return eff
	}
	eff.Save = m.saveFounding().Save
	return eff
}

// onMemberResponse handles the response of an expected member.
func (m *Machine) onMemberResponse(addr string, called *peerpb.Introduction, refusal string) Effects {
	switch {
	case called.Cluster == "":
		// It does not have the id yet, or has lost its store. It gets the response when it calls.
		return Effects{}
	case called.Cluster != m.saved.Cluster:
		err := m.foreignError(called)
		if slices.Contains(m.cfg.List, addr) {
			return m.fail(err)
		}
		return Effects{Note: err}
	case m.checkOwnStore(called) != nil:
		return m.fail(m.checkOwnStore(called))
	case refusal != "" && !m.isUnused():
		return Effects{Note: m.refusalError(addr, refusal)}
	case called.Version != peerpb.Version:
		mine := m.Introduction()
		return Effects{Note: difference(called, &mine)}
	}
	eff := m.applyIntroduction(called)
	switch {
	case eff.Note != nil:
		// The response is older than a later introduction of the node. If its store is an older copy, the call has
		// informed the node.
		return Effects{}
	case refusal != "":
		// An unused disk may have got a number above that of the disk that the member knows.
		eff.Note = m.refusalError(addr, refusal)
	case eff.Err == nil && called.Node != m.saved.Node:
		m.answered[called.Node] = true
	}
	return eff
}

func (m *Machine) refusalError(addr, refusal string) error {
	return invalid("", "%s rejects this node, %s: %s", addr, m.cfg.Address, refusal)
}
