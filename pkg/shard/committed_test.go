package shard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// restarts is a shard that is shut down and killed, and its log.
type restarts struct {
	*world.Single
	t *testing.T
	// began is the CSN at the start of the incarnation.
	began kv.CSN
	// lookedUp counts the outcomes that the shard has read from the log.
	lookedUp int
}

func newRestarts(t *testing.T) *restarts {
	r := &restarts{t: t, Single: world.NewSingle(shard.Config{Lease: -1, Nodes: 1})}
	r.pass(20_000 * day)
	r.OnOutput = func(out *shard.Output) {
		for i := range out.Reads {
			if out.Reads[i].Table == entry.TableOutcome {
				r.lookedUp++
			}
		}
	}
	r.start(nil)
	return r
}

func (r *restarts) pass(d time.Duration) { r.Now, r.Wall = r.Now+int64(d), r.Now+int64(d) }

// start begins an incarnation; edit may change the state row before.
func (r *restarts) start(edit func(*entry.State)) {
	_, err := r.Restart(func(rec *shard.Recovered) {
		if edit != nil {
			edit(&rec.State)
		}
	})
	require.NoError(r.t, err)
	r.began = r.M.CSN()
}

// incr adds to a counter, and reports whether the id was looked up in the log.
func (r *restarts) incr(id kv.TxnID) (lookedUp bool) {
	r.t.Helper()
	env, p := msg.CommitRequestTo(0)
	*p = msg.CommitRequest{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, CommitID: kv.CommitID{Gateway: 1, Number: id.Rand},
		Piece: msg.Piece{Incarnation: r.M.Incarnation(), Ops: []msg.Op{{Kind: msg.OpAdd, Key: []byte("n"), Delta: 1}}}}
	before := r.lookedUp
	sent, err := r.Step(env)
	require.NoError(r.t, err)
	require.True(r.t, slices.ContainsFunc(sent, func(e *msg.Envelope) bool {
		return msg.Is[msg.CommitResponse](e) && msg.As[msg.CommitResponse](e).Committed
	}))
	return r.lookedUp > before
}

// commits is how often the counter was written in this incarnation.
func (r *restarts) commits() int { return int(r.M.CSN() - r.began) }

// at returns an id with a time that is ahead of now.
func (r *restarts) at(ahead time.Duration, n uint64) kv.TxnID {
	return kv.TxnID{Time: r.Now + int64(ahead), Rand: n}
}

// TestIDsFromTheFutureAreLookedUpAloneAfterRestart: the clock of a node is a day ahead for two seconds. The
// shard is killed or shut down several times. The ids of those seconds are looked up, and other new ids are
// not.
func TestIDsFromTheFutureAreLookedUpAloneAfterRestart(t *testing.T) {
	for _, clean := range []bool{false, true} {
		r := newRestarts(t)
		today, ahead := r.at(0, 1), []kv.TxnID{r.at(24*time.Hour, 2), r.at(24*time.Hour+2*time.Second, 3)}
		for _, id := range append(ahead, today) {
			require.False(t, r.incr(id), "memory of the first incarnation is complete")
		}
		for incarnation := range 4 {
			if clean {
				require.NoError(t, r.Shutdown())
			}
			r.start(nil)
			r.pass(time.Minute)
			for _, id := range append(ahead, today) {
				require.True(t, r.incr(id), "incarnation %d", incarnation)
			}
			require.Zero(t, r.commits(), "each was applied before")
			for n := range uint64(10) {
				require.False(t, r.incr(r.at(time.Duration(n)*time.Minute, 100+n)), "incarnation %d, %d minutes ahead", incarnation,
					n)
			}
			require.Equal(t, 10, r.commits())
			r.pass(11 * time.Minute)
		}
	}
}

// TestAllIDsAreLookedUpAfterOlderFormat: an id that committed before the first start with this format is not
// executed again.
func TestAllIDsAreLookedUpAfterOlderFormat(t *testing.T) {
	r := newRestarts(t)
	ids := []kv.TxnID{r.at(-time.Minute, 1), r.at(0, 2), r.at(9*time.Minute, 3)}
	for _, id := range ids {
		r.incr(id)
	}
	r.start(func(s *entry.State) { s.Newest, s.Ahead = 0, nil })
	for incarnation := range 3 {
		for _, id := range ids {
			require.True(t, r.incr(id), "incarnation %d", incarnation)
		}
		require.Zero(t, r.commits())
		r.start(nil)
	}
	r.pass(11 * time.Minute)
	require.False(t, r.incr(r.at(0, 4)), "a new id, after the span")
}
