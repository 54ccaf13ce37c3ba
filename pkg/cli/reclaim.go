package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

func reclaimCommand() *cobra.Command {
	var f flags
	cmd := command("reclaim", "Free the disk space of deleted data on a node", `
Free the disk space of deleted and overwritten data in the store of a node, which "linchpin status"
estimates. The store compacts the key ranges with deletions one after the other, while reads and writes go on
with less of the disk and the processors. If deletions are all over the store, that takes as long as writing
it anew.

Data that can still be read is kept: what was deleted or overwritten within the history (--history of "linchpin
start", 10m by default), and what a snapshot needs.

An interrupt of this command stops the node after the current range. Needs the role admin. A node runs one
reclaim at a time.`,
		`  linchpin reclaim --addr 10.0.0.2:7070`, 0, 0)
	f.addTo(cmd, false)
	run := connected(&f, func(ctx context.Context, s *session, _ []string) error { return s.reclaim(ctx) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(f.addrs) != 1 {
			return usagef(cmd, "--addr has %d addresses, want the address of the node to reclaim", len(f.addrs))
		}
		return run(cmd, args)
	}
	return withDefault(cmd, "timeout", "0s")
}

// reclaimAnswer is the result of a reclaim as JSON. FreedBytes is 0 if the store grew.
type reclaimAnswer struct {
	FreedBytes  int64  `json:"freed_bytes"`
	BeforeBytes int64  `json:"before_bytes"`
	AfterBytes  int64  `json:"after_bytes"`
	Ranges      int    `json:"ranges"`
	ElapsedMs   int64  `json:"elapsed_ms"`
	Note        string `json:"note,omitempty"`
}

func (s *session) reclaim(ctx context.Context) error {
	last := time.Now()
	p, err := s.admin().Reclaim(ctx, func(p admin.ReclaimProgress) {
		if time.Since(last) >= lineEvery {
			last = time.Now()
			s.cmd.PrintErrf("compacted %d of %d key ranges\n", p.Done, p.Total)
		}
	})
	if err != nil {
		return err
	}
	s.changed(client.TxID{})
	a := reclaimAnswer{max(p.Before-p.After, 0), p.Before, p.After, p.Total, p.Elapsed.Milliseconds(), p.Note}
	if s.json {
		return s.object(a)
	}
	text := fmt.Sprintf("the store shrank by %s (%d bytes), from %s to %s, in %.1f s\n",
		shownBytes(a.FreedBytes), a.FreedBytes, shownBytes(p.Before), shownBytes(p.After), p.Elapsed.Seconds())
	if a.Note != "" {
		text += a.Note + "\n"
	}
	return s.printf("%s", text)
}
