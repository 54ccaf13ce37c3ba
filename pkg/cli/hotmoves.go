package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func hotMoves(size func() (lines, columns int)) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "moves",
		Short: "Show the last moves to the hot shard, and home",
		Long: `Show the last moves of keys to the hot shard, and home, that have taken place, the
newest first: at most 64, and none from before the hot shard's node was last started.`,
		Example: `  linchpin hot moves`,
		Args:    arguments(0, 0),
	}
	f.addTo(cmd, true)
	f.fits(cmd, size)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, _ []string) error {
		r, err := s.db.HotKeys(ctx, 1)
		if err != nil {
			return err
		}
		return s.printMoves(r.Moves)
	})
	return cmd
}

// moveItem is a move as JSON.
type moveItem struct {
	item
	Time  time.Time `json:"time"`
	From  uint32    `json:"from_shard"`
	To    uint32    `json:"to_shard"`
	ToHot bool      `json:"to_hot"`
	Why   string    `json:"why"`
}

func (s *session) printMoves(moves []pb.HotMove) error {
	if s.json {
		for i := range moves {
			m := &moves[i]
			if err := s.object(moveItem{s.keyItem(m.Key), time.Unix(0, m.TimeNs).UTC(), m.FromShard, m.ToShard, m.ToHot, m.Reason}); err != nil {
				return err
			}
		}
		return nil
	}
	t := s.table("TIME", "KEY", "FROM", "TO", "WHY")
	for i := range moves {
		m := &moves[i]
		to := fmt.Sprintf("s%d", m.ToShard)
		if m.ToHot {
			to += " (hot)"
		}
		t.row(stamp(time.Unix(0, m.TimeNs)), s.text(m.Key), fmt.Sprintf("s%d", m.FromShard), to, m.Reason)
	}
	return t.flush()
}
