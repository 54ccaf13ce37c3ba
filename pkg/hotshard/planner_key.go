package hotshard

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// plannedKey is the planner's state of one key.
type plannedKey struct {
	key  string
	rule *Rule
	// home is the home shard, by the router.
	home kv.ShardID

	// heat, waited, estimatedWait and waits are from the last report of the shard that has the key, received at time
	// at as report number reportedIn. They are zero if the key is no longer reported.
	heat                  float64
	waited, estimatedWait int64
	waits                 msg.KeyWaits
	at                    int64
	reportedIn            uint64
	// streak counts consecutive reports with waiting of at least Up. The last report that counted was received
	// at counted and contained the waiting before; reported is false if there is none.
	streak   int
	reported bool
	counted  int64
	before   int64

	// owned: the hot shard has the key. since is when it arrived, or else when it went home.
	owned bool
	since int64
	// left: the key has been on the hot shard before. returns counts how often in a row it came back soon.
	left    bool
	returns int
	last    lastMove
	// usefulAt is when the key was last worth its place on the hot shard.
	usefulAt int64
	// why is the reason of its last move to the hot shard.
	why string

	// move is the pending move, nil if there is none.
	move *pendingMove
	// until is when it may be moved again after fails failed moves in a row. barred is when it may return to
	// the hot shard after being sent home sheds times because of overload.
	until  int64
	fails  int
	barred int64
	sheds  int
}

// lastMove describes the last move of a key that was started.
type lastMove struct {
	// rate is the heat of the key at that time, if it was reported.
	rate float64
	// ordered: a rule or the mode required the move.
	ordered bool
}

type pendingMove struct {
	hot    bool // to the hot shard
	began  int64
	reason string
}

// key returns the state of a key, and creates it if it does not exist.
func (p *Planner) key(key string) *plannedKey {
	k := p.keys[key]
	if k == nil {
		k = p.lookup(key)
		p.keys[key] = k
	}
	return k
}

// lookup returns the state of a key, or a new one that is not stored.
func (p *Planner) lookup(key string) *plannedKey {
	if k := p.keys[key]; k != nil {
		return k
	}
	return &plannedKey{key: key, rule: p.rules.of(key), home: p.opt.Home([]byte(key)), until: p.now, barred: p.now}
}

// place is the shard that has a key, as far as the planner knows.
func (p *Planner) place(k *plannedKey) kv.ShardID {
	if k.owned {
		return p.opt.Hot
	}
	return k.home
}

// applyKeyHeat applies the part of a load report that concerns a key.
func (p *Planner) applyKeyHeat(k *plannedKey, h *msg.KeyHeat) {
	k.heat, k.waited, k.estimatedWait, k.waits = h.Heat, h.Waited, h.EstimatedWait, h.Waits
	k.at, k.reportedIn = p.now, p.reportCount
	// A report that follows within half a period is a duplicate.
	if !k.reported || k.counted <= p.ago(p.opt.Every/2) {
		k.streak++
		if p.newWaiting(k) < float64(p.opt.Up) {
			k.streak = 0
		}
		k.reported, k.counted, k.before = true, p.now, k.waited
	}
	if k.waited+k.estimatedWait >= int64(p.opt.Down) {
		k.usefulAt = p.now
	}
}

// newWaiting is the waiting per second since the previous report. A reported value contains older waiting.
// That decays for seconds if it was large, for example from the time before the shards of the transactions
// were ordered by heat.
func (p *Planner) newWaiting(k *plannedKey) float64 {
	waited := float64(k.waited)
	if k.before == 0 {
		return waited
	}
	remaining := math.Exp2(-float64(p.now-k.counted) / float64(p.opt.HalfLife))
	return (waited - remaining*float64(k.before)) / (1 - remaining)
}

// clearHeat removes the reported heat of a key.
func (k *plannedKey) clearHeat() {
	k.heat, k.waited, k.estimatedWait, k.streak, k.reported, k.before, k.waits = 0, 0, 0, 0, false, 0, msg.KeyWaits{}
}

// keepUnreported keeps keys on the hot shard that a full load report may have omitted for lack of space: it
// is full, and all keys in it cause waiting.
func (p *Planner) keepUnreported(d *msg.LoadReport) {
	if len(d.Keys) < LoadReportKeys {
		return
	}
	for i := range d.Keys {
		if d.Keys[i].Waited+d.Keys[i].EstimatedWait < int64(p.opt.Down) {
			return
		}
	}
	for _, k := range p.owned {
		if k.reportedIn != p.reportCount {
			k.usefulAt = p.now
		}
	}
}

// isOnHotShard reports whether a key is on the hot shard or moving there, and not moving home.
func (p *Planner) isOnHotShard(k *plannedKey) bool {
	if k.move != nil {
		return k.move.hot
	}
	return p.place(k) == p.opt.Hot
}

// blockedReason returns why a key may not be moved to the hot shard, empty if it may.
func (p *Planner) blockedReason(k *plannedKey) string {
	switch {
	case k.rule.Order == Ban:
		return k.rule.String()
	case k.move != nil:
		return "it is being moved"
	case p.now < k.until:
		return "the last move failed; it is retried later"
	case p.now < k.barred:
		return "it left the hot shard because the shard was too busy, and may not return yet"
	case p.hasUnchangedRate(k):
		return "it went home recently, and its write rate has not changed"
	}
	return ""
}

// canGoHome reports whether a key on the hot shard may go home: it is not pinned, not moving, and no move
// has just failed.
func (p *Planner) canGoHome(k *plannedKey) bool {
	return k.owned && k.move == nil && p.now >= k.until && k.rule.Order != Pin
}

// minStay is the minimum time that a key stays on the hot shard.
func (p *Planner) minStay(k *plannedKey) time.Duration { return doubled(p.opt.Stay, k.returns) }

// hasJustLeft reports whether a key left the hot shard so recently that its return counts as a sign of a
// wrong decision.
func (p *Planner) hasJustLeft(k *plannedKey) bool {
	return k.left && !k.owned && k.since > p.ago(p.opt.Stay+p.minStay(k))
}

// hasUnchangedRate reports whether a key left the hot shard less than Stay ago, and its write rate is the
// same as when it was moved there. Then the demand has not changed, only the measurement.
func (p *Planner) hasUnchangedRate(k *plannedKey) bool {
	return k.left && !k.owned && !k.last.ordered && k.since > p.ago(p.opt.Stay) && !p.ratesDiffer(k.heat, k.last.rate)
}

// ratesDiffer reports whether a rate has changed: by more than half, and by more than the noise of two
// measurements of one rate. Example: a meter with a half-life of 1 s shows a true rate of 0.6/s as anything
// from 0 to 2. Without the second condition a key with that rate would move home and back within a second.
func (p *Planner) ratesDiffer(now, before float64) bool {
	// A decaying average with half-life h of Poisson events with rate r has the variance r·ln2/2h. This is
	// twice the standard deviation of the difference of two of them.
	chance := 2 * math.Sqrt((now+before)/2*math.Ln2/p.opt.HalfLife.Seconds())
	return math.Abs(now-before) > max(before/2, chance)
}

// savedPerWrite is the waiting that one write of a key on the hot shard avoids.
func (k *plannedKey) savedPerWrite() time.Duration {
	if k.heat <= 0 {
		return 0
	}
	return time.Duration(float64(k.estimatedWait) / k.heat)
}

// maxDoublings bounds the exponential growth of a pause.
const maxDoublings = 6

func doubled(d time.Duration, times int) time.Duration { return d << min(times, maxDoublings) }

// shedMemory is how long the planner remembers that a key was sent home because of overload, after it may
// return.
const shedMemory = time.Minute

// forgetKeys removes the keys without information, and updates active.
func (p *Planner) forgetKeys() {
	p.active = len(p.pairs) > 0
	for name, k := range p.keys {
		pending := k.rule.Order == Pin && !k.rule.Prefix && p.opt.Mode != ModeOff && k.home != p.opt.Hot
		stays := k.rule.Order == Pin && p.opt.Mode != ModeOff
		if k.move != nil || pending && !k.owned || k.owned && !stays {
			p.active = true
			continue
		}
		recent := p.hasJustLeft(k) || p.now < k.until || k.sheds > 0 && p.now < k.barred+int64(shedMemory)
		if !k.owned && !pending && k.heat == 0 && k.waited == 0 && !recent {
			delete(p.keys, name)
		}
	}
}
