package admin

import (
	"context"
	"strconv"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// HotMode is which keys are moved to the hot shard.
type HotMode string

const (
	// HotAuto moves keys by heat and by rules.
	HotAuto HotMode = "auto"
	// HotPinned moves keys by rules only.
	HotPinned HotMode = "pinned"
	// HotOff moves no keys, and moves those that are on the hot shard back.
	HotOff HotMode = "off"
)

var hotModes = map[HotMode]pb.HotMode{HotAuto: pb.HotMode_HOT_MODE_AUTO, HotPinned: pb.HotMode_HOT_MODE_PINNED,
	HotOff: pb.HotMode_HOT_MODE_OFF}

// HotPolicy is what a rule says of a key.
type HotPolicy string

const (
	// HotFree leaves the key to the mode.
	HotFree HotPolicy = "free"
	// HotPin keeps the key on the hot shard, except with HotOff.
	HotPin HotPolicy = "pin"
	// HotBan keeps the key on its home shard.
	HotBan HotPolicy = "ban"
)

var hotPolicies = map[HotPolicy]pb.HotPolicy{HotFree: pb.HotPolicy_HOT_FREE, HotPin: pb.HotPolicy_HOT_PIN,
	HotBan: pb.HotPolicy_HOT_BAN}

// HotRule is a rule for a key, or for all keys with a prefix. One for a key has precedence over one for a
// prefix, and a longer prefix over a shorter one.
type HotRule struct {
	Key string
	// Prefix: Key is a prefix.
	Prefix bool
	Policy HotPolicy
}

// HotKeys is the state of the hot shard.
type HotKeys struct {
	// Keys are in the order of the time that transactions wait for them, the longest first.
	Keys []HotKey
	Mode HotMode
	// Utilization of the hot shard is 0 to 1.
	Utilization float64
	Rules       []HotRule
	// Moves are the last that were made, the newest first, at most 64.
	Moves []HotMove
}

// HotKey is what is known of a key. Rates are those of the last seconds. WaitPerSecond and its parts are
// times that all transactions together wait in a second.
type HotKey struct {
	Key   string
	Shard int
	// Waited and WaitReport are what the shards of the node that responds have counted.
	Waited             time.Duration
	Waits              uint64
	ConflictsPerSecond float64
	WaitPerSecond      time.Duration
	// EstimatedWaitPerSecond is an estimate of WaitPerSecond on another shard.
	EstimatedWaitPerSecond time.Duration
	// Moved is when the key was moved to the hot shard, zero if it was not. Reason is why it is where
	// it is. Moving: it is about to be moved.
	Moved  time.Time
	Reason string
	Moving bool
	// Policy is that of the rules.
	Policy HotPolicy
	// The parts of WaitPerSecond: waits for locks, updates that readers held, reads that waited for
	// updates, and aborted attempts.
	LockWaitPerSecond, HeldPerSecond, ReadWaitPerSecond, RetryPerSecond time.Duration
	// HoldsPerSecond is how many updates readers held.
	HoldsPerSecond float64
	// Waiters is how many transactions wait for the key now.
	Waiters int
}

// HotMove is a move of a key to the hot shard or back.
type HotMove struct {
	Key      string
	From, To int
	Time     time.Time
	// ToHot: to the hot shard; else back.
	ToHot  bool
	Reason string
}

// HotKeys returns the hottest keys of the cluster, at most limit; 0 is 10.
func (a *Admin) HotKeys(ctx context.Context, limit int) (HotKeys, error) {
	return hot(ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.HotKeysResponse, error) {
		return c.HotKeys(ctx, &pb.HotKeysRequest{Limit: uint32(max(limit, 0))})
	}))
}

// SetHotRule sets a rule, which replaces the one for the same key or prefix; [HotFree] removes it. It
// returns the keys concerned.
func (a *Admin) SetHotRule(ctx context.Context, rule HotRule) (HotKeys, error) {
	policy, ok := hotPolicies[rule.Policy]
	if !ok {
		return HotKeys{}, invalid("there is no policy "+strconv.Quote(string(rule.Policy)), "use HotFree, HotPin or HotBan")
	}
	return hot(change(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.HotKeysResponse, error) {
		return c.SetHotRule(ctx, &pb.SetHotRuleRequest{Rule: &pb.HotRule{Key: []byte(rule.Key), Prefix: rule.Prefix,
			Policy: policy}})
	}))
}

// SetHotMode sets which keys are moved to the hot shard, and returns those that are there.
func (a *Admin) SetHotMode(ctx context.Context, mode HotMode) (HotKeys, error) {
	m, ok := hotModes[mode]
	if !ok {
		return HotKeys{}, invalid("there is no mode "+strconv.Quote(string(mode)), "use HotAuto, HotPinned or HotOff")
	}
	return hot(change(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.HotKeysResponse, error) {
		return c.SetHotMode(ctx, &pb.SetHotModeRequest{Mode: m})
	}))
}

func hot(r *pb.HotKeysResponse, err error) (HotKeys, error) {
	if err != nil {
		return HotKeys{}, err
	}
	return HotKeys{Mode: HotMode(word(r.Mode.String(), "HOT_MODE_")), Utilization: r.Utilization,
		Keys: each(r.Keys, hotKey),
		Rules: each(r.Rules, func(x *pb.HotRule) HotRule {
			return HotRule{Key: string(x.Key), Prefix: x.Prefix, Policy: hotPolicy(x.Policy)}
		}),
		Moves: each(r.Moves, func(x *pb.HotMove) HotMove {
			return HotMove{Key: string(x.Key), From: int(x.FromShard), To: int(x.ToShard), Time: moment(x.TimeNs),
				ToHot: x.ToHot, Reason: x.Reason}
		})}, nil
}

func hotPolicy(p pb.HotPolicy) HotPolicy { return HotPolicy(word(p.String(), "HOT_")) }

func hotKey(k *pb.HotKey) HotKey {
	return HotKey{Key: string(k.Key), Shard: int(k.Shard), Waited: micros(k.WaitedUs), Waits: k.Waits,
		ConflictsPerSecond: k.ConflictsPerS,
		WaitPerSecond:      micros(k.WaitUsPerS), EstimatedWaitPerSecond: micros(k.EstimatedWaitUsPerS),
		Moved:  moment(k.MovedNs),
		Reason: k.Reason,
		Moving: k.Moving, Policy: hotPolicy(k.Policy), LockWaitPerSecond: micros(k.LockWaitUsPerS),
		HeldPerSecond:     micros(k.HeldUsPerS),
		ReadWaitPerSecond: micros(k.ReadWaitUsPerS), RetryPerSecond: micros(k.RetryUsPerS), HoldsPerSecond: k.HoldsPerS,
		Waiters: int(k.Waiters)}
}
