package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client/admin"
)

func hotMoves(size func() (lines, columns int)) *cobra.Command {
	var f flags
	cmd := command("moves", "Show the last moves to the hot shard, and home", `
Show the last moves of keys to the hot shard and home, the newest first: at most 64, since the last start
of the hot shard's node. --wide adds the reasons.`,
		`  linchpin hot moves`, 0, 0)
	f.addTo(cmd, true)
	f.widens(cmd, size, "show the reason of each move")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, _ []string) error {
		r, err := s.admin().HotKeys(ctx, 1)
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
	Time   time.Time `json:"time"`
	From   int       `json:"from_shard"`
	To     int       `json:"to_shard"`
	ToHot  bool      `json:"to_hot"`
	Reason string    `json:"reason"`
}

func (s *session) printMoves(moves []admin.HotMove) error {
	if s.json {
		return objects(s.printer, moves, func(m *admin.HotMove) any {
			return moveItem{s.keyItem(m.Key), m.Time.UTC(), m.From, m.To, m.ToHot, m.Reason}
		})
	}
	if len(moves) == 0 {
		s.none("no moves")
		return nil
	}
	head := []string{"TIME", "KEY", "FROM", "TO"}
	if s.flags.wide {
		head = append(head, "REASON")
	}
	t := s.table(head...)
	for i := range moves {
		m := &moves[i]
		to := fmt.Sprintf("s%d", m.To)
		if m.ToHot {
			to += " (hot)"
		}
		row := []string{stamp(m.Time), s.text(m.Key), fmt.Sprintf("s%d", m.From), to}
		if s.flags.wide {
			row = append(row, m.Reason)
		}
		t.row(row...)
	}
	return t.flush()
}
