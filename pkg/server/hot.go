package server

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

const (
	defaultHotKeys = 10
	maxHotKeys     = 1000
)

// HotKeys lists hot keys.
func (s *service) HotKeys(ctx context.Context, in *pb.HotKeysRequest) (*pb.HotKeysResponse, error) {
	n := int(min(in.Limit, maxHotKeys))
	if n == 0 {
		n = defaultHotKeys
	}
	return s.hot(ctx, n, func(*msg.HotKey) bool { return true }, s.backend().Hot)
}

// SetHotRule sets a rule for a key or a prefix.
func (s *service) SetHotRule(ctx context.Context, in *pb.SetHotRuleRequest) (*pb.HotKeysResponse, error) {
	rule, kerr := hotRule(in.Rule)
	if kerr != nil {
		return nil, statusOf(kerr, kv.TxnID{})
	}
	return s.hot(ctx, maxHotKeys, func(k *msg.HotKey) bool {
		return bytes.Equal(k.Key, rule.Key) || rule.Prefix && bytes.HasPrefix(k.Key, rule.Key)
	}, func(ctx context.Context) (*msg.HotStatusResponse, error) { return s.backend().SetHot(ctx, rule, 0) })
}

// SetHotMode sets the mode.
func (s *service) SetHotMode(ctx context.Context, in *pb.SetHotModeRequest) (*pb.HotKeysResponse, error) {
	if in.Mode < pb.HotMode_HOT_MODE_AUTO || in.Mode > pb.HotMode_HOT_MODE_OFF {
		return nil, statusOf(invalid(fmt.Sprintf("unknown mode %v", in.Mode),
			"use HOT_MODE_AUTO, HOT_MODE_PINNED or HOT_MODE_OFF"), kv.TxnID{})
	}
	return s.hot(ctx, maxHotKeys, func(k *msg.HotKey) bool { return k.Since != 0 },
		func(ctx context.Context) (*msg.HotStatusResponse, error) {
			return s.backend().SetHot(ctx, nil, uint32(in.Mode))
		})
}

// hotRule checks a rule.
func hotRule(in *pb.HotRule) (*msg.HotRule, *kv.Error) {
	switch {
	case in == nil:
		return nil, invalid("the request has no rule", "name the key to pin, ban or free")
	case len(in.Key) == 0 && in.Prefix:
		return nil, invalid("the prefix is empty, which would match all keys", "set a prefix, or set the mode for all keys")
	case in.Policy < pb.HotPolicy_HOT_FREE || in.Policy > pb.HotPolicy_HOT_BAN:
		return nil, invalid(fmt.Sprintf("unknown order %v", in.Policy),
			"use HOT_PIN or HOT_BAN, or HOT_FREE to remove the rule")
	}
	if err := kv.CheckClientKey(in.Key); err != nil {
		return nil, errorOf(err)
	}
	return &msg.HotRule{Key: in.Key, Prefix: in.Prefix, Order: uint32(in.Policy)}, nil
}

// hot queries the hot shard, and returns at most n of the wanted keys.
func (s *service) hot(ctx context.Context, n int, wanted func(*msg.HotKey) bool,
	ask func(context.Context) (*msg.HotStatusResponse, error)) (*pb.HotKeysResponse, error) {
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), kv.TxnID{})
	}
	r, err := ask(ctx)
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	out := &pb.HotKeysResponse{Mode: pb.HotMode(r.Mode), Utilization: r.Busy}
	for i := range r.Rules {
		out.Rules = append(out.Rules, pb.HotRule{Key: r.Rules[i].Key, Prefix: r.Rules[i].Prefix,
			Policy: pb.HotPolicy(r.Rules[i].Order)})
	}
	hotShard := s.backend().Identity().HotShard
	for i := range r.Moves {
		m := &r.Moves[i]
		out.Moves = append(out.Moves, pb.HotMove{Key: m.Key, FromShard: uint32(m.From), ToShard: uint32(m.To), TimeNs: m.Time,
			ToHot: uint32(m.To) == hotShard, Reason: m.Reason})
	}
	own := s.backend().HotKeys(maxHotKeys)
	known := make(map[string]*hotshard.KeyHeat, len(own))
	for i := range own {
		known[string(own[i].Key)] = &own[i]
	}
	for i := range r.Keys {
		k := &r.Keys[i]
		if !wanted(k) {
			continue
		}
		h := pb.HotKey{Key: k.Key, Shard: uint32(k.Shard), ConflictsPerS: k.Heat, WaitUsPerS: micros(k.Waited),
			EstimatedWaitUsPerS: micros(k.EstimatedWait),
			MovedNs:             k.Since, Reason: k.Reason, Policy: pb.HotPolicy(k.Order), Moving: k.Moving,
			LockWaitUsPerS: micros(k.Waits.Lock), HeldUsPerS: micros(k.Waits.Held), ReadWaitUsPerS: micros(k.Waits.Read),
			RetryUsPerS: micros(k.Waits.Retry),
			HoldsPerS:   k.Waits.Holds, Waiters: k.Waits.Queue}
		if o := known[string(k.Key)]; o != nil {
			h.WaitedUs, h.Waits = micros(o.Nanos), o.Count
			delete(known, string(k.Key))
		}
		out.Keys = append(out.Keys, h)
	}
	for i := range own {
		o := &own[i]
		if known[string(o.Key)] != nil && wanted(&msg.HotKey{Key: o.Key}) {
			out.Keys = append(out.Keys, pb.HotKey{Key: o.Key, Shard: uint32(o.Shard), WaitedUs: micros(o.Nanos), Waits: o.Count})
		}
	}
	out.Keys = out.Keys[:min(n, len(out.Keys))]
	fitHotKeys(out)
	return out, nil
}

func micros(nanos int64) uint64 { return uint64(time.Duration(max(nanos, 0)).Microseconds()) }
