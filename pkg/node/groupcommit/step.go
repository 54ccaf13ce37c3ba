package groupcommit

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// Shard is a shard between its steps: its log, and what waits for the log.
type Shard struct {
	ID kv.ShardID
	shardlog.Releaser
}

// Step is the output of a step of a shard.
type Step struct {
	Shard *Shard
	Out   shard.Output
	// at is the position of its entries, or of the last entries before it. A step without entries may report
	// what earlier steps of its shard wrote:
	//
	//	step 1: writes k=1     its entries are at 7, not durable
	//	step 2: reads k        no entries, but its response contains k=1: waits for 7
	//
	// Without that wait, a crash would revoke a value that a client has already seen.
	at shardlog.Position
	// passed: its messages did not have to wait.
	passed bool
}

// Empty reports whether the output contains at most urgent messages.
func (s *Step) Empty() bool {
	return len(s.Out.Entries)+len(s.Out.Send)+len(s.Out.Reads)+len(s.Out.Dropped) == 0
}

// Batch is the steps of some shards whose entries are written to the store together, oldest first.
type Batch struct {
	Steps []*Step
	// Groups are the entries; none if no step wrote anything.
	Groups []entry.Group
	// ends are the positions of Groups in the logs of their shards.
	ends []logEnd
}

// logEnd is the end of a log after an append.
type logEnd struct {
	log *Log
	at  shardlog.Position
}

// OnApplied is called when the store returns the rows of Groups. It adds the store reads of the steps to
// those that their shards hold; then they may start.
func (b Batch) OnApplied() {
	for _, e := range b.ends {
		e.log.applied = max(e.log.applied, e.at)
	}
	for _, s := range b.Steps {
		s.Shard.HoldReads(s.at, shardlog.Reads{Start: s.Out.Reads, Drop: s.Out.Dropped})
	}
}

// Pass appends to a slice the messages of the steps of a batch that need not wait, and reports whether there are
// others. The caller sends them, and then calls Hold.
func (g *Group) Pass(b Batch, to []*msg.Envelope) (now []*msg.Envelope, rest bool) {
	for _, s := range b.Steps {
		s.passed = g.canPass(s)
		if s.passed {
			to = append(to, s.Out.Send...)
		}
		rest = rest || !s.passed
	}
	return to, rest
}

// Hold makes the messages that have not passed wait for the logs of their shards.
func (b Batch) Hold() {
	for _, s := range b.Steps {
		if !s.passed {
			s.Shard.Hold(s.at, s.Out.Send)
		}
	}
}
