package membership

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Past is what a node's store has been through: it gets a mark whenever a node begins
// to serve on it, and from time to time while one does. A store that was set back to
// an older copy of itself has other marks than its node told the other members.
type Past struct {
	// Marked counts the marks.
	Marked uint64
	// Marks are the last of them, MaxMarks at most, the newest last. They are random.
	Marks []uint64
}

// MaxMarks bounds how many marks are kept. A copy that gets more than that while it
// meets nobody who knows better is not found out later.
const MaxMarks = 64

// whole reports whether a node can have saved it.
func (p *Past) whole() bool {
	return len(p.Marks) <= MaxMarks && uint64(len(p.Marks)) <= p.Marked && (p.Marked == 0) == (len(p.Marks) == 0)
}

func (p *Past) add(mark uint64) {
	p.Marked++
	p.Marks = append(p.Marks, mark)
	if over := len(p.Marks) - MaxMarks; over > 0 {
		p.Marks = slices.Delete(p.Marks, 0, over)
	}
}

// has reports whether the n-th mark, from 1, may be the given one: it is, or that was
// too long ago to tell. There is nothing to know of the 0th.
func (p *Past) has(n, mark uint64) bool {
	switch {
	case n == 0:
		return true
	case n > p.Marked:
		return false
	}
	back := p.Marked - n
	return back >= uint64(len(p.Marks)) || p.Marks[len(p.Marks)-1-int(back)] == mark
}

// last is the newest mark, 0 if there is none.
func (p *Past) last() uint64 {
	if len(p.Marks) == 0 {
		return 0
	}
	return p.Marks[len(p.Marks)-1]
}

// Looked is told when the node has called all members once, and must be before it
// serves. If one that answered has told a mark that the node's store does not have,
// the node has ended (Err). Else the store gets a new one, and everyone is to hear of it.
func (m *Machine) Looked() Effects {
	if m.looked || !m.Formed() || m.failed != nil {
		return Effects{}
	}
	m.looked = true
	next := m.Mark()
	m.Marked(next)
	return Effects{Save: next}
}

// Mark gives what is to be saved so that the store has a new mark, and then to be told
// to Marked; nil if the store is to have none now.
func (m *Machine) Mark() *Saved {
	if !m.looked || m.failed != nil {
		return nil
	}
	next := m.saved.clone()
	next.Past.add(m.cfg.NewMark())
	return next
}

// Marked says that the mark is durable. Everyone is to hear of it.
func (m *Machine) Marked(saved *Saved) {
	m.saved.Past = saved.clone().Past
	clear(m.answered)
}

// setBack reports that a member knows a mark of this node's store that it does not have.
func (m *Machine) setBack(in *peerpb.Introduction) error {
	for _, o := range in.Members {
		if o.Node == m.saved.Node && !m.saved.Past.has(o.Marked, o.Mark) {
			return olderCopy(m.saved.Node, m.cfg.Address, in.Address)
		}
	}
	return nil
}

// hearPast takes over which mark the introduced node's store has, and reports that as
// news; or that it does not have one that it once had.
func (m *Machine) hearPast(in *peerpb.Introduction) (news bool, err error) {
	if in.Node < 1 || int(in.Node) > len(m.saved.Members) || in.Node == m.saved.Node {
		return false, nil
	}
	theirs := Past{Marked: in.Marked, Marks: in.Marks}
	known := &m.saved.Members[in.Node-1]
	switch {
	case !theirs.whole():
		return false, invalid("", "%s reports %d store stamps but lists %d", in.Address, in.Marked, len(in.Marks))
	case !theirs.has(known.Marked, known.Mark):
		return false, olderCopy(in.Node, in.Address, m.cfg.Address)
	}
	news = theirs.Marked != known.Marked
	known.Marked, known.Mark = theirs.Marked, theirs.last()
	return news, nil
}

func olderCopy(id kv.NodeID, addr, witness string) error {
	return invalid("start the node on its latest directory and remove the copy; if that directory is lost, "+
		"later acknowledged commits are lost: restore a backup into a new cluster",
		"%s is node %v, and its store is an older copy: %s has seen a later state of it", addr, id, witness)
}
