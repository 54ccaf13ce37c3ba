package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func TestAHistoryOfARightStorePasses(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		p, path := newProgram(t, &loadtest.Store{}), file(t, "h.bin")
		args := []string{"run", "--count", "2000", "--keys", "50", "--skew", "1.2", "--clients", "8", "--history", path}
		if fresh {
			args = append(args, "--fresh-keys")
		} else {
			p.ok("run", "--count", "300", "--keys", "50") // so that not all keys begin absent
		}
		p.ok(args...)
		out := p.ok("check", path)
		require.Contains(t, out, "recorded by  zetaload run --addr 127.0.0.1:7070 --keys 50 ")
		require.Contains(t, out, "2000 committed, 0 failed, 0 of unknown outcome")
	}
}

func TestAHistoryOfAStoreThatForgetsIsAViolation(t *testing.T) {
	p, path := newProgram(t, &forgetful{}), file(t, "h.bin")
	p.ok("run", "--count", "2000", "--keys", "20", "--rmw", "1", "--read-only", "1", "--clients", "4", "--fresh-keys",
		"--history", path)
	require.Equal(t, exitFailed, p.run("check", path))
	require.Contains(t, p.out.String(), "NOT strictly serializable")
	require.Contains(t, p.err.String(), path+": ")
}

func TestIncrementsThatAreForgottenAreAViolation(t *testing.T) {
	p, path := newProgram(t, &forgetful{}), file(t, "h.bin")
	p.ok("run", "--count", "500", "--keys", "3", "--incr", "1", "--read-only", "1", "--ops", "1", "--clients", "2",
		"--fresh-keys",
		"--history", path)
	require.Equal(t, exitFailed, p.run("check", path))
	require.Contains(t, p.out.String(), "sum")
}

func TestOutcomesAreRecordedAsTheyAre(t *testing.T) {
	lost := map[uint64]kv.Kind{3: kv.KindOutcomeUnknown, 5: kv.KindAborted, 7: kv.KindInternal, 9: kv.KindConditionFailed}
	s := &loadtest.Store{Before: func(_ context.Context, n uint64, ops []workload.Op) (workload.Reply, error) {
		reply := workload.Reply{ID: kv.TxnID{Time: int64(n)}}
		if k, ok := lost[n]; ok {
			reply.Results = make([]workload.Seen, len(ops)) // as seen by the attempt that failed
			return reply, kv.Errorf(k, "number %d", n)
		}
		return reply, nil
	}}
	p, path := newProgram(t, s), file(t, "h.bin")
	require.Equal(t, exitFailed, p.run("run", "--count", "12", "--clients", "1", "--rmw", "1", "--ops", "2", "--history",
		path))
	require.Contains(t, p.err.String(), "2 of 12 transactions did not commit for other reasons than contention: 1 "+
		"Internal, 1 OutcomeUnknown\n")
	h, err := history.Load(path)
	require.NoError(t, err)
	require.True(t, h.InitialUnknown)
	require.Len(t, h.Txns, 12)
	for i, txn := range h.Txns {
		want, ops := history.Committed, 4
		switch i + 1 {
		case 3, 7:
			want, ops = history.Unknown, 2
		case 5, 9:
			want, ops = history.Failed, 2
		}
		require.Equal(t, want, txn.Outcome, "transaction %d", i+1)
		require.Len(t, txn.Ops, ops, "what a transaction saw that did not commit proves nothing; transaction %d", i+1)
		require.Contains(t, txn.ID, kv.TxnID{Time: int64(i + 1)}.String())
	}
	require.Contains(t, p.ok("check", path), "8 committed")
}

func TestLostResultsAreNoReads(t *testing.T) {
	p, path := newProgram(t, withoutResults{&loadtest.Store{}}), file(t, "h.bin")
	p.ok("run", "--count", "50", "--keys", "2", "--rmw", "1", "--ops", "1", "--history", path)
	h, err := history.Load(path)
	require.NoError(t, err)
	for _, txn := range h.Txns {
		require.Len(t, txn.Ops, 1)
		require.Equal(t, history.Write, txn.Ops[0].Kind)
	}
}

// withoutResults commits and returns no results.
type withoutResults struct{ workload.Store }

func (w withoutResults) Execute(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	_, err := w.Store.Execute(ctx, ops)
	return workload.Reply{}, err
}

func TestFilesThatCannotBeCheckedExitWithTwo(t *testing.T) {
	p, path := newProgram(t, &loadtest.Store{}), file(t, "h.bin")
	require.Equal(t, exitUsage, p.run("check", path), "it does not exist")
	require.NoError(t, os.WriteFile(path, []byte("something else"), 0o600))
	require.Equal(t, exitUsage, p.run("check", path))
	p.ok("run", "--count", "300", "--history", path)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)/2] ^= 1
	require.NoError(t, os.WriteFile(path, flipped, 0o600))
	require.Equal(t, exitUsage, p.run("check", path))
	require.Contains(t, p.err.String(), path)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)*2/3], 0o600))
	require.Contains(t, p.ok("check", path), "committed")
	require.Contains(t, p.err.String(), "is incomplete")
}

func TestAnEmptyHistoryIsNotPraised(t *testing.T) {
	path := file(t, "h.bin")
	rec, err := history.Create(path, history.Meta{})
	require.NoError(t, err)
	require.NoError(t, rec.Close())
	require.Contains(t, newProgram(t, nil).ok("check", path), "no transactions")
}

// A run that does not begin leaves the history of the one before.
func TestAHistoryIsKeptUntilARunBegins(t *testing.T) {
	p, path := newProgram(t, &loadtest.Store{}), file(t, "h.bin")
	p.ok("run", "--count", "20", "--history", path)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	p.openErr = errors.New("no node answers")
	require.Equal(t, exitFailed, p.run("run", "--count", "20", "--history", path))
	require.Contains(t, p.err.String(), "no node answers")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)

	p.openErr = nil
	require.Equal(t, exitUsage, p.run("run", "--count", "20", "--history", filepath.Join(path, "no")))
	require.Contains(t, p.err.String(), "--history")
	p.ok("run", "--count", "30", "--history", path)
	h, err := history.Load(path)
	require.NoError(t, err)
	require.Len(t, h.Txns, 30)
}
