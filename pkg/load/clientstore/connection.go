package clientstore

import (
	"context"
	"errors"
	"sync"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// connection is a client, with the handles that no transaction uses.
type connection struct {
	db   *client.DB
	idle sync.Pool
}

// handle is what a one-shot transaction needs. It is reused, so that a transaction does not allocate it.
type handle struct {
	from *connection
	// db reports to report.
	db     *client.DB
	report client.Report
	// ops are those of the transaction.
	ops []client.Op
}

// handle returns an idle handle, or a new one.
func (c *connection) handle() *handle {
	if h, ok := c.idle.Get().(*handle); ok {
		return h
	}
	h := &handle{from: c}
	h.db = c.db.With(client.ReportTo(&h.report))
	return h
}

func (h *handle) release() {
	clear(h.ops)
	h.ops, h.report = h.ops[:0], client.Report{}
	h.from.idle.Put(h)
}

// execute runs the operations as a transaction. lost: it has committed, and its results are lost.
func (h *handle) execute(ctx context.Context) (reply workload.Reply, lost bool, err error) {
	err = owned(h.db.Execute(ctx, h.ops...))
	reply = workload.Reply{ID: stored(h.report.TxID), Attempts: h.report.Attempts, Aborts: h.report.Aborts}
	if errors.Is(err, client.ErrResultsLost) {
		return reply, true, nil
	}
	return reply, false, err
}
