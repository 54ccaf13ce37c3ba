package groups

import (
	"sync"
	"time"
)

// disk is what the log writer knows of its disk. Its methods are safe for concurrent use.
type disk struct {
	mu sync.Mutex
	// batches is how many are not on the disk, and since is since when none has ended; zero without one.
	batches int
	since   int64
	// reported: the operator knows that the disk is stuck.
	reported bool
}

func (d *disk) begin(now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches++
	if d.batches == 1 {
		d.since = now
	}
}

// end records that batches are on the disk. It returns for how long none had ended.
func (d *disk) end(now int64, batches int) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	took := time.Duration(now - d.since)
	d.batches, d.since, d.reported = d.batches-batches, 0, false
	if d.batches > 0 {
		d.since = now
	}
	return took
}

// busySince returns since when no batch has ended although there are some, zero if there is none. news reports, once,
// that this is longer than a time.
func (d *disk) busySince(now int64, limit time.Duration) (since int64, news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	news = d.since != 0 && now-d.since > int64(limit) && !d.reported
	d.reported = d.reported || news
	return d.since, news
}

// diskBusy returns what consensus.Disk.Set needs, and logs that the disk is stuck (R10.10).
func (s *Set) diskBusy(now int64) int64 {
	since, news := s.log.disk.busySince(now, s.opt.Hold)
	if news {
		s.opt.Log.Error("the disk ends no write of the replicas' log: until it does, other nodes lead the shards, and "+
			"this node's replicas do not count; check the disk", "for", time.Duration(now-since))
	}
	return since
}

// onDiskEnd ends what begin has begun.
func (w *logWriter) onDiskEnd(batches int) {
	if took := w.disk.end(w.opt.Clock.Now(), batches); took > w.opt.Hold {
		w.opt.Log.Warn("the disk has ended a write of the replicas' log again", "after", took)
	}
}
