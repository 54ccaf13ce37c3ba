package store

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// collected writes by which CSNs the versions of a shard with several replicas are collected (R8.2). A replica serves
// a read at a CSN only if its row says that no version which is visible there was deleted. The row is in the same
// batch as the deletions, and never says less than before: what was once not retained may be deleted.
//
//	leader 1    safe point 9, retains 6 for a snapshot     row {9: 6}, deletes what only 7 and 8 see
//	            the snapshot is dropped                    nothing: nothing is deleted yet
//	            safe point 12                              row {12}, deletes what only 6, 9, 10 and 11 see
//	leader 2    has a list with safe point 10              row {12}: what it deletes is below
//
// Reads in flight retain versions as well. They are this leader's own, so the row does not name them.
type collected struct {
	env *step.Env
	// row is the last row that this leader or an earlier one has written, nil with one replica.
	row *entry.Retention
}

// newCollected returns the part of a machine that begins at a CSN. A shard with one replica collects without a row. So
// the first leader of a group writes one, and a shard that has one replica again deletes it.
func newCollected(e *step.Env, cfg Config, csn kv.CSN) collected {
	c := collected{env: e, row: cfg.Collected}
	switch {
	case cfg.Replicated && c.row == nil:
		c.put(&entry.Retention{SafePoint: csn})
	case !cfg.Replicated && c.row != nil:
		c.row = nil
		e.Delete(entry.TableRetention, nil)
	}
	return c
}

func (c *collected) put(row *entry.Retention) {
	c.row = row
	c.env.Put(entry.TableRetention, nil, row)
}

// update writes the row before entries that collect by a safe point and retained CSNs, unless it is up to date.
func (c *collected) update(safePoint kv.CSN, retained []kv.CSN) {
	next := &entry.Retention{SafePoint: max(safePoint, c.row.SafePoint)}
	for _, csn := range retained {
		if csn < next.SafePoint && c.row.Has(csn) {
			next.Retained = append(next.Retained, csn)
		}
	}
	if next.SafePoint != c.row.SafePoint || !slices.Equal(next.Retained, c.row.Retained) {
		c.put(next)
	}
}
