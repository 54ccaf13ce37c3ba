package embed

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOperatorsMayAskWhileANodeStarts: the server answers them before there is a
// node. What is wrong here only the race detector finds.
func TestOperatorsMayAskWhileANodeStarts(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	opt := Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Shards: 1}.withDefaults()
	i := &Instance{opt: opt, drain: newDrain(), storeFiles: 100}
	started := make(chan error, 1)
	go func() { started <- i.start(ctx) }()
	d := &debugging{i: i}
	for i.running() == nil && ctx.Err() == nil {
		_ = d.shards(ctx, io.Discard) // it does not serve yet
		_ = d.metrics(ctx, io.Discard)
		i.updateDrain()
	}
	require.NoError(t, <-started)
	var metrics bytes.Buffer
	require.NoError(t, d.metrics(ctx, &metrics))
	require.NotEmpty(t, metrics.String())
	require.NoError(t, d.shards(ctx, io.Discard))
	require.NoError(t, i.Stop())
}

// TestAPartIsBounded: however it is written.
func TestAPartIsBounded(t *testing.T) {
	b := &bounded{left: 3}
	_, err := io.WriteString(b, "abcdef")
	require.ErrorIs(t, err, errPartFull)
	require.Equal(t, "abc", string(b.Bytes()))
	b = &bounded{left: 3}
	_, err = io.Copy(b, bytes.NewBufferString("abcdef"))
	require.ErrorIs(t, err, errPartFull)
	require.Equal(t, "abc", string(b.Bytes()))
}
