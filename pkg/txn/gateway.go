package txn

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Gateway is the machine of one gateway: all the transactions of its clients.
// Its methods are not for concurrent use; each takes the time in nanoseconds,
// and what it wants done is collected by Flush.
type Gateway struct {
	cfg Config
	now int64
	// places are what transactions take as long as they are under way.
	places *admission.Places
	incs   []kv.Incarnation
	// aborts are how many attempts each shard has aborted in that incarnation.
	aborts []uint64
	// down says since when nodes have been known to be down.
	down map[kv.NodeID]int64
	// leaving are shards that are about to stop; leavings counts how many have been.
	leaving  map[kv.ShardID]leaving
	leavings uint64

	// ids finds the attempt of a transaction that is under way, the newest if
	// there are several; the others are in earlier.
	ids     map[kv.TxnID]*call
	earlier map[kv.TxnRef]*call
	// readers finds those that read without locks by the names of their
	// attempts; lastReader is the number in the newest name. parked: when
	// a shard was last heard of, updates waited there; sparing: it was busy.
	readers    map[kv.TxnRef]*call
	lastReader int64
	parked     []bool
	sparing    []bool
	// heat says which keys are hot, nil if none is; it is good until heatUntil.
	heat      *Heat
	heatUntil int64
	// moved are the keys that are not at home, as far as is known, and where
	// they are.
	moved      map[string]kv.ShardID
	movedEpoch uint64
	// habits are what open transactions do to contended keys that they read.
	habits habits
	// pairs counts which hot keys occur together; pairsNew: some have since the
	// planner was told.
	pairs    *hotshard.Pairs
	pairsNew bool
	// round fixes a state for those who wait for it, nextRound wait for the
	// next, which does not begin before roundFrom. due is the call by which the
	// keeper gets what it wants.
	round     *call
	nextRound []*call
	roundFrom int64
	// crowded is until when open readers read at a pin from the start.
	crowded int64
	rounds  uint64
	due     *call
	// borrowing is the round of another machine that calls wait for, nextBorrow those
	// that wait for the next; lent are the states that others have of this one.
	borrowing  *round
	nextBorrow []*call
	lent       map[kv.TxnRef]*round
	// before is the state of the last round, for a mutant.
	before *round
	// pages finds the scans that wait for a page by the request's number.
	pages      map[uint32]*call
	pageNumber uint32
	enquiries  map[kv.TxnID]*enquiry
	// ended remembers why interactive transactions ended while their client
	// was silent.
	ended      map[kv.TxnRef]*msg.Failure
	endedOrder []kv.TxnRef

	// spare are calls for further one-shots; over are those that become spare
	// with the next Flush, when nobody refers to them any more.
	spare, over []*call

	// unsent are the one-shot reads that began since the last Flush; shared counts
	// those that were answered by another's.
	unsent []*call
	shared uint64

	// kept are the rounds at whose states somebody reads.
	kept []*round

	next int64
	out  Output
}

// NewGateway makes a gateway without transactions.
func NewGateway(cfg Config) *Gateway {
	cfg = cfg.withDefaults()
	shards := cfg.Router.Shards()
	g := &Gateway{
		cfg: cfg, incs: make([]kv.Incarnation, shards), aborts: make([]uint64, shards), parked: slices.Repeat([]bool{true}, shards), sparing: make([]bool, shards), moved: map[string]kv.ShardID{}, pairs: hotshard.NewPairs(hotshard.PairOptions{}), down: map[kv.NodeID]int64{}, leaving: map[kv.ShardID]leaving{},
		readers: map[kv.TxnRef]*call{}, lent: map[kv.TxnRef]*round{}, pages: map[uint32]*call{},
		earlier: map[kv.TxnRef]*call{}, ids: map[kv.TxnID]*call{}, enquiries: map[kv.TxnID]*enquiry{}, ended: map[kv.TxnRef]*msg.Failure{}, next: never,
	}
	g.places = g.newPlaces()
	return g
}

// InFlight is the number of transactions, scans and enquiries under way.
func (g *Gateway) InFlight() int { return len(g.ids) + len(g.earlier) + len(g.enquiries) }

// Quiet tells what is left when no transaction is under way: nil when there is
// nothing.
func (g *Gateway) Quiet() error {
	if n := g.InFlight(); n+len(g.readers)+len(g.pages)+len(g.nextRound)+len(g.nextBorrow)+len(g.kept)+len(g.lent) > 0 || g.round != nil {
		return fmt.Errorf("gateway %v: not quiet: %d under way, %d readers, %d pages asked for, %d wait for a pin, a round is under way: %v",
			g.cfg.Node, n, len(g.readers), len(g.pages), len(g.nextRound), g.round != nil)
	}
	if err := g.places.Quiet(); err != nil {
		return fmt.Errorf("gateway %v: %w", g.cfg.Node, err)
	}
	return nil
}

// Flush drains what the calls since the last Flush want done.
func (g *Gateway) Flush() Output {
	var out Output
	g.FlushInto(&out)
	return out
}

// FlushInto is Flush with the room of an earlier output, of which nothing may
// be needed any more.
func (g *Gateway) FlushInto(out *Output) {
	g.out.Send, out.Send = out.Send[:0], g.out.Send
	g.out.Done, out.Done = out.Done[:0], g.out.Done
	g.out.GiveBack, out.GiveBack = out.GiveBack[:0], g.out.GiveBack
	out.Borrow, g.out.Borrow = g.out.Borrow, false
	out.Next = g.next
	if !g.cfg.Mutants.Has(mutant.SharedAfterSent) {
		g.unsent = g.unsent[:0]
	}
	for _, c := range g.over {
		if *c = (call{}); len(g.spare) < maxSpare {
			g.spare = append(g.spare, c)
		}
	}
	clear(g.over)
	if g.over = g.over[:0]; cap(g.over) > maxRoom {
		g.over = nil
	}
}

const (
	// maxSpare bounds the calls that are kept for others.
	maxSpare = 256
	// maxRoom bounds the room for those that are over. Somewhat arbitrary: where more
	// end at once it does not matter to make it anew.
	maxRoom = 4096
)

// newCall makes a call, or takes a spare one.
func (g *Gateway) newCall() *call {
	n := len(g.spare)
	if n == 0 {
		return &call{}
	}
	c := g.spare[n-1]
	g.spare = g.spare[:n-1]
	return c
}

// SetDown says whether a node is known to be down. While it is, new transactions that
// need it are refused at once, and those under way that wait for it are ended.
func (g *Gateway) SetDown(now int64, n kv.NodeID, down bool) {
	g.now = max(g.now, now)
	_, was := g.down[n]
	switch {
	case down && !was:
		g.down[n] = g.now
		if g.InFlight() > 0 {
			g.timed(g.now)
		}
	case !down:
		delete(g.down, n)
	}
}

// Leaving reports whether nothing new is begun on a shard because its node is about to stop.
func (g *Gateway) Leaving(s kv.ShardID) bool {
	return g.leavingBefore([]kv.ShardID{s}, g.leavings) != nil
}

// SetLeaving says that a shard's node is about to stop: new transactions that need
// the shard are refused at once, until it is in a later incarnation than this one.
// What has been begun there goes on.
func (g *Gateway) SetLeaving(s kv.ShardID, inc kv.Incarnation) {
	if int(s) < len(g.incs) && inc >= g.incs[s] {
		g.Learn(s, inc)
		if g.leaving[s].inc != inc {
			g.leavings++
			g.leaving[s] = leaving{inc, g.leavings}
		}
	}
}

// Learn says what a shard's incarnation is; it saves the first attempt.
func (g *Gateway) Learn(s kv.ShardID, inc kv.Incarnation) {
	g.LearnAborts(s, kv.Known{Incarnation: inc})
}

// LearnAborts says what a shard's incarnation is, and how many attempts it has aborted in
// it: who does not know that may lose one attempt.
func (g *Gateway) LearnAborts(s kv.ShardID, k kv.Known) {
	switch {
	case int(s) >= len(g.incs) || k.Incarnation < g.incs[s]:
	case k.Incarnation > g.incs[s]:
		g.incs[s], g.aborts[s] = k.Incarnation, k.Aborts
	default:
		g.aborts[s] = max(g.aborts[s], k.Aborts)
	}
}

// known is what a commit names of its last agent, of which it knows an incarnation.
func (g *Gateway) known(s kv.ShardID, inc kv.Incarnation) kv.Known {
	k := kv.Known{Incarnation: inc}
	if inc == g.incs[s] {
		k.Aborts = g.aborts[s]
	}
	return k
}

// timed has Tick called at a time.
func (g *Gateway) timed(at int64) { g.next = min(g.next, at) }

func (g *Gateway) done(c *call, d Done) {
	if c.token == nil {
		return
	}
	d.Token, d.Txn, d.Attempts, d.Aborts = c.token, c.ref, c.ref.Attempt-c.redirects, c.aborts
	d.Receipt, d.Ended = g.told(c, d.Failure), c.ended
	c.token = nil
	g.out.Done = append(g.out.Done, d)
}

func (g *Gateway) enter(c *call) {
	if old := g.ids[c.ref.TxnID]; old != nil && old.ref != c.ref {
		g.earlier[old.ref] = old
	}
	g.ids[c.ref.TxnID] = c
}

func (g *Gateway) leave(c *call) {
	if g.ids[c.ref.TxnID] == c {
		delete(g.ids, c.ref.TxnID)
		return
	}
	delete(g.earlier, c.ref)
}

// find gives an attempt that is under way, nil if it is not.
func (g *Gateway) find(ref kv.TxnRef) *call {
	if c := g.ids[ref.TxnID]; c != nil && c.ref == ref {
		return c
	}
	return g.earlier[ref]
}

// taken refuses an id that is under way here.
func (g *Gateway) taken(id kv.TxnID) *msg.Failure {
	switch {
	case g.enquiries[id] != nil:
		return failure(msg.ReasonFenced, kv.KindAborted, "an enquiry about the transaction is under way")
	case g.ids[id] != nil:
		return failure(msg.ReasonRequest, kv.KindInvalid, "a transaction with this id is under way; make a new id for each")
	}
	return nil
}

// finish ends a call for good.
func (g *Gateway) finish(c *call, d Done) {
	g.leave(c)
	g.giveBack(c, d.Failure)
	g.endReading(c)
	if c.kind == pinning {
		g.endRound(c, d.Failure)
		return
	}
	d.Failure = c.certain(d.Failure)
	g.stamp(c, &d)
	g.leaveRound(c)
	g.endSharing(c, &d)
	d.Closed = true
	if c.token == nil && c.kind == interactive && d.Failure != nil {
		g.remember(c.ref, d.Failure)
	}
	g.done(c, d)
	if c.kind == oneShot {
		g.over = append(g.over, c)
	}
}

// certain is what the client is told of a failure: if another commit of the id was found under
// way, that may yet be made.
func (c *call) certain(f *msg.Failure) *msg.Failure {
	if f == nil || !c.contested || c.kind != oneShot || kv.Kind(f.Kind) == kv.KindUnknown {
		return f
	}
	return failure(msg.ReasonRival, kv.KindUnknown,
		"transaction "+c.ref.TxnID.String()+" was sent before and may be under way; ask for its outcome by that id")
}

func (g *Gateway) remember(ref kv.TxnRef, f *msg.Failure) {
	if len(g.endedOrder) >= 4096 {
		for _, r := range g.endedOrder[:2048] {
			delete(g.ended, r)
		}
		g.endedOrder = slices.Clone(g.endedOrder[2048:])
	}
	g.ended[ref] = f
	g.endedOrder = append(g.endedOrder, ref)
}

func (g *Gateway) sendShard(s kv.ShardID, fill func(*msg.Envelope)) *msg.Envelope {
	env := msg.ToShard(s)
	fill(env)
	g.out.Send = append(g.out.Send, env)
	return env
}
