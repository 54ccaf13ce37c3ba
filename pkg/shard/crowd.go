package shard

import (
	"fmt"
	"maps"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Gateways admit transactions by key and by shard (package admission). A shard
// hears of more than one gateway, and so has bounds of its own for what is new
// to it: for the requests that wait for locks, all together and for one key
// (package lock), and for how many hold one key in memory (Config.MaxKeyPins).
//
// What is not new is never refused: a transaction that holds locks here or for
// which others have voted. Nor is one that only reads, without locks.

// crowds are the keys for which something was refused, and how fast those who
// hold them end; the empty key is for all of them. They are forgotten when nobody
// holds the key any more.
type crowds map[string]*admission.Pace

// maxCrowds is from how many on those are looked for that could not be forgotten
// sooner, because a read of the disk was the last to hold their key.
const maxCrowds = 64

// mayNotBeRefused: it is not new, or moves a key, which helps all who wait for
// that. There are few of those.
func (t *task) mayNotBeRefused() bool {
	return t.admitted || len(t.ops) > 0 && (t.ops[0].Kind == msg.OpMoveOut || t.ops[0].Kind == msg.OpMoveIn)
}

// crowded refuses a new task with a key that too many others hold.
func (m *Machine) crowded(t *task) *msg.Failure {
	// Nobody can hold a key more often than there is something that holds keys,
	// except that one transaction may name it often.
	if m.recs.Len()+len(m.attempts) < m.cfg.MaxKeyPins/2 || t.kind != taskPark && t.kind != taskPrepare && t.kind != taskLock {
		return nil
	}
	if t.mayNotBeRefused() || t.rec != nil && t.rec.Park.Snapshot {
		return nil
	}
	for i := range t.ops {
		if t.ops[i].IsRange() {
			continue
		}
		if it := m.store.Get(t.ops[i].Key); it != nil && it.Pins() >= m.cfg.MaxKeyPins {
			m.stats.Crowded++
			return m.tooMany(it.Key, fmt.Sprintf("too many transactions want the key: shard %v has %d of them", m.cfg.ID, it.Pins()))
		}
	}
	return nil
}

// tooMany says that a key, or the shard if it is empty, has too many, and when to
// come back.
func (m *Machine) tooMany(key []byte, text string) *msg.Failure {
	p := m.crowds[string(key)]
	if p == nil {
		if m.crowds == nil {
			m.crowds = crowds{}
		}
		if len(m.crowds) >= maxCrowds {
			maps.DeleteFunc(m.crowds, func(key string, _ *admission.Pace) bool {
				it := m.store.Get([]byte(key))
				return it == nil || it.Pins() == 0
			})
		}
		p = new(admission.Pace)
		p.Begin(m.now)
		m.crowds[string(key)] = p
	}
	retry := p.Retry(m.now)
	return &msg.Failure{Reason: msg.ReasonExhausted, Kind: uint32(kv.KindExhausted), Key: key, Text: text,
		RetryAfterNanos: int64(retry), Hint: fmt.Sprintf("try again in %v", retry.Round(100_000))}
}

// queueFull says that too many wait for locks: on the shard, or for one key.
func (m *Machine) queueFull(key []byte) *msg.Failure {
	if key == nil {
		return m.tooMany(nil, fmt.Sprintf("too many transactions wait for locks on shard %v: %d", m.cfg.ID, m.locks.Waiting()))
	}
	return m.tooMany(key, fmt.Sprintf("too many transactions wait for a lock on the key: %d of the %d on shard %v", m.locks.WaitingFor(key), m.locks.Waiting(), m.cfg.ID))
}

// eased counts a task that has ended with those that were too many; its items
// have been unpinned.
func (m *Machine) eased(items []*mvcc.Item) {
	if len(m.crowds) == 0 {
		return
	}
	for _, it := range items {
		if p := m.crowds[string(it.Key)]; p != nil {
			if p.End(m.now); it.Pins() == 0 {
				delete(m.crowds, string(it.Key))
			}
		}
	}
	if p := m.crowds[""]; p != nil {
		if p.End(m.now); m.locks.Waiting() == 0 {
			delete(m.crowds, "")
		}
	}
}
