package embed

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// StopNode stops a node of the cluster, as the end of its process does: connections break, and
// interactive transactions are aborted. What was acknowledged is kept. It must not be called for a node
// that is stopped, nor beside Stop.
func (c *Cluster) StopNode(id kv.NodeID) error {
	m := c.member(id)
	if m.stopped {
		return fmt.Errorf("embed: node %v is stopped already", id)
	}
	c.mu.Lock()
	m.stopped = true
	c.mu.Unlock()
	return errors.Join(m.hangUp(), m.stop(), m.disks.close())
}

// StartNode starts a node that StopNode has stopped, at the same address.
func (c *Cluster) StartNode(id kv.NodeID) error {
	was := c.member(id)
	if !was.stopped {
		return fmt.Errorf("embed: node %v runs", id)
	}
	m := &member{id: id, addr: was.addr, starts: was.starts}
	err := c.startMember(m)
	if err == nil && c.opt.Listen {
		err = c.listen(m)
	}
	if err != nil {
		return errors.Join(err, m.hangUp(), m.stop(), m.disks.close())
	}
	c.mu.Lock()
	c.members[id-1] = m
	c.mu.Unlock()
	if c.opt.Listen {
		m.serve()
	}
	return nil
}

// starts counts the starts of a node of a cluster in one process, in memory: the cluster ends with the
// process. It implements node.Incarnations.
type starts struct{ n atomic.Uint32 }

func (*starts) CheckIncarnation(kv.ShardID, kv.Incarnation) error { return nil }

func (*starts) SetIncarnation(kv.ShardID, kv.Incarnation) error { return nil }

func (s *starts) CountStart() (uint32, error) { return s.n.Add(1), nil }
