package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// spaceReporter is an engine that knows the free space of its disk.
type spaceReporter interface {
	FreeBytes() (uint64, error)
}

// spaceReclaimer is an engine that can free the space of deleted data early: after Sparing(true) it records
// deletions, and Reclaim rewrites those parts without the deleted data.
type spaceReclaimer interface {
	Sparing(bool)
	Reclaim(context.Context) error
}

// DiskSpace is the free disk space of the engine, compared with the reserve.
type DiskSpace struct {
	Level shard.Disk
	// Free and Reserve are in bytes; 0 if there is no reserve, in which case Free is not measured.
	Free, Reserve uint64
	// reason explains to users why Level is not DiskRoomy.
	reason string
}

// disk monitors the free space. The watcher alone calls check, after Start has called it once; space is
// safe for concurrent use.
type disk struct {
	space atomic.Pointer[DiskSpace] // nil before the first check
	// failing: the last check failed, and that was logged.
	failing bool
	// reclaiming: a goroutine frees space. reclaimed is when the last one started.
	reclaiming atomic.Bool
	reclaimed  time.Time
}

// isWatched reports whether the engine reports free space and a reserve is configured.
func (d *disk) isWatched(n *Node) bool {
	_, knows := n.opt.Engine.(spaceReporter)
	return knows && n.opt.DiskReserve > 0
}

// check compares the free space with the reserve, and frees the space of deleted data while there is too
// little.
func (d *disk) check(n *Node) {
	if !d.isWatched(n) {
		return
	}
	free, err := n.opt.Engine.(spaceReporter).FreeBytes()
	if err != nil {
		if !d.failing {
			n.opt.Log.Warn("free disk space unknown: the last known value is used", "error", err)
		}
		d.failing = true
		return
	}
	d.failing = false
	reserve := uint64(n.opt.DiskReserve)
	before := n.DiskSpace().Level
	after := nextLevel(before, free, reserve)
	now := &DiskSpace{Level: after, Free: free, Reserve: reserve}
	if after != shard.DiskEnough {
		now.reason = fmt.Sprintf("node %v has %s of free disk space; its reserve is %s (--disk-reserve-mb)", n.opt.ID,
			kv.FormatBytes(free), kv.FormatBytes(reserve))
	}
	d.space.Store(now)
	if after != before {
		d.logLevel(n, after, free, reserve)
	}
	if f, ok := n.opt.Engine.(spaceReclaimer); ok {
		if after != before {
			f.Sparing(after != shard.DiskEnough)
		}
		if after != shard.DiskEnough {
			d.reclaim(n, f)
		}
	}
}

// nextLevel returns the level for an amount of free space. Below the reserve only deletions are accepted,
// below half of it no writes. To leave a level, a quarter more must be free: without this hysteresis a disk
// around the threshold would accept and reject writes in turn.
func nextLevel(before shard.Disk, free, reserve uint64) shard.Disk {
	low, full := reserve, reserve/2
	if before >= shard.DiskLow {
		low += low / 4
	}
	if before == shard.DiskFull {
		full += full / 4
	}
	switch {
	case free < full:
		return shard.DiskFull
	case free < low:
		return shard.DiskLow
	}
	return shard.DiskEnough
}

func (d *disk) logLevel(n *Node, level shard.Disk, free, reserve uint64) {
	fields := []any{"free_bytes", free, "reserve_bytes", reserve}
	switch level {
	case shard.DiskLow:
		n.opt.Log.Error("disk space below the reserve: new writes other than deletions are rejected; "+
			"reads and prepared transactions continue", fields...)
	case shard.DiskFull:
		n.opt.Log.Error("disk space below half of the reserve: new writes and deletions are rejected; "+
			"reads and prepared transactions continue", fields...)
	default:
		n.opt.Log.Info("disk space recovered: new writes are accepted", fields...)
	}
}

// reclaimInterval is the minimum time between two runs: short for an operator, long for a compaction.
const reclaimInterval = 2 * time.Second

// reclaim frees the space of deleted data, one run at a time. On its own, an LSM store does so only after
// many more writes, which are rejected at this level.
func (d *disk) reclaim(n *Node, f spaceReclaimer) {
	if now := time.Now(); n.ctx.Err() != nil || now.Sub(d.reclaimed) < reclaimInterval ||
		!d.reclaiming.CompareAndSwap(false, true) {
		return
	} else {
		d.reclaimed = now
	}
	n.wg.Go(func() {
		defer d.reclaiming.Store(false)
		if err := f.Reclaim(n.ctx); err != nil && !errors.Is(err, context.Canceled) {
			n.opt.Log.Warn("disk space of deleted data not freed; the node will retry", "error", err)
		}
	})
}

// WriteRejection returns why new writes are rejected for lack of disk space, "" if they are accepted.
func (n *Node) WriteRejection() string {
	r := n.DiskSpace()
	if r.Level == shard.DiskEnough {
		return ""
	}
	what := "all writes except deletions are rejected"
	if r.Level == shard.DiskFull {
		what = "all writes are rejected"
	}
	return what + ": " + r.reason
}

// DiskSpace returns the disk space at the last check, at most 250 ms ago.
func (n *Node) DiskSpace() DiskSpace {
	if r := n.disk.space.Load(); r != nil {
		return *r
	}
	return DiskSpace{}
}
