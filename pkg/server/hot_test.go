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
