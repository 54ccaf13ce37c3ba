package hotshard

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Planner decides which keys are moved to the hot shard, and home again. It
// lives with the hot shard, and knows what the shards tell of their hot keys,
// what gateways tell of keys that are written together, and how busy the hot
// shard is.
//
// A transaction is decided where its hottest key lives, and that key is locked
// for no time. So a key that is hot alone is as well off at home. Worth moving
// are those for which somebody actually waits: they are written together with
// a hotter key that lives elsewhere, or interactive transactions hold them.
// Keys that are written together are moved together, as one alone gains
// nothing.
//
// The life of a key, as far as the planner goes (a move has taken place when
// Owned or Left says so, and not before):
//
//	          worth it: Up in Surveys tellings in a row, or
//	          together with such a key; and Busy <= Full
//	          or pinned
//	+------+  (always: room, the budget, no pause, no ban)  +--------+
//	| home |----------------------------------------------->| coming |
//	|      |<-----------------------------------------------|        |
//	+------+     nothing heard for Timeout: pause           +--------+
//	  ^  ^                                                    |
//	  |  |            Owned, at any time                      |
//	  |  +----------------------------------------------+     |
//	  |                                                 |     |
//	  | Left, at any time                               v     v
//	+---------+  after Stay: quiet for Quiet, or Busy > +--------+
//	| leaving |  Over, or a pin needs the room          |  hot   |
//	|         |<----------------------------------------|        |
//	|         |  at once: banned, or not in the mode    |        |
//	|         |---------------------------------------->|        |
//	+---------+   nothing heard for Timeout: pause      +--------+
//
// What is pinned goes from hot to home in ModeOff only. A key that had to go
// because of Busy may not come back for Stay, the next time for twice that, and
// so on; other keys come back when they are worth it, but not before Stay unless
// they are written at another rate than when they went. What comes back as soon as
// it has left was worth more than it seemed, and has twice the Stay.
//
// A Planner is a value without locks or clock; it is for one goroutine, and
// does the same whenever it is told the same. Times are nanoseconds from
// anywhere, but not negative; one before the newest so far counts as that.
type Planner struct {
	opt    PlannerOptions
	now    int64
	survey *Survey
	rules  rules
	keys   map[string]*plannedKey
	pairs  map[uint32]pairDigest
	busy   float64

	owned map[string]*plannedKey
	// epoch changes with owned; moved lists them, as of movedAt.
	epoch, told, movedAt uint64
	moved                [][]byte

	// spent is when all of the budget will be there again, and a share of it is
	// for each second before (a token bucket).
	spent int64
	// shed is when keys were last sent home because of Busy.
	shed int64
	// active: there is something to decide, as far as is known.
	active bool
	// tellings counts what shards have told.
	tellings uint64
	counters PlannerCounters
	// made are the last moves that have taken place, oldest first.
	made []Made
}

type pairDigest struct {
	at    int64
	pairs []msg.HeatPair
}

// Move is a move to be made now.
type Move struct {
	Key      []byte
	From, To kv.ShardID
	// Reason is for the operator.
	Reason string
}

// NewPlanner makes a planner that knows nothing.
func NewPlanner(opt PlannerOptions) *Planner {
	opt = opt.withDefaults()
	return &Planner{opt: opt, survey: NewSurvey(opt.Every), rules: newRules(nil), keys: map[string]*plannedKey{}, shed: math.MinInt64, spent: math.MinInt64,
		pairs: map[uint32]pairDigest{}, owned: map[string]*plannedKey{}, epoch: opt.Epoch, told: opt.Epoch, movedAt: opt.Epoch}
}

// TakeDigest takes what a shard tells of its hot keys. The hot shard is to tell
// of all keys that have been moved there and still matter, not only of as many
// as others.
func (p *Planner) TakeDigest(now int64, d *msg.LoadReport) {
	p.advance(now)
	p.active = true
	before := p.survey.digests[d.Shard].keys
	p.survey.Take(p.now, d)
	p.tellings++
	for i := range d.Keys {
		if k := p.key(string(d.Keys[i].Key)); p.place(k) == d.Shard {
			p.hear(k, &d.Keys[i])
		}
	}
	for i := range before {
		// What is not told of is no longer hot.
		if k := p.keys[string(before[i].Key)]; k != nil && k.telling != p.tellings && p.place(k) == d.Shard {
			k.cool()
		}
	}
	if d.Shard == p.opt.Hot {
		p.unheard(d)
	}
}

// TakePairs takes which keys occur together, as a gateway sees it, in the place
// of what it told before.
func (p *Planner) TakePairs(now int64, d *msg.PairReport) {
	p.advance(now)
	p.active = true
	p.pairs[d.Gateway] = pairDigest{p.now, d.Pairs}
}

// Busy says in which share of the time the hot shard has lately been busy.
func (p *Planner) Busy(now int64, share float64) {
	p.advance(now)
	p.busy = share
}

// SetRules takes the operator's rules, in the place of those before.
func (p *Planner) SetRules(list []Rule) {
	p.rules, p.active = newRules(list), true
	for key := range p.rules.keys {
		p.key(key)
	}
	for _, k := range p.keys {
		k.rule = p.rules.of(k.key)
	}
}

// SetMode says what the planner may do.
func (p *Planner) SetMode(mode Mode) { p.opt.Mode, p.active = mode, true }

// Owned says that the hot shard has a key, and since when.
func (p *Planner) Owned(now int64, key []byte, since int64) {
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
	if p.recent(k) {
		k.returns++
	} else {
		k.returns = 0
	}
	k.owned, k.since, k.warm = true, since, p.now
	p.owned[k.key] = k
	p.note(k, Move{Key: []byte(k.key), From: k.home, To: p.opt.Hot, Reason: k.why})
	p.settle(k)
}

// Left says that a key has gone home.
func (p *Planner) Left(now int64, key []byte) {
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
	p.note(k, Move{Key: []byte(k.key), From: p.opt.Hot, To: k.home, Reason: why})
	p.settle(k)
}

// Failed says that a move of a key has been given up: it will not take place.
func (p *Planner) Failed(now int64, key []byte) {
	p.advance(now)
	if k := p.keys[string(key)]; k != nil && k.move != nil {
		p.giveUp(k)
	}
}

// giveUp takes a move for failed.
func (p *Planner) giveUp(k *plannedKey) {
	k.move = nil
	p.counters.GivenUp++
	k.until = p.now + int64(doubled(p.opt.Pause, k.fails))
	k.fails++
}

// settle ends a move.
func (p *Planner) settle(k *plannedKey) {
	k.move, k.fails, k.until = nil, 0, p.now
	k.cool()
	p.epoch++
}

// Active reports whether there is anything to decide or to tell.
func (p *Planner) Active() bool { return p.active || p.survey.Active() || p.epoch != p.told }

// Tell is what to tell the gateways, nil if there is nothing: what Survey.Map
// says, and the keys that have been moved. That these have changed is told once,
// and not repeated for its own sake: whoever looks for a key in the wrong place
// is told there.
func (p *Planner) Tell(now int64) *msg.HeatMap {
	p.advance(now)
	m := p.survey.Map(p.now)
	if m == nil {
		if p.epoch == p.told {
			return nil
		}
		m = &msg.HeatMap{}
	}
	if p.movedAt != p.epoch {
		// Messages share the list, so it is made anew.
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
	p.told = p.epoch
	return m
}

func (p *Planner) advance(now int64) { p.now = max(p.now, now) }

// ago is the time that was so long before now.
func (p *Planner) ago(d time.Duration) int64 { return p.now - int64(d) }
