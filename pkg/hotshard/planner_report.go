package hotshard

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// Keys returns the keys that shards report, that have been or are being moved, or that have a rule; sorted
// by waiting, most first. Since is the planner's time of the move, 0 for a key that is not moved.
func (p *Planner) Keys(now int64) []msg.HotKey {
	p.advance(now)
	out := p.list(func(k *plannedKey) bool { return k.isReported() || k.owned || k.move != nil || k.rule.Order != Free })
	for i := range out {
		out[i].Reason = p.Why(out[i].Key)
	}
	return out
}

// Top returns at most n reported keys in the same order, without Why.
func (p *Planner) Top(now int64, n int) []msg.HotKey {
	p.advance(now)
	out := p.list((*plannedKey).isReported)
	return out[:min(n, len(out))]
}

// isReported reports whether the last load report of its shard contains the key.
func (k *plannedKey) isReported() bool { return k.heat != 0 || k.waited != 0 }

func (p *Planner) list(include func(*plannedKey) bool) []msg.HotKey {
	out := make([]msg.HotKey, 0, len(p.keys))
	for _, k := range p.keys {
		if !include(k) {
			continue
		}
		s := msg.HotKey{Key: []byte(k.key), Shard: p.place(k), Heat: k.heat, Waited: k.waited, EstimatedWait: k.estimatedWait,
			Waits:  k.waits,
			Moving: k.move != nil, Order: uint32(k.rule.Order)}
		if k.owned {
			s.Since = k.since
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b msg.HotKey) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(b.Heat, a.Heat), bytes.Compare(a.Key, b.Key))
	})
	return out
}

// Why explains why a key is on the shard that it is on.
func (p *Planner) Why(key []byte) string {
	k := p.keys[string(key)]
	switch {
	case k == nil && p.opt.Home(key) == p.opt.Hot, k != nil && k.home == p.opt.Hot:
		return "it was placed on the hot shard when the cluster was created"
	case k == nil:
		return "no transaction waits for it"
	case k.move != nil && k.move.hot:
		return "moving to the hot shard: " + k.move.reason
	case k.move != nil:
		return "moving home: " + k.move.reason
	case k.owned:
		return fmt.Sprintf("moved to the hot shard %v ago: %s", time.Duration(p.now-k.since).Round(time.Second), k.why)
	}
	return p.whyHome(k)
}

// perSecond shows a wait rate: the waiting time of all transactions in a second.
func perSecond(d time.Duration) string {
	return fmt.Sprintf("%d ms/s", d.Round(time.Millisecond).Milliseconds())
}

// whyHome explains why a key is not moved to the hot shard.
func (p *Planner) whyHome(k *plannedKey) string {
	waited := perSecond(time.Duration(k.waited))
	stuck := p.blockedReason(k)
	switch {
	case p.opt.Mode == ModeOff:
		return "the planner is off"
	case stuck != "":
		return stuck
	case k.rule.Order == Pin && !p.fits(p.load(), k):
		return k.rule.String() + ", but the hot shard is full"
	case k.rule.Order == Pin:
		return k.rule.String() + ", and its move is next"
	case p.opt.Mode == ModePinned:
		return "mode pinned: only pinned keys are moved"
	case k.waited < int64(p.opt.Up):
		return fmt.Sprintf("its wait rate is %s; the threshold for a move is %s", waited, perSecond(p.opt.Up))
	case k.streak < p.opt.Surveys:
		return fmt.Sprintf("its wait rate is %s, but the waiting is new or has ended", waited)
	}
	switch g := p.group(k, p.pairRates()[k.key], p.lookup); {
	case g.stuck != "":
		return g.stuck
	case !p.fits(p.load(), g.need...):
		return fmt.Sprintf("its wait rate is %s, but the hot shard is full", waited)
	case p.busy > p.opt.Full:
		return fmt.Sprintf("its wait rate is %s, but the hot shard is busy %.0f%% of the time", waited, 100*p.busy)
	}
	return fmt.Sprintf("its wait rate is %s, and its move is next", waited)
}
