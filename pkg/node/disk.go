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

// spacious is an engine that knows how much room the disk below it has.
type spacious interface {
	FreeBytes() (uint64, error)
}

// frugal is an engine that can give room back sooner than it would by itself: from
// Sparing(true) on it notes what is deleted, and Reclaim has those parts rewritten
// without it.
type frugal interface {
	Sparing(bool)
	Reclaim(context.Context) error
}

// Room is how much room there is for new writes on the disk below the engine.
type Room struct {
	Level shard.Disk
	// Free and Reserve are in bytes; 0 if there is no reserve, and Free is not
	// looked at.
	Free, Reserve uint64
	// text says for people why Level is not DiskRoomy.
	text string
}

// disk is how much room there is for new writes. Only the watcher calls look,
// after Start has; room may be read by any goroutine.
type disk struct {
	room atomic.Pointer[Room] // nil before the first look
	// blind: the last look failed, and that was told.
	blind bool
	// reclaiming: a goroutine gives room back; reclaimed is when the last one began.
	reclaiming atomic.Bool
	reclaimed  time.Time
}

// watched reports whether there is something to look at.
func (d *disk) watched(n *Node) bool {
	_, knows := n.opt.Engine.(spacious)
	return knows && n.opt.DiskReserve > 0
}

// look compares what is free with the reserve, and has deletions take effect while
// that is short.
func (d *disk) look(n *Node) {
	if !d.watched(n) {
		return
	}
	free, err := n.opt.Engine.(spacious).FreeBytes()
	if err != nil {
		if !d.blind {
			n.opt.Log.Warn("free disk space unknown: the last known value is used", "error", err)
		}
		d.blind = true
		return
	}
	d.blind = false
	reserve := uint64(n.opt.DiskReserve)
	before := n.Room().Level
	after := levelOf(before, free, reserve)
	now := &Room{Level: after, Free: free, Reserve: reserve}
	if after != shard.DiskRoomy {
		now.text = fmt.Sprintf("node %v has %s of free disk space; its reserve is %s (--disk-reserve-mb)", n.opt.ID, kv.ShownBytes(free), kv.ShownBytes(reserve))
	}
	d.room.Store(now)
	if after != before {
		d.tell(n, after, free, reserve)
	}
	if f, ok := n.opt.Engine.(frugal); ok {
		if after != before {
			f.Sparing(after != shard.DiskRoomy)
		}
		if after != shard.DiskRoomy {
			d.reclaim(n, f)
		}
	}
}

// levelOf is how much room there is now. Below the reserve only deletions are let
// in, and below half of it nothing is. A mark that was crossed counts until a quarter
// more is free, lest a disk that is just about full has clients try and fail in turn.
func levelOf(before shard.Disk, free, reserve uint64) shard.Disk {
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
	return shard.DiskRoomy
}

func (d *disk) tell(n *Node, level shard.Disk, free, reserve uint64) {
	about := []any{"free_bytes", free, "reserve_bytes", reserve}
	switch level {
	case shard.DiskLow:
		n.opt.Log.Error("disk space below the reserve: new writes other than deletions are rejected; reads and prepared transactions continue", about...)
	case shard.DiskFull:
		n.opt.Log.Error("disk space below half of the reserve: new writes and deletions are rejected; reads and prepared transactions continue", about...)
	default:
		n.opt.Log.Info("disk space recovered: new writes are accepted", about...)
	}
}

// reclaimEvery is how often what was deleted is looked for. Somewhat arbitrary: often
// beside the time that people take, and seldom beside that of a compaction.
const reclaimEvery = 2 * time.Second

// reclaim has what was deleted give its room back, one run at a time. By itself the
// store does so only after much more has been written, which it will not be.
func (d *disk) reclaim(n *Node, f frugal) {
	if now := time.Now(); n.life.Err() != nil || now.Sub(d.reclaimed) < reclaimEvery || !d.reclaiming.CompareAndSwap(false, true) {
		return
	} else {
		d.reclaimed = now
	}
	n.wg.Go(func() {
		defer d.reclaiming.Store(false)
		if err := f.Reclaim(n.life); err != nil && !errors.Is(err, context.Canceled) {
			n.opt.Log.Warn("disk space of deleted data not freed; the node will retry", "error", err)
		}
	})
}

// RefusesWrites says why new writes are refused for want of room; "" if they are not.
func (n *Node) RefusesWrites() string {
	r := n.Room()
	if r.Level == shard.DiskRoomy {
		return ""
	}
	what := "all writes except deletions are rejected"
	if r.Level == shard.DiskFull {
		what = "all writes are rejected"
	}
	return what + ": " + r.text
}

// Room tells how much room there is for new writes, as it was at the last look, a
// quarter of a second ago.
func (n *Node) Room() Room {
	if r := n.disk.room.Load(); r != nil {
		return *r
	}
	return Room{}
}
