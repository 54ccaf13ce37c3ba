package hotshard

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// plannedKey is what the planner knows of a key.
type plannedKey struct {
	key  string
	rule *Rule
	// home by the router.
	home kv.ShardID

	// heat, waited and would are as last told, at that time in that telling, by
	// the shard that has the key; zero if they are not told any more.
	heat          float64
	waited, would int64
	waits         msg.KeyWaits
	at            int64
	telling       uint64
	// streak counts the tellings in a row with waiting of Up. The last that
	// counted, if any has, was at counted, and told of this waiting.
	streak  int
	heard   bool
	counted int64
	before  int64

	// owned: the hot shard has the key since then, or home again.
	owned bool
	since int64
	// left: it has been there before; it came back soon after so many times.
	left    bool
	returns int
	last    lastMove
	// warm is when the key was last worth its place there.
	warm int64
	// why is why it came where it is.
	why string

	// move is under way, nil if none is.
	move *underway
	// until is when it may be moved again, after so many moves that failed;
	// barred is when it may be moved to the hot shard again, after it had to go
	// so many times because that was too busy.
	until  int64
	fails  int
	barred int64
	sheds  int
}

// lastMove is the last move of a key that has begun.
type lastMove struct {
	// rate is the heat of the key then, as far as it was told.
	rate float64
	// ordered: the operator, or the mode, wanted it.
	ordered bool
}

type underway struct {
	hot    bool // to the hot shard
	began  int64
	reason string
}

// key finds what is known of a key, and remembers it from now on.
func (p *Planner) key(key string) *plannedKey {
	k := p.keys[key]
	if k == nil {
		k = p.peek(key)
		p.keys[key] = k
	}
	return k
}

// peek does so, too, but remembers nothing.
func (p *Planner) peek(key string) *plannedKey {
	if k := p.keys[key]; k != nil {
		return k
	}
	return &plannedKey{key: key, rule: p.rules.of(key), home: p.opt.Home([]byte(key)), until: p.now, barred: p.now}
}

// place is the shard that has a key, as far as is known.
func (p *Planner) place(k *plannedKey) kv.ShardID {
	if k.owned {
		return p.opt.Hot
	}
	return k.home
}

// hear takes what is told of a key.
func (p *Planner) hear(k *plannedKey, told *msg.KeyHeat) {
	k.heat, k.waited, k.would, k.waits = told.Heat, told.Waited, told.Would, told.Waits
	k.at, k.telling = p.now, p.tellings
	// What comes sooner was told twice.
	if !k.heard || k.counted <= p.ago(p.opt.Every/2) {
		k.streak++
		if p.fresh(k) < float64(p.opt.Up) {
			k.streak = 0
		}
		k.heard, k.counted, k.before = true, p.now, k.waited
	}
	if k.waited+k.would >= int64(p.opt.Down) {
		k.warm = p.now
	}
}

// fresh is the waiting that there has been since the last telling. What is told
// has what is older in it, for seconds if that was much, as when nobody knew yet
// in which order to go.
func (p *Planner) fresh(k *plannedKey) float64 {
	waited := float64(k.waited)
	if k.before == 0 {
		return waited
	}
	rest := math.Exp2(-float64(p.now-k.counted) / float64(p.opt.HalfLife))
	return (waited - rest*float64(k.before)) / (1 - rest)
}

// cool forgets what was told of a key.
func (k *plannedKey) cool() {
	k.heat, k.waited, k.would, k.streak, k.heard, k.before, k.waits = 0, 0, 0, 0, false, 0, msg.KeyWaits{}
}

// unheard keeps the keys on the hot shard warm of which a full digest may have
// had no room to tell.
func (p *Planner) unheard(d *msg.LoadReport) {
	if len(d.Keys) < DigestKeys {
		return
	}
	for i := range d.Keys {
		if d.Keys[i].Waited+d.Keys[i].Would < int64(p.opt.Down) {
			return
		}
	}
	for _, k := range p.owned {
		if k.telling != p.tellings {
			k.warm = p.now
		}
	}
}

// there reports whether a key is on the hot shard, or on its way there, to stay
// as far as is known.
func (p *Planner) there(k *plannedKey) bool {
	if k.move != nil {
		return k.move.hot
	}
	return p.place(k) == p.opt.Hot
}

// blocked says why a key may not be moved to the hot shard, if it is not there;
// empty if it may.
func (p *Planner) blocked(k *plannedKey) string {
	switch {
	case k.rule.Order == Ban:
		return k.rule.String()
	case k.move != nil:
		return "it is being moved"
	case p.now < k.until:
		return "the last move failed; it is retried later"
	case p.now < k.barred:
		return "it left the hot shard because the shard was too busy, and may not return yet"
	case p.steady(k):
		return "it went home recently, and its write rate has not changed"
	}
	return ""
}

// idle reports whether a key on the hot shard may go home: nobody wants it
// there, and no move has just failed.
func (p *Planner) idle(k *plannedKey) bool {
	return k.owned && k.move == nil && p.now >= k.until && k.rule.Order != Pin
}

// stay is for how long a key stays on the hot shard even if it is quiet there.
func (p *Planner) stay(k *plannedKey) time.Duration { return doubled(p.opt.Stay, k.returns) }

// recent reports whether a key has just left the hot shard: not much longer ago than it may
// come back since (steady).
func (p *Planner) recent(k *plannedKey) bool {
	return k.left && !k.owned && k.since > p.ago(p.opt.Stay+p.stay(k))
}

// steady reports whether a key has left the hot shard for less than Stay, and is written as
// often as when it was moved: what has changed is not the demand, but how well it is known.
func (p *Planner) steady(k *plannedKey) bool {
	return k.left && !k.owned && !k.last.ordered && k.since > p.ago(p.opt.Stay) && !p.differ(k.heat, k.last.rate)
}

// differ reports whether a rate has changed from before to now: by more than half, and by more than two
// measurements of one rate differ by chance. A rate of 0.6 a second, which a meter with a half-life of
// 1 s sees as anything from 0 to 2, has not changed when the meter shows the double; a key with such a
// rate would otherwise be moved home and back within a second.
func (p *Planner) differ(now, before float64) bool {
	// An average with half-life h of events with rate r has the variance r·ln2/2h. This is twice the
	// standard deviation of the difference of two of them.
	chance := 2 * math.Sqrt((now+before)/2*math.Ln2/p.opt.HalfLife.Seconds())
	return math.Abs(now-before) > max(before/2, chance)
}

// saved is the waiting that each write of a key on the hot shard is spared.
func (k *plannedKey) saved() time.Duration {
	if k.heat <= 0 {
		return 0
	}
	return time.Duration(float64(k.would) / k.heat)
}

// maxDoublings bounds how long a pause becomes.
const maxDoublings = 6

func doubled(d time.Duration, times int) time.Duration { return d << min(times, maxDoublings) }

// remember is for how long the planner remembers how often a key had to go.
const remember = time.Minute

// forget drops the keys of which there is nothing to know, and finds out
// whether anything is left to be done.
func (p *Planner) forget() {
	p.active = len(p.pairs) > 0
	for name, k := range p.keys {
		wanted := k.rule.Order == Pin && !k.rule.Prefix && p.opt.Mode != ModeOff && k.home != p.opt.Hot
		stays := k.rule.Order == Pin && p.opt.Mode != ModeOff
		if k.move != nil || wanted && !k.owned || k.owned && !stays {
			p.active = true
			continue
		}
		recent := p.recent(k) || p.now < k.until || k.sheds > 0 && p.now < k.barred+int64(remember)
		if !k.owned && !wanted && k.heat == 0 && k.waited == 0 && !recent {
			delete(p.keys, name)
		}
	}
}
