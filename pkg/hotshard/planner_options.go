package hotshard

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Mode is what the planner does on its own account.
type Mode uint8

// The modes.
const (
	// ModeAuto moves keys by heat and by rules.
	ModeAuto Mode = iota
	// ModePinned moves keys by rules only.
	ModePinned
	// ModeOff moves no key to the hot shard, and all that are there home.
	ModeOff
)

func (m Mode) String() string {
	switch m {
	case ModeAuto:
		return "auto"
	case ModePinned:
		return "pinned"
	case ModeOff:
		return "off"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// ParseMode reads what String wrote.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ModeAuto, ModePinned, ModeOff} {
		if s == m.String() {
			return m, nil
		}
	}
	return 0, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: fmt.Sprintf("unknown mode %q of the hot shard; use off, pinned or auto", s),
		Hint: "auto moves hot keys to the hot shard, pinned only pinned keys, off none"}
}

// Order is what the operator wants of a key.
type Order uint8

// The orders.
const (
	// Free leaves a key to the planner.
	Free Order = iota
	// Pin has a key on the hot shard.
	Pin
	// Ban has it at home.
	Ban
)

func (o Order) String() string {
	switch o {
	case Free:
		return "free"
	case Pin:
		return "pinned"
	case Ban:
		return "banned"
	}
	return fmt.Sprintf("Order(%d)", uint8(o))
}

// Rule is the operator's order for a key, or for all keys with a prefix. A rule
// for a key beats those for prefixes, and a longer prefix a shorter one; of two
// for the same the later counts. A prefix pins the keys that the planner hears
// of.
type Rule struct {
	Key    []byte
	Prefix bool
	Order  Order
}

func (r *Rule) String() string {
	if r.Prefix {
		return fmt.Sprintf("%v by the operator, with all keys that start with %q", r.Order, r.Key)
	}
	return fmt.Sprintf("%v by the operator", r.Order)
}

// rules are the operator's, ready to be asked.
type rules struct {
	keys     map[string]*Rule
	prefixes []*Rule // the longest first
}

func newRules(list []Rule) rules {
	r := rules{keys: map[string]*Rule{}}
	for i := len(list) - 1; i >= 0; i-- {
		rule := &Rule{Key: bytes.Clone(list[i].Key), Prefix: list[i].Prefix, Order: list[i].Order}
		if rule.Prefix {
			r.prefixes = append(r.prefixes, rule)
		} else if r.keys[string(rule.Key)] == nil {
			r.keys[string(rule.Key)] = rule
		}
	}
	slices.SortStableFunc(r.prefixes, func(a, b *Rule) int { return len(b.Key) - len(a.Key) })
	return r
}

// of is the rule for a key, one that says nothing if there is none.
func (r *rules) of(key string) *Rule {
	if rule := r.keys[key]; rule != nil {
		return rule
	}
	for _, rule := range r.prefixes {
		if len(rule.Key) <= len(key) && key[:len(rule.Key)] == string(rule.Key) {
			return rule
		}
	}
	return &noRule
}

var noRule Rule

// PlannerOptions are what the planner goes by; zero means the default, but for
// Hot, Home and Epoch.
type PlannerOptions struct {
	// Hot is the hot shard, Home the shard of a key by the router. Keys whose
	// home is the hot shard are never moved.
	Hot  kv.ShardID
	Home func(key []byte) kv.ShardID
	// Epoch is above all that were told in an earlier life.
	Epoch uint64
	Mode  Mode
	// Every is how often shards and gateways tell. Default kv.DefaultHeatEvery.
	Every time.Duration
	// HalfLife is that of the shards' meters. Default 1 s, as theirs.
	HalfLife time.Duration
	// A key is worth moving when it has caused waiting of Up a second in
	// Surveys tellings of its shard in a row. Defaults 250 ms and 2.
	Up      time.Duration
	Surveys int
	// Together is in which share of a key's clashes another must be written with
	// it to be moved with it. Default a fifth.
	Together float64
	// A key goes home when it has been on the hot shard for Stay, and when for
	// Quiet it has caused less waiting than Down a second, and would have
	// elsewhere. It does not come back before Stay has passed once more, unless its
	// rate has changed since then: by half, and by more than chance. Defaults 50 ms, 30 s, 5 s.
	Down        time.Duration
	Stay, Quiet time.Duration
	// Relief is how long a key stays at least if the hot shard is too busy. Default
	// 10 s.
	Relief time.Duration
	// Moves is how many moves may begin in a second, in the long run, and Burst how
	// many may at once when there have been few: after a start, or when the
	// demand turns elsewhere; Moves at the least. MaxKeys bounds the keys that have
	// been moved to the hot shard. Defaults 10, five times that, and 256.
	Moves, Burst, MaxKeys int
	// Timeout is how long a move is given. After that it is tried again in
	// Pause, twice that, and so on. Defaults 10 s and 1 s.
	Timeout, Pause time.Duration
	// Full is the busy share of the hot shard above which no more keys are moved
	// there, Over that above which some go home. Defaults 0.6 and 0.85.
	Full, Over float64
}

func (o PlannerOptions) withDefaults() PlannerOptions {
	orElse(&o.Every, kv.DefaultHeatEvery)
	orElse(&o.HalfLife, time.Second)
	orElse(&o.Up, 250*time.Millisecond)
	orElse(&o.Surveys, 2)
	orElse(&o.Together, 0.2)
	orElse(&o.Down, 50*time.Millisecond)
	orElse(&o.Stay, 30*time.Second)
	orElse(&o.Relief, 10*time.Second)
	orElse(&o.Quiet, 5*time.Second)
	orElse(&o.Moves, 10)
	orElse(&o.Burst, 5*o.Moves)
	o.Burst = max(o.Burst, o.Moves) // or a group might never go
	orElse(&o.MaxKeys, 256)
	orElse(&o.Timeout, 10*time.Second)
	orElse(&o.Pause, time.Second)
	orElse(&o.Full, 0.6)
	orElse(&o.Over, 0.85)
	return o
}

func orElse[T int | float64 | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}
