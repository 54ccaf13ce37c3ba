package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func drainCommand() *cobra.Command {
	var f flags
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Stop a node cleanly",
		Long: `Stop a node cleanly: its health checks fail, it admits nothing new, and tells its
clients to go elsewhere; what is under way on it ends; the other nodes begin nothing
on its shards any more, and what they have begun there ends; then the process ends,
with exit code 0.

When the time of --limit is up, what is still under way is cut off. That loses nothing
that was answered. An interrupt of this command does not stop the draining.

There is one copy of the data: until the node is back, its shards cannot be reached.`,
		Example: `  linchpin drain --addr 10.0.0.2:7070
  linchpin drain --addr 10.0.0.2:7070 --limit 1m`,
		Args: arguments(0, 0),
	}
	f.addTo(cmd, false)
	cmd.Flags().DurationVar(&limit, "limit", 0, "how long to wait for what is under way; 0 is the node's --drain-timeout")
	run := connected(&f, func(ctx context.Context, s *session, _ []string) error { return s.drain(ctx, limit) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(f.addrs) != 1:
			return usagef(cmd, "--addr has %d addresses, want that of the node to drain", len(f.addrs))
		case limit < 0 || limit > time.Hour:
			return usagef(cmd, "--limit is %v, want 0 to 1h", limit)
		case limit > 0 && !cmd.Flags().Changed("timeout"):
			f.timeout = 0 // it takes as long as it takes
		}
		return run(cmd, args)
	}
	return cmd
}

// drainAnswer is a step of a drain as JSON.
type drainAnswer struct {
	Phase        string `json:"phase"`
	Transactions uint32 `json:"transactions"`
	Open         uint32 `json:"open"`
	OnShards     uint32 `json:"on_shards"`
	ElapsedMs    uint64 `json:"elapsed_ms"`
	CutOff       bool   `json:"cut_off"`
}

func (s *session) drain(ctx context.Context, limit time.Duration) error {
	s.changed(kv.TxnID{}) // the node begins before it says so
	var last drainAnswer
	var failed error
	err := s.db.Drain(ctx, limit, func(p *pb.DrainProgress) {
		now := drainAnswer{p.Phase, p.OneShots, p.Interactive, p.OnShards, last.ElapsedMs, p.TimedOut}
		if now == last {
			return // no news
		}
		now.ElapsedMs = p.ElapsedMs
		last = now
		if failed == nil {
			failed = s.drainStep(&now)
		}
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case last.CutOff:
		return kv.Errorf(kv.KindDeadlineExceeded, "the node has stopped, but the time was up first, and what was under way was cut off")
	case s.json:
		return nil
	}
	return s.printf("the node has stopped\n")
}

func (s *session) drainStep(p *drainAnswer) error {
	if s.json {
		return s.object(p)
	}
	elapsed := time.Duration(p.ElapsedMs) * time.Millisecond
	return s.printf("%6.1f s  %-12s  %d transactions, %d open interactive ones, %d on the shards\n", elapsed.Seconds(), p.Phase, p.Transactions, p.Open, p.OnShards)
}
