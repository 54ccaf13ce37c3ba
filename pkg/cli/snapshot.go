package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
)

func snapshotCommand() *cobra.Command {
	return group("snapshot", "Create, list and drop snapshots of the whole store", `
A snapshot is the state of the whole store at one moment, kept under a name until it expires. Commands that
read take it as --snapshot, through any node, and block no writer. Versions that only a snapshot needs occupy
disk space until it expires or is dropped.

The store also keeps a history of recent states, which --as-of reads ("linchpin start", --history).`, `
  linchpin snapshot create before-import --ttl 2h
  linchpin snapshot list`,
		snapshotCreate(), snapshotList(), snapshotDrop())
}

func snapshotCreate() *cobra.Command {
	var ttl time.Duration
	cmd := command("create NAME", "Create a snapshot of the present state", `
Create a snapshot of the whole store at a moment between the start and the end of this command. Names are unique.`, `
  linchpin snapshot create before-import --ttl 2h
  linchpin scan --snapshot before-import`, 1, 1)
	cmd.Flags().DurationVar(&ttl, "ttl", 24*time.Hour, "time until it expires, at most 90 days")
	return connects(cmd, false, func(ctx context.Context, s *session, args []string) error {
		if ttl < time.Millisecond {
			return usagef(s.cmd, "--ttl is %v, want a millisecond or more", ttl)
		}
		x, err := s.db.CreateSnapshot(ctx, args[0], client.TTL(ttl))
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printSnapshots([]client.SnapshotInfo{x.Info()})
	})
}

func snapshotList() *cobra.Command {
	return connects(command("list", "List the snapshots, oldest first", `
List the snapshots with their times. States of the history are not listed.`,
		`  linchpin snapshot list --output json`, 0, 0), false, func(ctx context.Context, s *session, _ []string) error {
		l, err := s.db.Snapshots(ctx)
		if err != nil {
			return err
		}
		if len(l) == 0 {
			s.none("no snapshots")
			return nil
		}
		return s.printSnapshots(l)
	})
}

func snapshotDrop() *cobra.Command {
	return connects(command("drop NAME", "Drop a snapshot", `
Drop a snapshot, by its name or its id. Reads at it fail from then on, and the versions that only it needed are
deleted over time.`,
		`  linchpin snapshot drop before-import`, 1, 1), false, func(ctx context.Context, s *session, args []string) error {
		x, err := clientlink.DropSnapshot(ctx, s.db, args[0])
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printSnapshots([]client.SnapshotInfo{x.(client.SnapshotInfo)})
	})
}

func (s *printer) printSnapshots(l []client.SnapshotInfo) error {
	if s.json {
		return objects(s, l, func(x *client.SnapshotInfo) any {
			return struct {
				ID      string    `json:"id"`
				Name    string    `json:"name"`
				Time    time.Time `json:"time"`
				Expires time.Time `json:"expires"`
				Token   []byte    `json:"token"`
			}{x.ID, x.Name, x.Time.UTC(), x.Expires.UTC(), x.Token}
		})
	}
	t := s.table("NAME", "ID", "TIME", "EXPIRES")
	for i := range l {
		t.row(l[i].Name, l[i].ID, stamp(l[i].Time), stamp(l[i].Expires))
	}
	return t.flush()
}
