package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
)

// activities queries each node of the cluster, through the one that the command is connected to. It
// reports a node that does not respond on standard error, and fails if none responds.
func (s *session) activities(ctx context.Context, in admin.ActivityOptions) ([]admin.Activity, error) {
	st, err := s.admin().Status(ctx)
	if err != nil {
		return nil, err
	}
	var out []admin.Activity
	var last error
	for _, m := range st.Members {
		in.Node = m.Node
		a, err := s.admin().Activity(ctx, in)
		if err != nil {
			last = err
			s.cmd.PrintErrf("node n%d does not respond: %v\n", m.Node, err)
			continue
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, last
	}
	return out, nil
}

// maxRows is the greatest number of receipts or waits that a node returns.
const maxRows = 256

// activityCommand makes a command that queries all nodes and shows a limited number of rows. wide says
// what --wide adds.
func activityCommand(cmd *cobra.Command, size func() (lines, columns int), wide string,
	request func(in *admin.ActivityOptions, limit int),
	show func(s *session, nodes []admin.Activity, limit int) error) *cobra.Command {
	var f flags
	var limit int
	f.addTo(cmd, true)
	f.widens(cmd, size, wide)
	cmd.Flags().IntVar(&limit, "limit", 20, fmt.Sprintf("greatest `number` of rows, 1 to %d", maxRows))
	run := connected(&f, func(ctx context.Context, s *session, _ []string) error {
		in := admin.ActivityOptions{Since: time.Now()}
		request(&in, limit)
		nodes, err := s.activities(ctx, in)
		if err != nil {
			return err
		}
		return show(s, nodes, limit)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if limit < 1 || limit > maxRows {
			return usagef(cmd, "--limit is %d, want 1 to %d", limit, maxRows)
		}
		return run(cmd, args)
	}
	return cmd
}

func receiptsCommand(size func() (lines, columns int)) *cobra.Command {
	return activityCommand(command("receipts", "Show the last contention receipts of the cluster", `
Show the receipts of transactions that waited for others, or lost an attempt to them, the newest first:
when the transaction ended, how long it waited, for which key, because of what, and its outcome. --wide adds
the id and the receipt in words, with the operations that would have commuted.

  CAUSE    lock, range: another transaction held a lock; queue: an older transaction was first;
           readers, snapshot: readers delayed the update; update: the reader waited for an undecided update;
           wound, changed: an attempt was aborted
  OUTCOME  committed, rolled back (by its client), unknown, or an error

Each node keeps the last 256 receipts of its clients in memory, per second at most the 16 longest.`, `
  linchpin receipts --limit 5
  linchpin receipts --output json`, 0, 0), size, "show the id of each transaction, and the receipt in words",
		func(in *admin.ActivityOptions, limit int) { in.MaxReceipts = limit }, (*session).printReceipts)
}

// recentAnswer is a receipt as JSON.
type recentAnswer struct {
	Time       time.Time `json:"time"`
	Node       int       `json:"node"`
	TxnID      string    `json:"txn_id"`
	Kind       string    `json:"kind"`
	Outcome    string    `json:"outcome"`
	Attempts   int       `json:"attempts"`
	DurationUs int64     `json:"duration_us"`
	receiptAnswer
}

// nodeReceipt is a receipt and the node that has it.
type nodeReceipt struct {
	node int
	*admin.RecentReceipt
}

func (s *session) printReceipts(nodes []admin.Activity, limit int) error {
	var all []nodeReceipt
	for _, n := range nodes {
		for i := range n.Receipts {
			all = append(all, nodeReceipt{n.Node, &n.Receipts[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b nodeReceipt) int { return b.Time.Compare(a.Time) })
	all = all[:min(limit, len(all))]
	if len(all) == 0 {
		s.none("no transaction has waited")
		return nil
	}
	head := []string{"TIME", "NODE", "WAITED", "KEY", "CAUSE", "OUTCOME"}
	if s.flags.wide {
		head = append(head, "TRANSACTION", "RECEIPT")
	}
	t := s.table(head...)
	for _, r := range all {
		if s.json {
			if err := s.object(recentAnswer{Time: r.Time.UTC(), Node: r.node, TxnID: r.TxID.String(), Kind: r.Class,
				Outcome: r.Outcome, Attempts: r.Attempts, DurationUs: r.Duration.Microseconds(),
				receiptAnswer: s.receiptObject(&r.Receipt)}); err != nil {
				return err
			}
			continue
		}
		c := conflictOf(&r.Receipt)
		row := []string{stamp(r.Time), fmt.Sprintf("n%d", r.node), detail.Duration(r.Receipt.Waited), s.text(c.Key),
			orDash(c.Cause), outcomeText(r.Outcome)}
		if s.flags.wide {
			row = append(row, r.TxID.String(), r.Receipt.String())
		}
		t.row(row...)
	}
	if s.json {
		return nil
	}
	return t.flush()
}

// conflictOf is the conflict that a transaction waited for, or because of which it lost an attempt.
func conflictOf(r *client.Receipt) *client.Conflict {
	switch {
	case r.Waited == 0 && r.Abort != nil:
		return r.Abort
	case r.Wait != nil:
		return r.Wait
	}
	return new(client.Conflict)
}

// outcomeText is the outcome of a transaction, of which the API has the kind of the error.
func outcomeText(kind string) string {
	switch kind {
	case kv.KindOK.String():
		return "committed"
	case kv.KindCancelled.String():
		return "rolled back"
	case kv.KindOutcomeUnknown.String():
		return "unknown"
	case kv.KindAborted.String():
		return "aborted"
	}
	return kind
}

func waitsCommand(size func() (lines, columns int)) *cobra.Command {
	cmd := activityCommand(command("waits", "Show the wait-for graph", `
Show the transactions that wait now, on all nodes, the longest wait first: how long, for which key, and
for which transaction. Without a holder the transaction waits for readers, or (forgotten) for the readers of a shard
that has restarted. --wide adds the users and the operations of both.`,
		`  linchpin waits`, 0, 0), size, "show the users and the operations",
		func(in *admin.ActivityOptions, limit int) { in.MaxWaits = limit }, (*session).printWaits)
	cmd.AddCommand(endCommand())
	return cmd
}

func endCommand() *cobra.Command {
	return connects(command("end ID", "Cancel a transaction that others wait for", `
Cancel a transaction on any node: it releases its locks, and its client receives an error. A transaction
whose commit has begun may still commit; "linchpin outcome" shows it. Needs the role admin.`,
		`  linchpin waits end 18eb400d436429d41304e3c5f9535472`, 1, 1), true,
		func(ctx context.Context, s *session, args []string) error {
			id, err := client.ParseTxID(args[0])
			if err != nil {
				return kv.Errorf(kv.KindInvalid, "%q is not the id of a transaction; \"linchpin waits\" shows ids", args[0])
			}
			r, err := s.admin().CancelTransaction(ctx, id)
			if err != nil {
				return err
			}
			for _, n := range r.Unreachable {
				s.cmd.PrintErrf("node n%d does not respond\n", n)
			}
			if len(r.Nodes) == 0 {
				return kv.Errorf(kv.KindNotFound, "transaction %v is not in flight", id)
			}
			if s.json {
				return s.object(cancelledAnswer{r.Nodes, r.Unreachable})
			}
			for _, n := range r.Nodes {
				if err := s.printf("cancelled at node n%d\n", n); err != nil {
					return err
				}
			}
			return nil
		})
}

// cancelledAnswer is as JSON where a transaction was cancelled.
type cancelledAnswer struct {
	NodeIDs        []int `json:"node_ids,omitempty"`
	UnreachableIDs []int `json:"unreachable_ids,omitempty"`
}

// currentAnswer is a wait as JSON.
type currentAnswer struct {
	item
	TxnID            string `json:"txn_id"`
	Shard            int    `json:"shard"`
	WaitedUs         int64  `json:"waited_us"`
	Operations       string `json:"operations"`
	Cause            string `json:"cause,omitempty"`
	Holder           string `json:"holder,omitempty"`
	HolderOperations string `json:"holder_operations,omitempty"`
	Others           int    `json:"others,omitempty"`
	User             string `json:"user,omitempty"`
	HolderUser       string `json:"holder_user,omitempty"`
}

func (s *session) printWaits(nodes []admin.Activity, limit int) error {
	var all []*admin.Wait
	for _, n := range nodes {
		for i := range n.Waits {
			all = append(all, &n.Waits[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *admin.Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	all = all[:min(limit, len(all))]
	if len(all) == 0 {
		s.none("no transaction waits")
		return nil
	}
	head := []string{"WAITED", "SHARD", "KEY", "TRANSACTION", "HOLDER"}
	if s.flags.wide {
		head = append(head, "USER", "OPERATION", "HOLDER USER", "HOLDER OPERATION")
	}
	t := s.table(head...)
	for _, w := range all {
		c := w.Conflict
		if c == nil {
			c = new(client.Conflict)
		}
		holder := ""
		if !c.Holder.IsZero() {
			holder = c.Holder.String()
		}
		if s.json {
			if err := s.object(currentAnswer{s.keyItem(c.Key), w.TxID.String(), w.Shard, w.Waited.Microseconds(),
				w.Operations, c.Cause, holder, w.HolderOperations, c.Others, w.User, w.HolderUser}); err != nil {
				return err
			}
			continue
		}
		if c.Others > 0 {
			holder += fmt.Sprintf(" and %d more", c.Others)
		}
		row := []string{detail.Duration(w.Waited), fmt.Sprintf("s%d", w.Shard), s.text(c.Key), w.TxID.String(),
			cmp.Or(holder, c.Cause, "-")}
		if s.flags.wide {
			row = append(row, orDash(w.User), orDash(w.Operations), orDash(w.HolderUser), orDash(w.HolderOperations))
		}
		t.row(row...)
	}
	if s.json {
		return nil
	}
	return t.flush()
}
