package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func drainCommand() *cobra.Command {
	var f flags
	var limit time.Duration
	cmd := command("drain", "Drain a node, then stop it", `
Drain a node, then stop it: its health checks fail, it rejects new transactions and redirects clients to
other nodes, transactions in flight end, on it and on its shards, and the process exits with code 0.

After --limit transactions in flight are cut off. No acknowledged commit is lost. An interrupt of this command
does not stop the drain.

Other nodes take over its shards. With one copy of the data (start --replicas 1), its shards are unavailable
until the node is back.`, `
  linchpin drain --addr 10.0.0.2:7070
  linchpin drain --addr 10.0.0.2:7070 --limit 1m`, 0, 0)
	f.addTo(cmd, false)
	cmd.Flags().DurationVar(&limit, "limit", 0,
		"how long to wait for transactions in flight (default: the node's --drain-timeout)")
	run := connected(&f, func(ctx context.Context, s *session, _ []string) error { return s.drain(ctx, limit) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(f.addrs) != 1:
			return usagef(cmd, "--addr has %d addresses, want the address of the node to drain", len(f.addrs))
		case limit < 0 || limit > time.Hour:
			return usagef(cmd, "--limit is %v, want 0 to 1h", limit)
		case limit > 0 && !cmd.Flags().Changed("timeout"):
			f.timeout = 0 // --limit bounds it
		}
		return run(cmd, args)
	}
	return cmd
}

// drainAnswer is a step of a drain as JSON.
type drainAnswer struct {
	Phase       string `json:"phase"`
	OneShots    int    `json:"one_shots"`
	Interactive int    `json:"interactive"`
	OnShards    int    `json:"on_shards"`
	ElapsedMs   int64  `json:"elapsed_ms"`
	TimedOut    bool   `json:"timed_out"`
}

func (s *session) drain(ctx context.Context, limit time.Duration) error {
	s.changed(client.TxID{}) // the node begins before it responds
	var last drainAnswer
	var failed error
	err := s.admin().Drain(ctx, limit, func(p admin.DrainProgress) {
		now := drainAnswer{p.Phase, p.OneShots, p.Interactive, p.OnShards, last.ElapsedMs, p.TimedOut}
		if now == last {
			return // no progress
		}
		now.ElapsedMs = p.Elapsed.Milliseconds()
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
	case last.TimedOut:
		return kv.Errorf(kv.KindDeadlineExceeded,
			"the node has stopped, and transactions in flight were cut off at the time limit")
	case s.json:
		return nil
	}
	return s.printf("the node has stopped\n")
}

func (s *printer) drainStep(p *drainAnswer) error {
	if s.json {
		return s.object(p)
	}
	elapsed := time.Duration(p.ElapsedMs) * time.Millisecond
	return s.printf("%6.1f s  %-12s  in flight: %d one-shot and %d interactive transactions, %d on the shards\n",
		elapsed.Seconds(), p.Phase, p.OneShots, p.Interactive, p.OnShards)
}
