package hotshard

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Planner decides which keys are moved to the hot shard and back home. It runs on the node of the hot
// shard. Its inputs are the load reports of the shards, the pair reports of the gateways, and the busy
// share of the hot shard.
//
// A transaction is decided on the shard of its hottest key, which is locked for no time there. So a single
// hot key gains nothing by a move. A move helps keys for which transactions actually wait: keys that are
// written together with a hotter key of another shard, or that interactive transactions hold. Keys that are
// written together are moved together, because one alone gains nothing.
//
// The states of a key (a move has happened when KeyArrived or KeyLeft reports it, not before):
//
//	          worth it: Up in Surveys reports in a row, or
//	          together with such a key; and Busy <= Full;
//	          or pinned
//	+------+  (always: space, budget, no pause, no ban)     +--------+
//	| home |----------------------------------------------->| coming |
//	|      |<-----------------------------------------------|        |
//	+------+     no report within Timeout: pause            +--------+
//	  ^  ^                                                    |
//	  |  |            KeyArrived, at any time                 |
//	  |  +----------------------------------------------+     |
//	  |                                                 |     |
//	  | KeyLeft, at any time                            v     v
//	+---------+  after Stay: quiet for Quiet, or Busy > +--------+
//	| leaving |  Over, or a pinned key needs the space  |  hot   |
//	|         |<----------------------------------------|        |
//	|         |  at once: banned, or not in the mode    |        |
//	|         |---------------------------------------->|        |
//	+---------+   no report within Timeout: pause       +--------+
//
// A pinned key goes home in ModeOff only. Three rules prevent that a key moves back and forth:
//
//  1. A key that was sent home because of Busy does not return for Stay; the next time for twice that, and
//     so on.
//  2. Any other key that went home does not return before Stay, unless its write rate has changed since
//     then.
//  3. A key that returns soon after it has left was worth more than measured. Its Stay is doubled.
//
// A Planner has no locks and no clock; it is used by one goroutine, and is deterministic: equal inputs give
// equal decisions. Times are nanoseconds from any origin, not negative; a time before the newest one counts
// as the newest.
type Planner struct {
	opt    PlannerOptions
	now    int64
	survey *Survey
	rules  rules
	keys   map[string]*plannedKey
	pairs  map[uint32]pairReport
	busy   float64

	owned map[string]*plannedKey
	// epoch changes with owned; published is the epoch of the last heat map. moved lists owned as of epoch
	// movedAt.
	epoch, published, movedAt uint64
	moved                     [][]byte

	// spent is the time at which the budget of moves is full again (a token bucket): until then, a share of
	// the budget is available.
	spent int64
	// shed is when keys were last sent home because of Busy.
	shed int64
	// active: there may be something to decide.
	active bool
	// reportCount is the number of load reports so far.
	reportCount uint64
	counters    PlannerCounters
	// completed are the last moves that have happened, oldest first.
	completed []CompletedMove
}

type pairReport struct {
	at    int64
	pairs []msg.HeatPair
}

// Move is a move to be executed now.
type Move struct {
	Key      []byte
	From, To kv.ShardID
	// Reason is the explanation for the operator.
	Reason string
}

// NewPlanner returns a planner without any information.
func NewPlanner(opt PlannerOptions) *Planner {
	opt = opt.withDefaults()
	return &Planner{opt: opt, survey: NewSurvey(opt.Every), rules: newRules(nil), keys: map[string]*plannedKey{},
		shed: math.MinInt64, spent: math.MinInt64,
		pairs: map[uint32]pairReport{}, owned: map[string]*plannedKey{}, epoch: opt.Epoch, published: opt.Epoch,
		movedAt: opt.Epoch}
}

// ApplyLoadReport applies the load report of a shard. The hot shard reports all keys that were moved to it and
// still cause waiting, not only the LoadReportKeys hottest.
func (p *Planner) ApplyLoadReport(now int64, d *msg.LoadReport) {
	p.advance(now)
	p.active = true
	before := p.survey.reports[d.Shard].keys
	p.survey.Apply(p.now, d)
	p.reportCount++
	for i := range d.Keys {
		if k := p.key(string(d.Keys[i].Key)); p.place(k) == d.Shard {
			p.applyKeyHeat(k, &d.Keys[i])
		}
	}
	for i := range before {
		// A key that is no longer reported is no longer hot.
		if k := p.keys[string(before[i].Key)]; k != nil && k.reportedIn != p.reportCount && p.place(k) == d.Shard {
			k.clearHeat()
		}
	}
	if d.Shard == p.opt.Hot {
		p.keepUnreported(d)
	}
}

// ApplyPairReport replaces the pair report of a gateway.
func (p *Planner) ApplyPairReport(now int64, d *msg.PairReport) {
	p.advance(now)
	p.active = true
	p.pairs[d.Gateway] = pairReport{p.now, d.Pairs}
}

// SetBusyShare sets the share of the time in which the hot shard was busy, from 0 to 1.
func (p *Planner) SetBusyShare(now int64, share float64) {
	p.advance(now)
	p.busy = share
}

// SetRules replaces the operator's rules.
func (p *Planner) SetRules(list []Rule) {
	p.rules, p.active = newRules(list), true
	for key := range p.rules.keys {
		p.key(key)
	}
	for _, k := range p.keys {
		k.rule = p.rules.of(k.key)
	}
}

// SetMode sets which moves the planner may make.
func (p *Planner) SetMode(mode Mode) { p.opt.Mode, p.active = mode, true }

// KeyArrived reports that the hot shard has a key, and since when.
func (p *Planner) KeyArrived(now int64, key []byte, since int64) {
	p.advance(now)
	p.active = true
	k := p.key(string(key))
	if k.owned {
		return
	}
	switch {
	case k.move != nil:
		k.why = k.move.reason
	case k.fails > 0:
		k.why = "the move was cancelled but had taken place"
	default:
		k.why = "it was there when the planner started"
	}
	if p.hasJustLeft(k) {
		k.returns++
	} else {
		k.returns = 0
	}
	k.owned, k.since, k.usefulAt = true, since, p.now
	p.owned[k.key] = k
	p.recordMove(k, Move{Key: []byte(k.key), From: k.home, To: p.opt.Hot, Reason: k.why})
	p.finishMove(k)
}

// KeyLeft reports that a key has moved home.
func (p *Planner) KeyLeft(now int64, key []byte) {
	p.advance(now)
	p.active = true
	k := p.key(string(key))
	if !k.owned {
		return
	}
	k.owned, k.left, k.since = false, true, p.now
	delete(p.owned, k.key)
	why := "the reason is unknown"
	if k.move != nil {
		why = k.move.reason
	}
	p.recordMove(k, Move{Key: []byte(k.key), From: p.opt.Hot, To: k.home, Reason: why})
	p.finishMove(k)
}

// MoveFailed reports that the move of a key was given up and will not happen.
func (p *Planner) MoveFailed(now int64, key []byte) {
	p.advance(now)
	if k := p.keys[string(key)]; k != nil && k.move != nil {
		p.failMove(k)
	}
}

// failMove ends the pending move of a key as failed. The pause before the next one doubles with each
// failure.
func (p *Planner) failMove(k *plannedKey) {
	k.move = nil
	p.counters.GivenUp++
	k.until = p.now + int64(doubled(p.opt.Pause, k.fails))
	k.fails++
}

// finishMove ends the pending move of a key as completed. The old heat does not count on the new shard.
func (p *Planner) finishMove(k *plannedKey) {
	k.move, k.fails, k.until = nil, 0, p.now
	k.clearHeat()
	p.epoch++
}

// Active reports whether there is anything to decide or to publish.
func (p *Planner) Active() bool { return p.active || p.survey.Active() || p.epoch != p.published }

// HeatMap returns the message to the gateways, nil if there is none: Survey.Map, and the list of moved keys. A
// change of the list alone is published once and not repeated: a request that goes to the wrong shard is
// redirected.
func (p *Planner) HeatMap(now int64) *msg.HeatMap {
	p.advance(now)
	m := p.survey.Map(p.now)
	if m == nil {
		if p.epoch == p.published {
			return nil
		}
		m = &msg.HeatMap{}
	}
	if p.movedAt != p.epoch {
		// Earlier messages share the old list, so a new one is made.
		p.moved, p.movedAt = make([][]byte, 0, len(p.owned)), p.epoch
		for _, key := range slices.Sorted(maps.Keys(p.owned)) {
			p.moved = append(p.moved, []byte(key))
		}
	}
	for i := range m.Keys {
		if k := p.keys[string(m.Keys[i].Key)]; k != nil {
			m.Keys[i].Shard = p.place(k)
		}
	}
	m.Moved, m.Epoch = p.moved, p.epoch
	p.published = p.epoch
	return m
}

func (p *Planner) advance(now int64) { p.now = max(p.now, now) }

// ago returns the time d before now.
func (p *Planner) ago(d time.Duration) int64 { return p.now - int64(d) }
