package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

func TestRulesForHotKeysAreSetAndReturned(t *testing.T) {
	e, _ := store(t, server.Options{})
	ctx := t.Context()
	for _, r := range []*pb.HotRule{{Key: []byte("a"), Policy: pb.HotPolicy_HOT_PIN},
		{Key: []byte("b"), Policy: pb.HotPolicy_HOT_BAN},
		{Key: []byte("a"), Prefix: true, Policy: pb.HotPolicy_HOT_BAN}} {
		got, err := e.admin.SetHotRule(ctx, &pb.SetHotRuleRequest{Rule: r})
		require.NoError(t, err)
		require.Contains(t, got.Rules, *r)
		require.Len(t, got.Keys, 1, "what the rule is about")
		require.Equal(t, r.Key, got.Keys[0].Key)
	}
	got, err := e.admin.HotKeys(ctx, &pb.HotKeysRequest{Limit: 1})
	require.NoError(t, err)
	require.Len(t, got.Keys, 1)
	require.Equal(t, pb.HotKey{Key: []byte("a"), Reason: "there is a rule", Policy: pb.HotPolicy_HOT_PIN, Moving: true},
		got.Keys[0])
	require.Len(t, got.Rules, 3)
	require.Equal(t, pb.HotMode_HOT_MODE_AUTO, got.Mode)
	for _, m := range []pb.HotMode{pb.HotMode_HOT_MODE_OFF, pb.HotMode_HOT_MODE_PINNED, pb.HotMode_HOT_MODE_AUTO} {
		got, err = e.admin.SetHotMode(ctx, &pb.SetHotModeRequest{Mode: m})
		require.NoError(t, err)
		require.Equal(t, m, got.Mode)
		require.Empty(t, got.Keys, "none has been moved")
	}
	for _, r := range got.Rules {
		r.Policy = pb.HotPolicy_HOT_FREE
		for range 2 {
			got, err = e.admin.SetHotRule(ctx, &pb.SetHotRuleRequest{Rule: &r})
			require.NoError(t, err)
		}
	}
	require.Empty(t, got.Rules)
}

func TestBadRulesForHotKeysAreRefused(t *testing.T) {
	e, st := store(t, server.Options{})
	for text, r := range map[string]*pb.HotRule{
		"the request has no rule": nil,
		"the key is empty":        {Policy: pb.HotPolicy_HOT_PIN},
		"the prefix is empty":     {Prefix: true, Policy: pb.HotPolicy_HOT_BAN},
		"the key has 4097 bytes":  {Key: []byte(strings.Repeat("x", 4097)), Policy: pb.HotPolicy_HOT_PIN},
		"unknown order 3":         {Key: []byte("k"), Policy: 3},
		"unknown order -1":        {Key: []byte("k"), Policy: -1},
	} {
		_, err := e.admin.SetHotRule(t.Context(), &pb.SetHotRuleRequest{Rule: r})
		require.Equal(t, codes.InvalidArgument, status.Code(err), text)
		require.Contains(t, detail.From(err).Message, text)
		require.NotEmpty(t, detail.From(err).Hint)
	}
	for text, m := range map[string]pb.HotMode{"unknown mode HOT_MODE_NONE": 0, "unknown mode 4": 4,
		"unknown mode -1": -1} {
		_, err := e.admin.SetHotMode(t.Context(), &pb.SetHotModeRequest{Mode: m})
		require.Equal(t, codes.InvalidArgument, status.Code(err), text)
		require.Contains(t, detail.From(err).Message, text)
		require.NotEmpty(t, detail.From(err).Hint)
	}
	r, err := st.Hot(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Rules)
}

func TestHotKeysKeepTheCallersDeadline(t *testing.T) {
	e, _ := store(t, server.Options{})
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := e.admin.HotKeys(ctx, &pb.HotKeysRequest{})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	_, err = e.admin.SetHotMode(ctx, &pb.SetHotModeRequest{Mode: pb.HotMode_HOT_MODE_OFF})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
}
