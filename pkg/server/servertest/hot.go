package servertest

import (
	"bytes"
	"context"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

// Hot returns the rules and the mode, and the keys that have a rule of their own, as moving; no key ever
// moves.
func (s *Store) Hot(ctx context.Context) (*msg.HotStatusResponse, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hotReply(), nil
}

// SetHot keeps a rule, or the mode.
func (s *Store) SetHot(ctx context.Context, rule *msg.HotRule, mode uint32) (*msg.HotStatusResponse, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mode != 0 {
		s.hotMode = mode
	}
	if rule != nil {
		s.hotRules = slices.DeleteFunc(s.hotRules, func(r msg.HotRule) bool {
			return r.Prefix == rule.Prefix &&
				bytes.Equal(r.Key, rule.Key)
		})
		if rule.Order != 0 {
			s.hotRules = append(s.hotRules, *rule)
		}
	}
	return s.hotReply(), nil
}

func (s *Store) hotReply() *msg.HotStatusResponse {
	r := &msg.HotStatusResponse{Mode: max(s.hotMode, 1), Rules: slices.Clone(s.hotRules)}
	for i := range s.hotRules {
		if k := &s.hotRules[i]; !k.Prefix {
			r.Keys = append(r.Keys, msg.HotKey{Key: k.Key, Order: k.Order, Reason: "there is a rule", Moving: k.Order == 1})
		}
	}
	return r
}

// Activity has nothing but what was set by SetActivity.
func (s *Store) Activity(since int64, receipts, waits int) server.Activity {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.activity
	a.Receipts, a.Waits = a.Receipts[:min(receipts, len(a.Receipts))], a.Waits[:min(waits, len(a.Waits))]
	a.Seconds = slices.DeleteFunc(slices.Clone(a.Seconds), func(x pb.ActivitySecond) bool { return x.TimeS <= since })
	return a
}

// SetActivity sets what Activity returns.
func (s *Store) SetActivity(a server.Activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activity = a
}

// CancelTransaction finds no transaction.
func (s *Store) CancelTransaction(kv.TxnID) bool { return false }

// Reclaimable is nothing: the store is in memory.
func (s *Store) Reclaimable() uint64 { return 0 }

// Reclaim fails: the store is in memory.
func (s *Store) Reclaim(context.Context, func(done, total int)) (server.Reclaimed, error) {
	return server.Reclaimed{}, &kv.Error{Kind: kv.KindInvalid, Op: -1,
		Text: "the store is in memory, so no disk space can be freed"}
}

// AskNode finds no other node.
func (s *Store) AskNode(_ context.Context, node kv.NodeID, _ []byte) ([]byte, error) {
	return nil, &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "node " + node.String() + " cannot be reached",
		Hint: "see whether it is up"}
}
