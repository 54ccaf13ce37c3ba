package server

import (
	"context"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Execute runs one transaction and waits for it.
func (s *service) Execute(ctx context.Context, in *pb.ExecuteRequest) (*pb.ExecuteResponse, error) {
	id := s.idOr(in.TxnId)
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), id)
	}
	var b budget
	ops, err := operations(in.Ops, &b)
	if err != nil {
		return nil, statusOf(err, id)
	}
	caller := guard.CallerOf(ctx)
	if err := caller.Check(ops); err != nil {
		return nil, statusOf(err, id)
	}
	how, err := s.how(in.At, in.CausalityToken, in.Plan)
	if err != nil {
		return nil, statusOf(err, id)
	}
	how.User = caller.Account()
	how.MaxResponse, err = maxResponse(in.MaxResponseBytes)
	if err != nil {
		return nil, statusOf(err, id)
	}
	h := &held{account: guard.AccountOf(ctx), class: b.class}
	if err := h.expect(ctx, b.memory()); err != nil {
		return nil, statusOf(err, id)
	}
	callers, has := ctx.Deadline()
	w := &waiting{held: h, answered: make(chan gateway.Response, 1)} // room, so that done never blocks
	s.backend().Submit(gateway.Request{ID: id, Ops: ops, Deadline: deadline(time.Now(), callers, has), Alone: true,
		How:    how,
		Parent: s.parent(ctx)}, w.done)
	select {
	case r := <-w.answered:
		return s.executed(ctx, r, id, b.writes, how.MaxResponse, h)
	case <-ctx.Done():
	}
	if r, ok := w.leave(); ok { // an answer that is there already is better than none
		return s.executed(ctx, r, id, b.writes, how.MaxResponse, h)
	}
	return nil, statusOf(abandoned(ctx), id)
}

// waiting is a transaction whose answer a call waits for, or has waited for: it holds its memory until it
// has ended.
type waiting struct {
	held     *held
	answered chan gateway.Response
	mu       sync.Mutex
	// left: the call no longer waits.
	left bool
}

func (w *waiting) done(r gateway.Response) {
	w.held.saw(answerBytes(r.Results, r.Err))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left {
		w.held.release()
		return
	}
	w.answered <- r
}

// leave ends the waiting; there may be an answer all the same.
func (w *waiting) leave() (r gateway.Response, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case r = <-w.answered:
		return r, true
	default:
		w.left = true
		return r, false
	}
}

// held is the memory of a transaction that is not on a Pipeline.
type held struct {
	account *memory.Account
	class   memory.Class
	bytes   int64
}

// expect takes some more for operations that are about to run, which take so many bytes,
// and for what their results may have.
func (h *held) expect(ctx context.Context, ops int64) *kv.Error {
	if err := h.account.Never(memory.Requests, h.bytes+ops); err != nil {
		return err
	}
	n := ops + expected(h.account, h.account.Expected(h.class), h.bytes+2*ops)
	err := h.account.Wait(ctx, memory.Requests, n, memoryTimeout)
	if err != nil {
		guard.Slow(ctx)
		return err
	}
	h.bytes += n
	return nil
}

// expected is how much is taken for an answer of about so many bytes, beside what its
// request takes: no more than both may take, so that they are served one at a time at
// least.
func expected(account *memory.Account, bytes, request int64) int64 {
	return max(min(bytes, account.Most()-request), 0)
}

// saw says how many bytes an answer had.
func (h *held) saw(bytes int) { h.account.Saw(h.class, int64(bytes)) }

// answerBytes is what an answer had, or would have had: one that failed because it would
// have been too large has been read all the same.
func answerBytes(rs []msg.Result, err *kv.Error) int {
	if err != nil && err.Text == kv.ResultTooLargeText {
		return kv.MaxResultBytes
	}
	return resultBytes(rs)
}

// has says that so much is needed in all. If there is not so much, what there was
// remains.
func (h *held) has(bytes int64) *kv.Error {
	if bytes > h.bytes {
		if err := h.account.Never(memory.Requests, bytes); err != nil {
			return err
		}
		if err := h.account.Take(memory.Requests, bytes-h.bytes); err != nil {
			return err
		}
	} else {
		h.account.Give(memory.Requests, h.bytes-bytes)
	}
	h.bytes = bytes
	return nil
}

func (h *held) release() { h.give(h.bytes) }

// give gives back n bytes, if n is not negative.
func (h *held) give(n int64) {
	n = max(n, 0)
	h.account.Give(memory.Requests, n)
	h.bytes -= n
}

// failed gives back n bytes of work that has failed. If its context has ended, reads may
// still run for it, and the bytes are counted for a while.
func (h *held) failed(ctx context.Context, n int64) {
	if ctx.Err() != nil {
		h.abandon(n)
		return
	}
	h.give(n)
}

// abandon gives back n bytes of abandoned work after a delay: it is not known when that work ends.
func (h *held) abandon(n int64) {
	h.bytes -= max(n, 0)
	if h.account != nil && n > 0 {
		time.AfterFunc(abandonedFor, func() { h.account.Give(memory.Requests, n) })
	}
}

// abandonedFor is how long abandoned reads are still counted. Somewhat arbitrary.
const abandonedFor = 2 * time.Second

// executed converts the response to a transaction named id.
func (s *service) executed(
	ctx context.Context, r gateway.Response, id kv.TxnID, writes bool, limit uint32, h *held,
) (*pb.ExecuteResponse, error) {
	defer h.release() // what is sent is counted by what sends it
	settle(&r, id, writes, limit)
	if err := h.has(int64(resultBytes(r.Results))); err != nil {
		lose(&r, err, writes)
	}
	s.opened.hide(ctx, &r.Contention)
	if r.Err != nil {
		d := failedResponse(&r)
		worded(d.Receipt)
		return nil, detail.Status(d)
	}
	out := new(pb.ExecuteResponse)
	s.response(out, &r)
	worded(out.Receipt)
	fit(out, int(limit))
	return out, nil
}

// settle completes a response: its id, and its error if its results do not fit into limit bytes.
// The shards have failed such a transaction before it was applied, but for what only reads on several of
// them, which fails here. If one that wrote has committed all the same, its results are lost: a node of
// an older version does not know the bound.
func settle(r *gateway.Response, id kv.TxnID, writes bool, limit uint32) {
	if r.ID.IsZero() {
		r.ID = id
	}
	if r.Err != nil {
		return
	}
	err := tooLarge(r.Results, limit)
	if err != nil {
		lose(r, err, writes)
	}
}

// idOr gives id, or a new one if it is zero.
func (s *service) idOr(id kv.TxnID) kv.TxnID {
	if !id.IsZero() {
		return id
	}
	return s.backend().NewID()
}
