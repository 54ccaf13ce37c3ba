package embed_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestEnquiryAboutAnIDOfTheFarFuture: no transaction can have it, and every shard would
// have to remember that none ever will, until then. It is refused, as are transactions with
// such ids.
func TestEnquiryAboutAnIDOfTheFarFuture(t *testing.T) {
	c := start(t, embed.ClusterOptions{})
	gw := c.Node(1).Gateway()
	ask := func(ahead time.Duration) error {
		_, err := gw.Outcome(soon(t), kv.TxnID{Time: time.Now().Add(ahead).UnixNano(), Rand: 7})
		return err
	}
	require.NoError(t, ask(0))
	require.NoError(t, ask(9*time.Minute))
	err := ask(11 * time.Minute)
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "time in the transaction's id")
}

// TestEnquiryWithADeadlineInCenturies: it is one without a deadline.
func TestEnquiryWithADeadlineInCenturies(t *testing.T) {
	c := start(t, embed.ClusterOptions{})
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(math.MaxInt64))
	defer cancel()
	_, err := c.Node(1).Gateway().Outcome(ctx, kv.TxnID{Time: time.Now().UnixNano(), Rand: 7})
	require.NoError(t, err)
}
