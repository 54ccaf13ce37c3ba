package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func healthCommand() *cobra.Command {
	var f flags
	var wait time.Duration
	var writes bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Tell by the exit code whether a node serves",
		Long: `Tell by the exit code whether a node serves: 0 if it takes transactions, and 4 if it
cannot be reached, waits for the other members, or drains (8 if it does not let the
caller in). It is made for health checks of containers and load balancers, and tries
once, for 2 s.

A node whose disk is nearly full refuses writes and serves reads: it serves, and what
it refuses is shown. With --writes the exit code is 4 then, too.

With --wait it tries again, until the node serves and all members of its cluster are
up, or the time is over: for scripts that have just started nodes.`,
		Example: `  linchpin health --addr 127.0.0.1:7070 && echo serving
  linchpin health --wait 30s`,
		Args: arguments(0, 0),
	}
	f.addTo(cmd, false)
	for name, value := range map[string]string{"timeout": (2 * time.Second).String(), "retry": "false"} {
		flag := cmd.Flags().Lookup(name)
		flag.DefValue = value
		_ = flag.Value.Set(value) // both are such values
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "try again for so long, until the node serves and all members are up")
	cmd.Flags().BoolVar(&writes, "writes", false, "ask for a node that takes writes, too")
	once := connected(&f, func(ctx context.Context, s *session, _ []string) error {
		st, err := s.db.Status(ctx)
		if err != nil {
			return err
		}
		if !st.Ready {
			return kv.Errorf(kv.KindUnavailable, "the node waits for the other members of its cluster")
		}
		for i := range st.Members {
			if m := &st.Members[i]; wait > 0 && !m.Up && !m.Self {
				return kv.Errorf(kv.KindUnavailable, "node n%d at %s is not up", m.NodeId, m.Address)
			}
		}
		why := refusal(&st.Disk)
		if why != "" && writes {
			return kv.Errorf(kv.KindUnavailable, "node n%d %s", st.NodeId, why)
		}
		if s.json {
			return s.object(map[string]any{"node": st.NodeId, "ready": true, "room": roomObject(&st.Disk)})
		}
		if why != "" {
			return s.printf("node n%d serves, but %s\n", st.NodeId, why)
		}
		return s.printf("node n%d serves\n", st.NodeId)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if wait < 0 {
			return usagef(cmd, "--wait is %v, want 0 or more", wait)
		}
		return until(cmd.Context(), wait, func() error { return once(cmd, args) })
	}
	return cmd
}

// betweenTries is long enough not to be a load, and not felt by who waits.
const betweenTries = 100 * time.Millisecond

// until tries once, and again while nobody can be reached and the time is not over.
func until(ctx context.Context, wait time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(betweenTries)
	defer tick.Stop()
	for {
		err := try()
		if kind := kv.KindOf(err); err == nil || kind != kv.KindUnavailable && kind != kv.KindDeadlineExceeded {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
