package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func hotCommand() *cobra.Command {
	var f flags
	var limit int
	cmd := &cobra.Command{
		Use:   "hot",
		Short: "Show the keys that cause most waiting",
		Long: `Show the keys on which transactions have waited longest in total, with the shard
that has them. All nodes are asked.`,
		Example: `  linchpin hot --limit 5`,
		Args:    arguments(0, 0),
	}
	f.addTo(cmd, true)
	cmd.Flags().IntVar(&limit, "limit", 10, "show so many keys")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, _ []string) error {
		if limit < 1 {
			return usagef(cmd, "--limit is %d, want 1 or more", limit)
		}
		var keys []pb.HotKey
		err := s.askEach(ctx, func(ctx context.Context, db *client.DB, _ uint32) error {
			answer, err := db.HotKeys(ctx, limit)
			if err == nil {
				keys = append(keys, answer.Keys...)
			}
			return err
		})
		if err != nil {
			return err
		}
		slices.SortFunc(keys, func(a, b pb.HotKey) int {
			return cmp.Or(cmp.Compare(b.WaitedUs, a.WaitedUs), bytes.Compare(a.Key, b.Key))
		})
		return s.printHot(keys[:min(limit, len(keys))])
	})
	return cmd
}

func (s *session) printHot(keys []pb.HotKey) error {
	if s.json {
		for i := range keys {
			k := &keys[i]
			a := struct {
				item
				Shard    uint32 `json:"shard"`
				WaitedUs uint64 `json:"waited_us"`
				Waits    uint64 `json:"waits"`
			}{s.keyItem(k.Key), k.Shard, k.WaitedUs, k.Waits}
			if err := s.object(a); err != nil {
				return err
			}
		}
		return nil
	}
	t := s.table("KEY", "SHARD", "WAITED", "WAITS")
	for i := range keys {
		k := &keys[i]
		waited := time.Duration(k.WaitedUs) * time.Microsecond
		t.row(s.text(k.Key), fmt.Sprintf("s%d", k.Shard), waited.String(), fmt.Sprint(k.Waits))
	}
	return t.flush()
}
