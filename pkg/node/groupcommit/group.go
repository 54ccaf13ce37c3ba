package groupcommit

import (
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// Group is the logs of a node's shards. They share the write-ahead log of the node's store, which applies
// entries when it writes them. Submit and Take are called by one goroutine at a time, and so are Written,
// OnDurable, Sends and Last; the two sets may be called concurrently.
type Group struct {
	// Mutants are the planted faults.
	Mutants mutant.Set
	// BatchDurable is called for each batch that becomes durable, with the number of its entries and the time
	// that Written was given. It may be nil.
	BatchDurable func(entries int, since int64)

	shards []*Shard
	// pending are the steps and entries since the last Take. spare has their slices of the one before.
	pending, spare Batch

	// unsynced are the batches that are not durable, in order. The store is durable up to durable, and last is
	// the position of the last batch.
	unsynced      []written
	durable, last engine.Position
}

// written is a batch in the store.
type written struct {
	at      engine.Position
	ends    []logEnd
	entries int
	since   int64
}

// NewShard adds a shard with an empty log.
func (g *Group) NewShard(id kv.ShardID) *Shard {
	s := &Shard{ID: id, Releaser: shardlog.Releaser{Log: &Log{id: id, group: g}}}
	g.shards = append(g.shards, s)
	return s
}

// Submit appends the entries of a step, and adds it to the next batch. Steps of one shard are submitted in
// order.
func (g *Group) Submit(s *Step) {
	s.passed, s.at = false, s.Shard.Log.Last()
	if len(s.Out.Entries) > 0 {
		s.at = s.Shard.Log.Append(s.Out.Entries)
	}
	g.pending.Steps = append(g.pending.Steps, s)
}

// Take returns what has been submitted and appended. The batch is valid until the next Take.
func (g *Group) Take() Batch {
	b := g.pending
	g.pending = Batch{Steps: g.spare.Steps[:0], Groups: g.spare.Groups[:0]}
	g.spare = b
	return g.inOrder(b)
}

// Written is called when the Groups of a batch are in the store at a position, in the order of positions.
// since is passed on to BatchDurable.
func (g *Group) Written(b Batch, at engine.Position, since int64) {
	if len(b.Groups) == 0 {
		return
	}
	entries := 0
	for i := range b.Groups {
		entries += len(b.Groups[i].Entries)
	}
	g.last = at
	g.unsynced = append(g.unsynced, written{at, b.ends, entries, since})
	g.OnDurable(0)
}

// OnDurable records that the store is durable up to a position. Positions may be repeated or late, or ahead
// of Written.
func (g *Group) OnDurable(at engine.Position) {
	g.durable = max(g.durable, at)
	n := 0
	for n < len(g.unsynced) && g.unsynced[n].at <= g.durable {
		w := &g.unsynced[n]
		for _, e := range w.ends {
			e.log.durable = max(e.log.durable, e.at)
		}
		if g.BatchDurable != nil {
			g.BatchDurable(w.entries, w.since)
		}
		*w = written{}
		n++
	}
	if n == len(g.unsynced) {
		g.unsynced = g.unsynced[:0]
	} else {
		g.unsynced = g.unsynced[n:]
	}
}

// Sends removes the messages of all shards that may leave, and appends them to a slice.
func (g *Group) Sends(to []*msg.Envelope) []*msg.Envelope {
	for _, s := range g.shards {
		to = s.Sends(to)
	}
	return to
}

// Last is the position of the last batch in the store; 0 if there is none.
func (g *Group) Last() engine.Position { return g.last }

// Log is the log of one shard in a Group. Append and Last belong to the set of Submit, Durable to that of
// OnDurable; Applied is called where Batch.OnApplied is.
type Log struct {
	id                     kv.ShardID
	group                  *Group
	last, applied, durable shardlog.Position
}

// Append implements shardlog.Log.
func (l *Log) Append(entries []entry.Entry) shardlog.Position {
	l.last++
	p := &l.group.pending
	p.Groups = append(p.Groups, entry.Group{Shard: l.id, Entries: entries})
	p.ends = append(p.ends, logEnd{l, l.last})
	return l.last
}

// Last implements shardlog.Log.
func (l *Log) Last() shardlog.Position { return l.last }

// Durable implements shardlog.Log.
func (l *Log) Durable() shardlog.Position { return l.durable }

// Applied implements shardlog.Log.
func (l *Log) Applied() shardlog.Position { return l.applied }
