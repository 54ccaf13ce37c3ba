package txn_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/golden"
	"github.com/linchpindb/linchpin/test/tries"
)

// TestMain raises the number of inputs that rapid draws: they are cheap.
func TestMain(m *testing.M) { tries.Main(m, "1500") }

// model is the reference model of the store: registers under keys with r, counters under keys with n.
type model struct {
	texts  map[string]string
	counts map[string]int64
}

func (w model) clone() model { return model{maps.Clone(w.texts), maps.Clone(w.counts)} }

// pairs returns the pairs of a range as golden.Result prints them.
func (w model) pairs(span kv.Span) (out []string) {
	for k, v := range w.texts {
		if span.Contains([]byte(k)) {
			out = append(out, k+"="+v)
		}
	}
	for k, n := range w.counts {
		if span.Contains([]byte(k)) {
			out = append(out, fmt.Sprintf("%s=%d", k, n))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return out
}

func keyOf(pair string) string {
	k, _, _ := strings.Cut(pair, "=")
	return k
}

// modelClient is the only client of a gateway and three shards.
type modelClient struct {
	t    *rapid.T
	s    *script
	done []txn.Done
}

func newModelClient(t *rapid.T) *modelClient {
	u := &modelClient{t: t, s: &script{}}
	require.NoError(t, u.s.start(nil))
	return u
}

// call sends a request and delivers messages until its response arrives.
func (u *modelClient) call(f func(g *txn.Gateway)) txn.Done {
	f(u.s.g)
	for range 30 {
		out := u.s.g.Flush()
		u.s.inFlight = append(u.s.inFlight, out.Send...)
		u.done = append(u.done, out.Done...)
		if len(u.done) > 0 && len(u.s.inFlight) == 0 {
			d := u.done[0]
			u.done = u.done[1:]
			require.Empty(u.t, u.done)
			return d
		}
		messages := u.s.inFlight
		u.s.inFlight = nil
		for _, env := range messages {
			if env.Gateway != 0 {
				u.s.g.Deliver(u.s.now, env)
				continue
			}
			sent, err := u.s.shards[env.Shard].step(u.s.now, []*msg.Envelope{env})
			require.NoError(u.t, err)
			u.s.inFlight = append(u.s.inFlight, sent...)
		}
	}
	u.t.Fatalf("no response after 30 message delays")
	return txn.Done{}
}

var modelKeys = []string{"h-n", "h-r", "w-n", "w-r", "w-r2", "x-n", "x-r"}

func isCounter(k string) bool { return strings.HasSuffix(k, "-n") }

func drawCall(t *rapid.T) string {
	var ops []string
	for range rapid.IntRange(1, 4).Draw(t, "operations") {
		k := rapid.SampledFrom(modelKeys).Draw(t, "key")
		span := fmt.Sprintf("[%s,%s)", rapid.SampledFrom([]string{"h", "w-r", "", "x"}).Draw(t, "start"),
			rapid.SampledFrom([]string{"", "w-r2", "x-z"}).Draw(t, "end"))
		switch rapid.IntRange(0, 7).Draw(t, "operation") {
		default:
			ops = append(ops, "get "+k)
		case 0, 1:
			if isCounter(k) {
				verb := rapid.SampledFrom([]string{"add", "incr"}).Draw(t, "how")
				ops = append(ops, fmt.Sprintf("%s %s %d", verb, k, rapid.IntRange(-3, 9).Draw(t, "delta")))
			} else {
				ops = append(ops, "put "+k+" "+rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value"))
			}
		case 2:
			ops = append(ops, "del "+k+rapid.SampledFrom([]string{"", " found"}).Draw(t, "result"))
		case 3, 4:
			ops = append(ops, fmt.Sprintf("scan %s limit %d%s", span, rapid.IntRange(1, 5).Draw(t, "limit"),
				rapid.SampledFrom([]string{"", " reverse"}).Draw(t, "direction")))
		case 5:
			if rapid.IntRange(0, 2).Draw(t, "really") == 0 {
				ops = append(ops, "delrange "+span)
			}
		}
	}
	if len(ops) == 0 {
		return "get h-r"
	}
	return strings.Join(ops, "; ")
}

// apply applies a request to the model and compares the results.
func (w model) apply(t *rapid.T, ops []msg.Op, results []msg.Result) {
	hidden := false
	for i := range ops {
		op, r := &ops[i], &results[i]
		k := string(op.Key)
		require.EqualValues(t, i, r.Seq)
		switch op.Kind {
		case msg.OpGet:
			expected := w.pairs(kv.Point(op.Key))
			if len(expected) == 0 {
				require.False(t, r.Found, "%s", golden.OpText(op))
				continue
			}
			got, _, _ := strings.Cut(strings.TrimPrefix(golden.Result(r), fmt.Sprintf("%d: ", i)), "@")
			require.Equal(t, expected[0], k+"="+got)
		case msg.OpPut:
			w.texts[k] = string(op.Value)
		case msg.OpAdd, msg.OpAddGet:
			w.counts[k] += op.Delta
			if op.Kind == msg.OpAddGet {
				require.True(t, strings.HasPrefix(golden.Result(r)+"@", fmt.Sprintf("%d: %d@", i, w.counts[k])),
					"%s returns %s, not %d", golden.OpText(op), golden.Result(r), w.counts[k])
			}
		case msg.OpDelete:
			if op.ReturnFound {
				require.Equal(t, len(w.pairs(kv.Point(op.Key))) > 0, r.Found, "%s", golden.OpText(op))
			}
			delete(w.texts, k)
			delete(w.counts, k)
			hidden = true
		case msg.OpScan:
			w.checkScan(t, op, r, hidden)
		case msg.OpDeleteRange:
			all := w.pairs(op.Span())
			require.EqualValues(t, len(all), r.Count)
			for _, pair := range all {
				delete(w.texts, keyOf(pair))
				delete(w.counts, keyOf(pair))
			}
			hidden = true
		}
	}
}

// checkScan checks that a scan returns the first pairs of its range, or the last ones in reverse, and the
// rest of the range. It may return fewer pairs than its limit only if operations of the same request
// have deleted some of those that the shards returned.
func (w model) checkScan(t *rapid.T, op *msg.Op, r *msg.Result, hidden bool) {
	all := w.pairs(op.Span())
	if op.Reverse {
		slices.Reverse(all)
	}
	var got []string
	for _, p := range r.Pairs {
		text := golden.Result(&msg.Result{Pairs: []msg.Pair{p}})
		got = append(got, strings.Split(strings.TrimPrefix(text, "0: "), "@")[0])
	}
	n := len(got)
	require.LessOrEqual(t, n, min(len(all), int(op.Limit)), "%s: %v of %v", golden.OpText(op), got, all)
	require.Equal(t, strings.Join(all[:n], " "), strings.Join(got, " "), golden.OpText(op))
	if len(r.Resume) == 0 {
		require.Len(t, all, n, "%s", golden.OpText(op))
		return
	}
	require.True(t, hidden || n == min(len(all), int(op.Limit)),
		"%s: %v of %v, more from %q", golden.OpText(op), got, all, r.Resume)
	read := op.ReadUntil(r.Resume)
	require.True(t, n == 0 || read.Contains([]byte(keyOf(got[n-1]))))
	require.True(t, n == len(all) || !read.Contains([]byte(keyOf(all[n]))))
}

// TestTransactionSeesItsOwnWrites: in a sequence of transactions of one client, interactive and one-shot,
// each request returns what the model returns, and a rollback leaves nothing.
func TestTransactionSeesItsOwnWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newModelClient(t)
		committed := model{map[string]string{}, map[string]int64{}}
		for i := range rapid.IntRange(1, 6).Draw(t, "transactions") {
			attempt := uint32(1 + rapid.IntRange(0, 1).Draw(t, "locks at once"))
			ref := kv.TxnRef{TxnID: kv.TxnID{Time: int64(i + 1)}, Attempt: attempt}
			if rapid.IntRange(0, 2).Draw(t, "one-shot") == 0 {
				u.oneShot(committed, ref.TxnID)
				continue
			}
			if own, ok := u.interactive(committed.clone(), ref); ok {
				committed = own
			}
		}
		for _, sh := range u.s.shards {
			require.NoError(t, sh.M.CheckIdle())
		}
		require.Zero(t, u.s.g.InFlight())
	})
}

func (u *modelClient) oneShot(w model, id kv.TxnID) {
	ops, err := golden.Ops(drawCall(u.t))
	require.NoError(u.t, err)
	d := u.call(func(g *txn.Gateway) {
		g.Execute(u.s.now, "execute", id, slices.Clone(ops), u.s.now+int64(time.Minute), txn.TxnOptions{})
	})
	require.Nil(u.t, d.Failure)
	w.apply(u.t, ops, d.Results)
}

func (u *modelClient) interactive(own model, ref kv.TxnRef) (model, bool) {
	require.Nil(u.t, u.s.g.Begin(u.s.now, ref, false, txn.TxnOptions{}))
	points := savepoints{u: u, ref: ref}
	for range rapid.IntRange(0, 7).Draw(u.t, "calls") {
		if rapid.IntRange(0, 2).Draw(u.t, "savepoints") == 0 {
			own = points.next(own)
			continue
		}
		ops, err := golden.Ops(drawCall(u.t))
		require.NoError(u.t, err)
		d := u.call(func(g *txn.Gateway) { g.Do(u.s.now, "do", ref, slices.Clone(ops), 0) })
		require.Nil(u.t, d.Failure)
		own.apply(u.t, ops, d.Results)
	}
	if rapid.IntRange(0, 4).Draw(u.t, "rollback") == 0 {
		d := u.call(func(g *txn.Gateway) { g.Rollback(u.s.now, "rollback", ref, rapid.Bool().Draw(u.t, "validate")) })
		require.Nil(u.t, d.Failure)
		return own, false
	}
	d := u.call(func(g *txn.Gateway) { g.Commit(u.s.now, "commit", ref, u.s.now+int64(time.Minute)) })
	require.Nil(u.t, d.Failure)
	require.True(u.t, d.Committed)
	return own, true
}

// savepoints are those of a transaction, with the state at each.
type savepoints struct {
	u      *modelClient
	ref    kv.TxnRef
	names  []string
	states []model
}

// next sets, rolls back to, or releases a savepoint of two names, and returns the state after that.
func (m *savepoints) next(own model) model {
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(m.u.t, "name")
	i := len(m.names) - 1
	for i >= 0 && m.names[i] != name {
		i--
	}
	var change func(*txn.Gateway, int64, txn.CallHandle, kv.TxnRef, string)
	switch rapid.IntRange(0, 3).Draw(m.u.t, "how") {
	case 0:
		change = (*txn.Gateway).RollbackTo
		if i >= 0 {
			own = m.states[i].clone()
			m.names, m.states = m.names[:i+1], m.states[:i+1]
		}
	case 1:
		change = (*txn.Gateway).Release
		if i >= 0 {
			m.names, m.states = m.names[:i], m.states[:i]
		}
	default:
		m.names, m.states = append(m.names, name), append(m.states, own.clone())
		change, i = (*txn.Gateway).Savepoint, 0
	}
	d := m.u.call(func(g *txn.Gateway) { change(g, m.u.s.now, "savepoint", m.ref, name) })
	require.Equal(m.u.t, i < 0, d.Failure != nil, "savepoint %s of %v", name, m.names)
	require.False(m.u.t, d.Closed)
	return own
}
