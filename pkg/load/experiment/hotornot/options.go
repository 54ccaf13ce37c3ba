package hotornot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Mode is what a cluster does about hot keys. The zero value is our readers
// and commit order, and no hot keys.
type Mode struct {
	// TwoPhaseCommit: all shards prepare at once, readers lock, and nothing is moved.
	TwoPhaseCommit bool
	// Auto: keys are moved to the hot shard as they get hot.
	Auto bool
	// HotKeys is how many of the hottest keys are on the hot shard from the
	// beginning.
	HotKeys int
}

// MaxHotKeys bounds those that are on the hot shard from the beginning.
const MaxHotKeys = 10_000

func (m Mode) String() string {
	switch {
	case m.TwoPhaseCommit:
		return "2pc"
	case m.Auto:
		return "auto"
	}
	return strconv.Itoa(m.HotKeys)
}

// label is how a legend calls it.
func (m Mode) label() string {
	switch {
	case m.TwoPhaseCommit:
		return "two-phase commit"
	case m.Auto:
		return "linchpin (auto)"
	case m.HotKeys == 1:
		return "1 hot key"
	}
	return fmt.Sprintf("%d hot keys", m.HotKeys)
}

// MarshalText writes the mode as ParseMode reads it.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is ParseMode.
func (m *Mode) UnmarshalText(b []byte) (err error) {
	*m, err = ParseMode(string(b))
	return err
}

// ParseMode reads "2pc", "auto" or a number of hot keys.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "2pc":
		return Mode{TwoPhaseCommit: true}, nil
	case "auto":
		return Mode{Auto: true}, nil
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n > MaxHotKeys {
		return Mode{}, fmt.Errorf("unknown mode %q; use 2pc, auto, or a number of hot keys from 0 to %d", s, MaxHotKeys)
	}
	return Mode{HotKeys: int(n)}, nil
}

// Options say what is measured, and how.
type Options struct {
	// Dir holds the clusters' stores, one at a time. It must exist.
	Dir string
	// Nodes and Shards of each cluster.
	Nodes, Shards int
	// Fsync: what is acknowledged is on disk.
	Fsync bool
	// Delay is what a message between two nodes takes, one way.
	Delay time.Duration
	// Keys is how many there are; the Load hottest of them get a first value.
	Keys, Load uint64
	// Clients is how many transactions are in flight.
	Clients int
	// Skews and Modes make up the points.
	Skews []float64
	Modes []Mode
	// Warm goes before the Duration that is measured, and before that Settle
	// in mode auto: keys are moved one after the other, some ten a second.
	Warm, Settle, Duration time.Duration
	Rounds                 int
	Seed                   uint64
	// Progress gets a line for each measurement.
	Progress io.Writer
}

// Defaults are those of the command. The paper does not state the number
// of keys.
func Defaults() Options {
	return Options{
		Nodes: 3, Shards: 8, Delay: time.Millisecond, Keys: 1_000_000, Load: 10_000, Clients: 128,
		Skews: []float64{0.5, 0.8, 1, 1.1, 1.2, 1.4},
		Modes: []Mode{{TwoPhaseCommit: true}, {}, {HotKeys: 1}, {HotKeys: 10}, {Auto: true}},
		Warm:  2 * time.Second, Settle: 15 * time.Second, Duration: 5 * time.Second, Rounds: 3, Progress: io.Discard,
	}
}

// The bounds of an experiment, so that one that was mistyped ends.
const (
	maxRounds = 100
	maxDelay  = time.Second
	maxLength = 24 * time.Hour
)

// Validate reports everything that is wrong with o in one error, or nil.
func (o Options) Validate() error {
	var all []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	bad(o.Nodes < 1 || o.Nodes > kv.MaxNodes, "%d nodes; the range is 1 to %d", o.Nodes, kv.MaxNodes)
	bad(o.Shards < 1 || o.Shards >= kv.MaxShards, "%d shards; the range is 1 to %d", o.Shards, kv.MaxShards-1)
	bad(o.Delay < 0 || o.Delay > maxDelay, "a delay of %v between nodes; the range is 0 to %v", o.Delay, maxDelay)
	bad(o.Keys < 1 || o.Keys > workload.MaxKeys, "%d keys; the range is 1 to %d", o.Keys, workload.MaxKeys)
	bad(o.Load > o.Keys, "%d keys are to be loaded, but there are %d", o.Load, o.Keys)
	bad(o.Clients < 1 || o.Clients > workload.MaxClients, "%d clients; the range is 1 to %d", o.Clients,
		workload.MaxClients)
	bad(len(o.Skews) == 0, "no skew is set")
	for i, s := range o.Skews {
		bad(!(s >= 0) || math.IsInf(s, 0), "skew %v; it must be finite and at least 0", s)
		bad(slices.Contains(o.Skews[:i], s), "skew %v is listed twice", s)
	}
	bad(len(o.Modes) == 0, "no mode is set")
	for i, m := range o.Modes {
		bad(uint64(m.HotKeys) > o.Keys, "mode %v: there are only %d keys", m, o.Keys)
		bad(slices.Contains(o.Modes[:i], m), "mode %v is listed twice", m)
	}
	bad(o.Warm < 0, "a warm-up of %v; it must be 0 or more", o.Warm)
	bad(o.Settle < 0, "a settling time of %v; it must be 0 or more", o.Settle)
	bad(o.Duration <= 0, "a duration of %v; it must be above 0", o.Duration)
	bad(o.Rounds < 1 || o.Rounds > maxRounds, "%d rounds; the range is 1 to %d", o.Rounds, maxRounds)
	if len(all) == 0 {
		n, longest := o.measurements(), max(o.Warm, o.Settle, o.Duration)
		bad(longest > maxLength || o.length() > maxLength, "%d measurements take more than %v; use fewer or shorter ones", n,
			maxLength)
	}
	return errors.Join(all...)
}

// warm is how long a cluster of the mode works before it is measured.
func (o Options) warm(m Mode) time.Duration {
	if m.Auto {
		return o.Settle + o.Warm
	}
	return o.Warm
}

// length is how long all measurements take together, but for starting and
// stopping clusters.
func (o Options) length() (sum time.Duration) {
	for _, m := range o.Modes {
		sum += o.warm(m) + o.Duration
	}
	// Too long is all that matters of what would not fit.
	return min(sum, 2*maxLength) * time.Duration(len(o.Skews)*o.Rounds)
}

// measurements is how many there are in all.
func (o Options) measurements() int { return len(o.Skews) * len(o.Modes) * o.Rounds }
