package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Keep states of the whole store, and read them later",
		Long: `A snapshot keeps the state of the whole store at one moment, for as long as its
time to live. "linchpin get", "scan" and "txn" read it with --snapshot, through
any node, and hold no writer by that. Versions that only a snapshot needs take
room on disk until it expires or is dropped.

Besides, the store keeps a history by itself (see "linchpin start", --history),
which --as-of reads.`,
		Example: `  linchpin snapshot create before-import --ttl 2h
  linchpin snapshot list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(snapshotCreate(), snapshotList(), snapshotDrop())
	return cmd
}

func snapshotCreate() *cobra.Command {
	var f flags
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Keep the present state under a name",
		Long: `Keep the state of the whole store at one moment between the start of this command
and its end. Of names no two snapshots have the same.`,
		Example: `  linchpin snapshot create before-import --ttl 2h
  linchpin scan --snapshot before-import`,
		Args: arguments(1, 1),
	}
	f.addTo(cmd, false)
	cmd.Flags().DurationVar(&ttl, "ttl", 24*time.Hour, "how long to keep it; 90 days is the longest")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		if ttl < time.Millisecond {
			return usagef(cmd, "--ttl is %v, want a millisecond or more", ttl)
		}
		x, err := s.db.CreateSnapshot(ctx, args[0], ttl)
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printSnapshots([]client.Snapshot{*x})
	})
	return cmd
}

func snapshotList() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the snapshots, oldest first",
		Long: `List the snapshots that have a name, with the moment that each keeps. States of the
history are not listed.`,
		Example: `  linchpin snapshot list --output json`,
		Args:    arguments(0, 0),
	}
	f.addTo(cmd, false)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, _ []string) error {
		l, err := s.db.Snapshots(ctx)
		if err != nil {
			return err
		}
		return s.printSnapshots(l)
	})
	return cmd
}

func snapshotDrop() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "Give a snapshot up, by its name or its id",
		Long: `Give a snapshot up, by its name or its id. Who reads at it is told that it is gone,
and what only it has kept is removed from disk in time.`,
		Example: `  linchpin snapshot drop before-import`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, false)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		x, err := s.db.DropSnapshot(ctx, args[0])
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printSnapshots([]client.Snapshot{*x})
	})
	return cmd
}

func (s *session) printSnapshots(l []client.Snapshot) error {
	if s.json {
		for i := range l {
			x := &l[i]
			if err := s.object(struct {
				ID      string    `json:"id"`
				Name    string    `json:"name"`
				Time    time.Time `json:"time"`
				Expires time.Time `json:"expires"`
				Token   []byte    `json:"token"`
			}{x.ID, x.Name, x.Time.UTC(), x.Expires.UTC(), x.Token}); err != nil {
				return err
			}
		}
		return nil
	}
	t := s.table("NAME", "ID", "TIME", "EXPIRES")
	for i := range l {
		t.row(l[i].Name, l[i].ID, stamp(l[i].Time), stamp(l[i].Expires))
	}
	return t.flush()
}
