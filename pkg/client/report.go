package client

import (
	"context"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Report is how a transaction or a scan has ended: see [ReportTo] and [WithObserver].
type Report struct {
	// TxID is the id, zero if there was none, as of a scan.
	TxID TxID
	// Call is the method of the client that was called: "Execute", "Update", "View", "Scan", "Get",
	// "Put" etc., "Outcome"; a method of a data type is that of the operation, as "set.add".
	Call string
	// Duration is how long the call took, retries included.
	Duration time.Duration
	// Attempts is how often it was tried; Aborts has a reason, one word, for each attempt that the
	// node aborted before the last one.
	Attempts int
	Aborts   []string
	// Receipt says what it has waited for.
	Receipt Receipt
	// Token stands for the state that it has read or made (see [After]), nil if it failed.
	Token CausalityToken
	// Snapshot is the state that it has read, if that is one of the past.
	Snapshot SnapshotInfo
	// Plan is how a read-only transaction has read: one-shard, parallel, hot-last, interactive or
	// snapshot. It is empty if the transaction took locks.
	Plan string
	// Err is the error of the call, nil if it succeeded.
	Err error
}

// course is what is reported of a call. A nil course reports nothing.
type course struct {
	ctx    context.Context
	began  time.Time
	report Report
}

// begin begins the report of a call, nil if it has no receiver.
func (db *DB) begin(ctx context.Context, call string) *course {
	if db.how.report == nil && len(db.opts.observers) == 0 {
		return nil
	}
	return &course{ctx: ctx, began: time.Now(), report: Report{Call: call}}
}

// responded takes the response of a transaction that has committed.
func (c *course) responded(r *pb.ExecuteResponse, attempts int) {
	if c == nil {
		return
	}
	c.report.TxID, c.report.Attempts, c.report.Aborts = txID(r.TxnId), attempts, r.AbortReasons
	c.report.Receipt, c.report.Token = receiptOf(r.Receipt), r.CausalityToken
	c.report.Plan, c.report.Snapshot = planName(r.Plan), snapshotInfo(r.Snapshot)
}

// end sends the report out, with the error of the call.
func (c *course) end(db *DB, err error) {
	if c == nil {
		return
	}
	c.report.Duration, c.report.Err = time.Since(c.began), err
	if e, ok := err.(*Error); ok {
		c.report.TxID, c.report.Attempts, c.report.Receipt = e.TxID, e.Attempts, e.Receipt
	}
	if db.how.report != nil {
		*db.how.report = c.report
	}
	for _, observe := range db.opts.observers {
		observe(c.ctx, c.report)
	}
}

// planNames are the names of the read plans.
var planNames = func() map[pb.ReadPlan]string {
	names := make(map[pb.ReadPlan]string, len(pb.ReadPlan_name))
	for number, name := range pb.ReadPlan_name {
		names[pb.ReadPlan(number)] = word(name, "PLAN_")
	}
	return names
}()

func planName(p pb.ReadPlan) string { return planNames[p] }
