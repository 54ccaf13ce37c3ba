package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// nodesDo asks each node of the cluster that is up what it does, through the one that
// the command is connected to. A node that does not answer is told of on standard
// error, unless none does.
func (s *session) nodesDo(ctx context.Context, in pb.ActivityRequest) ([]*pb.ActivityResponse, error) {
	st, err := s.db.Status(ctx)
	if err != nil {
		return nil, err
	}
	var out []*pb.ActivityResponse
	var last error
	for _, m := range st.Members {
		ask := in
		ask.NodeId = m.NodeId
		a, err := s.db.Activity(ctx, &ask)
		if err != nil {
			last = err
			s.cmd.PrintErrf("node n%d has not answered: %v\n", m.NodeId, err)
			continue
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, last
	}
	return out, nil
}

// mostAsked is how many receipts or waits a node tells at most.
const mostAsked = 256

// activityCommand makes a command that asks all nodes for something that they have some
// of, and shows as much as is wanted.
func activityCommand(cmd *cobra.Command, size func() (lines, columns int), ask func(in *pb.ActivityRequest, limit uint32), show func(s *session, nodes []*pb.ActivityResponse, limit int) error) *cobra.Command {
	var f flags
	var limit int
	f.addTo(cmd, true)
	f.fits(cmd, size)
	cmd.Flags().IntVar(&limit, "limit", 20, fmt.Sprintf("show so many, 1 to %d", mostAsked))
	run := connected(&f, func(ctx context.Context, s *session, _ []string) error {
		in := pb.ActivityRequest{SinceS: time.Now().Unix()}
		ask(&in, uint32(limit))
		nodes, err := s.nodesDo(ctx, in)
		if err != nil {
			return err
		}
		return show(s, nodes, limit)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if limit < 1 || limit > mostAsked {
			return usagef(cmd, "--limit is %d, want 1 to %d", limit, mostAsked)
		}
		return run(cmd, args)
	}
	return cmd
}

func receiptsCommand(size func() (lines, columns int)) *cobra.Command {
	return activityCommand(&cobra.Command{
		Use:   "receipts",
		Short: "Show the last contention receipts of the cluster",
		Long: `Show the receipts of the transactions that have waited for others lately, or lost an
attempt to them, the newest first: when, for how long, for which key, and in words
why, and what would have commuted.

Each node remembers, in memory, the last 256 of the transactions that clients ran
through it: of one second no more than the 16 longest.`,
		Example: `  linchpin receipts --limit 5
  linchpin receipts --output json`,
		Args: arguments(0, 0),
	}, size, func(in *pb.ActivityRequest, limit uint32) { in.MaxReceipts = limit }, (*session).printReceipts)
}

// recentAnswer is a receipt as JSON.
type recentAnswer struct {
	Time     time.Time `json:"time"`
	Node     uint32    `json:"node"`
	TxnID    string    `json:"txn_id"`
	Kind     string    `json:"kind"`
	Outcome  string    `json:"outcome"`
	Attempts uint32    `json:"attempts"`
	TookUs   uint64    `json:"took_us"`
	receiptAnswer
}

func (s *session) printReceipts(nodes []*pb.ActivityResponse, limit int) error {
	type told struct {
		node uint32
		*pb.RecentReceipt
	}
	var all []told
	for _, n := range nodes {
		for i := range n.Receipts {
			all = append(all, told{n.NodeId, &n.Receipts[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(b.TimeNs, a.TimeNs) })
	all = all[:min(limit, len(all))]
	t := s.table("TIME", "NODE", "WAITED", "KEY", "OUTCOME", "WHY")
	for _, r := range all {
		receipt := client.ReceiptOf(r.Receipt)
		if s.json {
			if err := s.object(recentAnswer{Time: time.Unix(0, r.TimeNs).UTC(), Node: r.node, TxnID: r.TxnId.String(), Kind: r.Kind, Outcome: r.Outcome,
				Attempts: r.Attempts, TookUs: r.DurationUs, receiptAnswer: s.receiptObject(&receipt)}); err != nil {
				return err
			}
			continue
		}
		key := receipt.Key
		if receipt.Waited == 0 && receipt.Abort != nil {
			key = receipt.Abort.Key
		}
		t.row(stamp(time.Unix(0, r.TimeNs)), fmt.Sprintf("n%d", r.node), receipt.Waited.Round(time.Microsecond).String(), s.text(key), r.Outcome, receipt.String())
	}
	if s.json {
		return nil
	}
	return t.flush()
}

func waitsCommand(size func() (lines, columns int)) *cobra.Command {
	cmd := activityCommand(&cobra.Command{
		Use:   "waits",
		Short: "Show which transactions wait for which now",
		Long: `Show the transactions of the cluster that wait now, those that have waited longest
first: for which key, for which other transaction, and what the two do with the key. Where
there is no other, readers have to end first, or those of an earlier life of a shard.`,
		Example: `  linchpin waits`,
		Args:    arguments(0, 0),
	}, size, func(in *pb.ActivityRequest, limit uint32) { in.MaxWaits = limit }, (*session).printWaits)
	cmd.AddCommand(endCommand())
	return cmd
}

func endCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "end ID",
		Short: "End a transaction that others wait for",
		Long: `End a transaction, through whichever node it runs: its locks are released, and its
client is told that it was cancelled. One that has asked to commit may still commit;
"linchpin outcome" tells. It needs the role admin.`,
		Example: `  linchpin waits end 18eb400d436429d41304e3c5f9535472`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		id, err := kv.ParseTxnID(args[0])
		if err != nil {
			return kv.Errorf(kv.KindInvalid, "%q is not a transaction's id; see \"linchpin waits\"", args[0])
		}
		r, err := s.db.CancelTransaction(ctx, id)
		if err != nil {
			return err
		}
		for _, n := range r.UnreachableIds {
			s.cmd.PrintErrf("node n%d has not answered\n", n)
		}
		if len(r.NodeIds) == 0 {
			return kv.Errorf(kv.KindNotFound, "transaction %v is not under way", id)
		}
		if s.json {
			return s.object(r)
		}
		for _, n := range r.NodeIds {
			s.cmd.Printf("ended at node n%d\n", n)
		}
		return nil
	})
	return cmd
}

// currentAnswer is a wait as JSON.
type currentAnswer struct {
	item
	TxnID            string `json:"txn_id"`
	Shard            uint32 `json:"shard"`
	WaitedUs         uint64 `json:"waited_us"`
	Operations       string `json:"operations"`
	Cause            string `json:"cause,omitempty"`
	Holder           string `json:"holder,omitempty"`
	HolderOperations string `json:"holder_operations,omitempty"`
	Others           uint32 `json:"others,omitempty"`
	User             string `json:"user,omitempty"`
	HolderUser       string `json:"holder_user,omitempty"`
}

func (s *session) printWaits(nodes []*pb.ActivityResponse, limit int) error {
	var all []*pb.CurrentWait
	for _, n := range nodes {
		for i := range n.Waits {
			all = append(all, &n.Waits[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *pb.CurrentWait) int { return cmp.Compare(b.WaitedUs, a.WaitedUs) })
	all = all[:min(limit, len(all))]
	t := s.table("TRANSACTION", "USER", "WAITS", "SHARD", "KEY", "TO", "FOR", "OF USER", "WHICH DOES")
	for _, w := range all {
		c := w.Wait
		if c == nil {
			c = &pb.Conflict{}
		}
		holder := ""
		if !c.Holder.IsZero() {
			holder = c.Holder.String()
		}
		cause := word(c.Cause.String(), "CAUSE_")
		if s.json {
			if err := s.object(currentAnswer{s.keyItem(c.Key), w.TxnId.String(), w.Shard, w.WaitedUs, w.Operations, cause, holder, w.HolderOperations, c.Others, w.User, w.HolderUser}); err != nil {
				return err
			}
			continue
		}
		if c.Others > 0 {
			holder += fmt.Sprintf(" and %d more", c.Others)
		}
		t.row(w.TxnId.String(), orDash(w.User), (time.Duration(w.WaitedUs) * time.Microsecond).String(), fmt.Sprintf("s%d", w.Shard), s.text(c.Key), orDash(w.Operations),
			cmp.Or(holder, cause, "-"), orDash(w.HolderUser), orDash(w.HolderOperations))
	}
	if s.json {
		return nil
	}
	return t.flush()
}
