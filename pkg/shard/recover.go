package shard

import (
	"errors"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
)

// Recovered is what the log of a shard contains besides versions and outcomes.
type Recovered struct {
	// Incarnation is that of the new machine, above all earlier ones of the shard. Default: one above that of
	// State.
	Incarnation kv.Incarnation

	State     entry.State
	Prepared  []entry.Prepared
	Records   []entry.Record
	Fences    []outcome.Fence
	Snapshots []*msg.Snapshot
	Moved     []contention.MovedRow
	Rules     []contention.RuleRow
	// Retention is by which CSNs earlier leaders have collected, nil for a shard with one replica.
	Retention *entry.Retention
	// Leases is what is known of the leases of earlier incarnations, for a shard with one replica.
	Leases Leases
	// Replica is set for a shard with several replicas: the machine is of the leader of a term, which is Incarnation.
	Replica *Replica
}

// Replica is what a leader knows about the leaders before it.
type Replica struct {
	// Wait is when registrations of readers by earlier leaders have ended, by Input.Now. Before, the shard neither
	// seals nor decides (R4.3, R5.5).
	Wait int64
	// CSN is the shard's CSN as of the term entry, at which the machine starts; that in State does not count (R13.7).
	CSN kv.CSN
	// SteadyNanos is for how long the node's time of day has been steady, 0 if that is unknown or other nodes
	// contradict it. The node has run longer than the leader, which believes it (R14.4).
	SteadyNanos int64
}

// Leases are the leases of registered readers at the end of an incarnation.
type Leases struct {
	// Known: Until is known, by the clock of Input.Now.
	Known bool
	// Until is when the last lease ends at the latest.
	Until int64
}

// Add adds a row. It is the visitor for an engine's Recover.
func (r *Recovered) Add(t entry.Table, row entry.Row) error {
	var err error
	switch t {
	case entry.TableState:
		err = r.State.Unmarshal(row.Value)
	case entry.TablePrepared:
		var p entry.Prepared
		err = p.Unmarshal(row.Value)
		r.Prepared = append(r.Prepared, p)
	case entry.TableRecord:
		var c entry.Record
		err = c.Unmarshal(row.Value)
		r.Records = append(r.Records, c)
	case entry.TableFence:
		var f outcome.Fence
		err = f.Unmarshal(row.Key, row.Value)
		r.Fences = append(r.Fences, f)
	case entry.TableMoved:
		var g entry.Moved
		err = g.Unmarshal(row.Value)
		r.Moved = append(r.Moved, contention.MovedRow{Key: row.Key, Moved: g})
	case entry.TableHotRule:
		var q entry.HotRule
		err = q.Unmarshal(row.Value)
		if len(row.Key) == 0 {
			err = errors.New("it has no name")
		}
		r.Rules = append(r.Rules, contention.RuleRow{Key: row.Key, HotRule: q})
	case entry.TableRetention:
		r.Retention = &entry.Retention{}
		err = r.Retention.Unmarshal(row.Value)
	case entry.TableSnapshot:
		p := &msg.Snapshot{}
		err = p.Unmarshal(row.Value)
		r.Snapshots = append(r.Snapshots, p)
	}
	if err != nil {
		return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: fmt.Sprintf("a %v row of the log cannot be decoded: %v", t, err),
			Hint: "the store is damaged; restore a backup, or put back a copy if it was made after the node last stopped"}
	}
	return nil
}
