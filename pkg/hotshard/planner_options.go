package hotshard

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Mode is which moves the planner makes.
type Mode uint8

// The modes.
const (
	// ModeAuto moves keys by heat and by rules.
	ModeAuto Mode = iota
	// ModePinned moves keys by rules only.
	ModePinned
	// ModeOff moves no key to the hot shard, and moves all keys on it home.
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

// ParseMode is the inverse of String.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ModeAuto, ModePinned, ModeOff} {
		if s == m.String() {
			return m, nil
		}
	}
	return 0, &kv.Error{Kind: kv.KindInvalid, Op: -1,
		Text: fmt.Sprintf("unknown mode %q of the hot shard; use off, pinned or auto", s),
		Hint: "auto moves hot keys to the hot shard, pinned only pinned keys, off none"}
}

// Order is an operator's instruction for a key.
type Order uint8

// The orders.
const (
	// Free leaves the key to the planner.
	Free Order = iota
	// Pin keeps the key on the hot shard.
	Pin
	// Ban keeps the key on its home shard.
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

// Rule is an operator's order for a key or for all keys with a prefix. A rule for a key takes precedence
// over those for prefixes, a longer prefix over a shorter one, and of two equal ones the later. A prefix
// pins the keys that occur in load reports.
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

// rules are the operator's rules, indexed.
type rules struct {
	keys     map[string]*Rule
	prefixes []*Rule // longest first
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

// of returns the rule for a key, noRule if there is none.
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

// PlannerOptions are the parameters of a planner. Zero means the default, except for Hot, Home and Epoch.
type PlannerOptions struct {
	// Hot is the hot shard, Home the home shard of a key. Keys whose home is the hot shard are never moved.
	Hot  kv.ShardID
	Home func(key []byte) kv.ShardID
	// Epoch is higher than every epoch that was published in an earlier incarnation.
	Epoch uint64
	Mode  Mode
	// Every is the period of load and pair reports. Default kv.DefaultHeatInterval.
	Every time.Duration
	// HalfLife is that of the shards' meters. Default 1 s.
	HalfLife time.Duration
	// A key is worth moving if it caused waiting of Up per second in Surveys reports in a row. Defaults 250 ms
	// and 2.
	Up      time.Duration
	Surveys int
	// Together is the share of a key's conflicts in which another key must occur to be moved with it. Default
	// 0.2.
	Together float64
	// A key goes home when it has been on the hot shard for Stay and, for Quiet, has caused and would at home
	// have caused waiting of less than Down per second. It does not return before Stay has passed again,
	// unless its rate has changed by half and by more than chance. Defaults 50 ms, 30 s, 5 s.
	Down        time.Duration
	Stay, Quiet time.Duration
	// Relief is the minimum stay of a key if the hot shard is overloaded. Default 10 s.
	Relief time.Duration
	// Moves is the long-run limit of moves per second. Burst is how many may start at once after few moves,
	// for example after a start or a shift of the demand; at least Moves. MaxKeys bounds the number of moved
	// keys on the hot shard. Defaults 10, five times Moves, and 256.
	Moves, Burst, MaxKeys int
	// Timeout is the time limit of a move. After it, the move is retried in Pause, twice that, and so on.
	// Defaults 10 s and 1 s.
	Timeout, Pause time.Duration
	// Full is the busy share of the hot shard above which no more keys are moved there, Over the share above
	// which keys go home. Defaults 0.6 and 0.85.
	Full, Over float64
}

func (o PlannerOptions) withDefaults() PlannerOptions {
	orElse(&o.Every, kv.DefaultHeatInterval)
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
	o.Burst = max(o.Burst, o.Moves) // a group of Moves keys starts at once
	orElse(&o.MaxKeys, 256)
	orElse(&o.Timeout, 10*time.Second)
	orElse(&o.Pause, time.Second)
	orElse(&o.Full, 0.6)
	orElse(&o.Over, 0.85)
	return o
}

func orElse[T int | float64 | time.Duration](v *T, fallback T) {
	if *v <= 0 {
		*v = fallback
	}
}
