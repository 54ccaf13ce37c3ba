package workload_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// miscounting answers every second transaction with another number of results
// than it has operations.
type miscounting struct {
	loadtest.Store
	more  int
	count int
}

func (m *miscounting) answer(reply workload.Reply, err error) (workload.Reply, error) {
	m.count++
	if err == nil && m.count%2 == 0 {
		reply.Results = append(reply.Results, make([]workload.Seen, max(m.more, 0))...)
		reply.Results = reply.Results[:len(reply.Results)+min(m.more, 0)]
	}
	return reply, err
}

func (m *miscounting) Execute(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	return m.answer(m.Store.Execute(ctx, ops))
}

func (m *miscounting) Transact(ctx context.Context, ops []workload.Op) (workload.Reply, error) {
	return m.answer(m.Store.Transact(ctx, ops))
}

// An answer that leaves out a read is no answer: a history without that read
// would be checked as if it had not been sent.
func TestAReplyWithoutAResultForEachOperationIsAnError(t *testing.T) {
	for _, c := range []struct {
		more            int
		mix             workload.Mix
		interactive     bool
		failed, unknown uint64
	}{
		{more: -1, mix: workload.Mix{ReadOnly: 1}, failed: 10},
		{more: -1, mix: workload.Mix{ReadOnly: 1}, interactive: true, failed: 10},
		{more: 1, mix: workload.Mix{ReadOnly: 1}, failed: 10},
		{more: -1, mix: workload.Mix{ReadModifyWrite: 1}, unknown: 10},
	} {
		rec := &record{counts: map[workload.Outcome]int{}}
		res := mustRun(t, t.Context(), &miscounting{more: c.more}, workload.Options{Clients: 1, Count: 20, Mix: c.mix,
			Interactive: c.interactive, Recorder: rec})
		require.Equal(t, uint64(10), res.All.Committed)
		require.Equal(t, c.failed, res.All.Failed)
		require.Equal(t, c.unknown, res.All.Unknown, "it says that it committed, and is not to be believed")
		require.Equal(t, map[string]uint64{"Internal": 10}, res.Errors)
		require.Equal(t, map[workload.Outcome]int{workload.Committed: 10, workload.Failed: int(c.failed),
			workload.Unknown: int(c.unknown)},
			map[workload.Outcome]int{workload.Committed: rec.counts[workload.Committed],
				workload.Failed: rec.counts[workload.Failed], workload.Unknown: rec.counts[workload.Unknown]})
	}
}

// What was lost is not a mistake of the store, but nor is it silent.
func TestLostResultsAreCounted(t *testing.T) {
	for mix, want := range map[workload.Mix]uint64{{ReadOnly: 1}: 20, {ReadModifyWrite: 1}: 20, {WriteOnly: 1}: 0} {
		res := mustRun(t, t.Context(), &callCounter{}, workload.Options{Clients: 1, Count: 20, Mix: mix})
		require.Equal(t, uint64(20), res.All.Committed)
		require.Equal(t, want, res.ResultsLost)
	}
	res := mustRun(t, t.Context(), &loadtest.Store{}, workload.Options{Count: 20})
	require.Zero(t, res.ResultsLost)
}
