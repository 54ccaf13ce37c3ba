package server

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// scripted is a transaction whose steps end as do says. It stays open.
type scripted struct {
	Tx
	do func(ctx context.Context) ([]msg.Result, error)
}

func (s *scripted) Do(ctx context.Context, _ []msg.Op) ([]msg.Result, error) { return s.do(ctx) }
func (s *scripted) Waited() msg.Receipt                                      { return msg.Receipt{} }
func (s *scripted) Open() bool                                               { return true }

// stepping is an open transaction with a savepoint, whose memory is of a budget.
func stepping(total int64, do func(ctx context.Context) ([]msg.Result, error)) (*transact, *memory.Budget) {
	b := memory.New(total)
	return &transact{service: &service{}, tx: &scripted{do: do}, marked: true, held: held{account: b.Conn().Account("u")}},
		b
}

func pbGet(key string) *pb.ExecuteStep {
	return &pb.ExecuteStep{Ops: []pb.Op{{Op: &pb.Op_Get{Get: &pb.GetOp{Key: []byte(key)}}}}}
}

// TestAFailedStepKeepsNoMemory but for its operations: those that fail within savepoints
// are as many as a client likes.
func TestAFailedStepKeepsNoMemory(t *testing.T) {
	for name, do := range map[string]func(context.Context) ([]msg.Result, error){
		"a condition": func(context.Context) ([]msg.Result, error) {
			return nil,
				kv.Errorf(kv.KindConditionFailed, "no")
		},
		"too large results": func(context.Context) ([]msg.Result, error) {
			return []msg.Result{{Value: make([]byte, 20<<20)}},
				nil
		},
		"no memory": func(context.Context) ([]msg.Result, error) {
			return []msg.Result{{Value: make([]byte, 15<<20)}},
				nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tx, b := stepping(64<<20, do)
				for i := range 100 {
					require.NotNil(t, tx.do(t.Context(), pbGet(fmt.Sprint(i))).GetStepFailed())
				}
				used := b.Stats().Used["requests"]
				require.Equal(t, tx.held.bytes, used)
				require.LessOrEqual(t, used, int64(100*(opCost+8)))
				require.GreaterOrEqual(t, used, int64(100*opCost))
				tx.over()
				require.Zero(t, b.Stats().Used["requests"])
			})
		})
	}
}

// TestWhatAStepReadsWhenItIsGivenUpIsCounted for a while, and what its transaction has is
// for as long as that is open.
func TestWhatAStepReadsWhenItIsGivenUpIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tx, b := stepping(64<<20, func(context.Context) ([]msg.Result, error) {
			return []msg.Result{{Value: make([]byte, 1<<20)}}, nil
		})
		require.NotNil(t, tx.do(t.Context(), pbGet("k")).GetExecuted())
		has := tx.held.bytes
		require.GreaterOrEqual(t, has, int64(1<<20))
		tx.tx.(*scripted).do = func(ctx context.Context) ([]msg.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		in := pbGet("k")
		in.TimeoutMs = 10
		require.NotNil(t, tx.do(t.Context(), in).GetStepFailed())
		require.Greater(t, b.Stats().Used["requests"], has+(64<<10))
		<-time.After(abandonedFor + time.Millisecond) // of the bubble's clock
		require.InDelta(t, has, b.Stats().Used["requests"], 1<<10)
		require.Equal(t, tx.held.bytes, b.Stats().Used["requests"])
	})
}

// TestFailedWorkKeepsNoMemory unless its caller has left: a client whose scans fail within
// a millisecond, because a node is down, may retry as fast as it likes.
func TestFailedWorkKeepsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(64 << 20)
		account := b.Conn().Account("u")
		scan := func(ctx context.Context) {
			h := held{account: account}
			require.Nil(t, h.expect(t.Context(), 1<<20))
			h.failed(ctx, h.bytes)
		}
		for range 1000 {
			scan(t.Context())
		}
		require.Zero(t, b.Stats().Used["requests"])
		ended, end := context.WithCancel(t.Context())
		end()
		scan(ended)
		require.GreaterOrEqual(t, b.Stats().Used["requests"], int64(1<<20))
		<-time.After(abandonedFor + time.Millisecond) // of the bubble's clock
		require.Zero(t, b.Stats().Used["requests"])
	})
}

// TestOperationsAreCounted: those with short keys take more than their bytes.
func TestOperationsAreCounted(t *testing.T) {
	in := make([]pb.Op, kv.MaxTxnOps)
	for i := range in {
		in[i] = pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte("k")}}}
	}
	var used budget
	_, err := operations(in, &used)
	require.Nil(t, err)
	const least = kv.MaxTxnOps * 256
	a := newAnswers(10, 1<<30, nil)
	require.Greater(t, a.need(&used, 0), int64(least))
	tx, b := stepping(64<<20, func(context.Context) ([]msg.Result, error) { return make([]msg.Result, len(in)), nil })
	require.NotNil(t, tx.do(t.Context(), &pb.ExecuteStep{Ops: in}).GetExecuted())
	require.Greater(t, b.Stats().Used["requests"], int64(least))
	answer(a, 1, gateway.Response{})
}
