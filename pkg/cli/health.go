package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// healthCheck is what "health" requires of a node.
type healthCheck struct {
	wait   time.Duration
	writes bool
}

func healthCommand() *cobra.Command {
	var f flags
	var h healthCheck
	cmd := command("health", "Check whether nodes are serving", `
Check whether the nodes at all addresses of --addr are serving, once, within 2 s. The exit code is 0 if all
of them accept transactions, and 4 if one cannot be reached, waits for other members, or is draining (8: the
node denies access). For health checks of containers and load balancers.

A node whose disk is nearly full rejects writes and serves reads: it is serving. With --writes the exit code is
4 then.

With --wait the check is repeated until the nodes are serving and all members of the cluster are up, for
scripts that have just started nodes.`, `
  linchpin health --addr 127.0.0.1:7070 && echo serving
  linchpin health --wait 30s`, 0, 0)
	f.addTo(cmd, false)
	withDefault(withDefault(cmd, "timeout", "2s"), "retry", "false")
	cmd.Flags().DurationVar(&h.wait, "wait", 0,
		"repeat the check for this time, until the nodes are serving and all members are up")
	cmd.Flags().BoolVar(&h.writes, "writes", false, "require that the nodes accept writes")
	once := connected(&f, func(ctx context.Context, s *session, _ []string) error { return s.health(ctx, &h) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if h.wait < 0 {
			return usagef(cmd, "--wait is %v, want 0 or more", h.wait)
		}
		addrs := f.addrs
		var failed error
		for _, addr := range addrs {
			f.addrs = []string{addr}
			err := until(cmd.Context(), h.wait, func() error { return once(cmd, args) })
			if err != nil && len(addrs) > 1 {
				err = fmt.Errorf("%s: %w", addr, err)
			}
			if err != nil && failed != nil {
				PrintError(cmd.ErrOrStderr(), failed, f.output == formatJSON)
			}
			failed = cmp.Or(err, failed)
		}
		return failed
	}
	return cmd
}

// health checks the connected node.
func (s *session) health(ctx context.Context, h *healthCheck) error {
	st, err := s.admin().Status(ctx)
	if err != nil {
		return err
	}
	if !st.Ready {
		return kv.Errorf(kv.KindUnavailable, "the node waits for the other members of its cluster")
	}
	for i := range st.Members {
		if m := &st.Members[i]; h.wait > 0 && !m.Up && !m.Self {
			return kv.Errorf(kv.KindUnavailable, "node n%d at %s is down", m.Node, m.Address)
		}
	}
	why := rejection(&st.Disk)
	if why != "" && h.writes {
		return kv.Errorf(kv.KindUnavailable, "node n%d %s", st.Node, why)
	}
	if s.json {
		return s.object(map[string]any{"node": st.Node, "ready": true, "disk": diskObject(&st.Disk)})
	}
	if why != "" {
		return s.printf("node n%d is serving, but %s\n", st.Node, why)
	}
	return s.printf("node n%d is serving\n", st.Node)
}

// betweenTries is the time between two checks: short for a script that waits, and no load for a node.
const betweenTries = 100 * time.Millisecond

// until calls try once, and repeats it for at most wait while the node is unavailable.
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
