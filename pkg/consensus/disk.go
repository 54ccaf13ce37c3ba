package consensus

import "time"

// The disk of a node has the logs of all its groups. It may be slow, or end no write at all:
//
//	slow    the leader's writes are 200 ms late for 1 s: leadership goes to a voter that has written all that is late
//	        here (R10.9). Meanwhile the others commit
//	low     it is nearly full, and the machine would reject new writes: leadership goes to any voter
//	stuck   no write of the node has ended for D: its replicas send nothing. Voters elect other leaders, and leaders do
//	        not count on them (R10.10)
//
// Two slow disks do not pass leadership to and fro: a disk that is as slow has not written what is late either, and a
// leader that was given leadership keeps it on a slow disk for 10 s.

const (
	// lateAfter is the time after which a write is late.
	lateAfter = 200 * time.Millisecond
	// lateFor is for how long writes of a leader are late before it transfers leadership.
	lateFor = time.Second
	// transferPause is the least time between two transfers of a group because of slow disks.
	transferPause = 10 * time.Second
)

// Disk is what a replica knows of the disk of its node.
type Disk struct {
	// writes are those that Ready has returned and that are not reported yet, oldest first.
	writes []writing
	// late is for how long writes have been late since one was not. seen is when that was last counted.
	late, seen int64
	// busySince is since when the node's disk has ended no write although it has some; zero if it has none.
	busySince int64
	// low: the node's disk is nearly full.
	low bool
	// pausedUntil is when the replica may transfer leadership again because of its disk.
	pausedUntil int64
}

// writing is a write: the time at which it began, and the last position of its entries, zero without any.
type writing struct {
	since int64
	last  Position
}

// Set reports since when the disk has ended no write although it has some, zero if it has none, and whether it is
// nearly full, so that a machine would reject new writes.
func (d *Disk) Set(busySince int64, low bool) { d.busySince, d.low = busySince, low }

func (d *Disk) begin(now int64, last Position) { d.writes = append(d.writes, writing{now, last}) }

// end is called when the oldest write has ended.
func (d *Disk) end(now int64) {
	if now-d.writes[0].since < int64(lateAfter) {
		d.late = 0
	}
	d.writes = d.writes[1:]
}

// observe counts the time for which the oldest write is late. While the process is stopped, no time is counted: then it
// may not be the disk that is late.
func (d *Disk) observe(now int64) {
	if len(d.writes) > 0 && now-d.writes[0].since >= int64(lateAfter) {
		d.late += min(now-d.seen, int64(lateAfter))
	}
	d.seen = now
}

// lateUpTo returns the last position that is late.
func (d *Disk) lateUpTo(now int64) (last Position) {
	for _, w := range d.writes {
		if now-w.since >= int64(lateAfter) {
			last = max(last, w.last)
		}
	}
	return last
}

// isStuck reports whether no write has ended for a time.
func (d *Disk) isStuck(now int64, limit time.Duration) bool {
	return d.busySince != 0 && now-d.busySince > int64(limit)
}

// declines reports whether leadership should not come to this disk, or come back to it.
func (d *Disk) declines() bool { return d.low || d.late >= int64(lateFor) }

// pause is called when leadership has been transferred.
func (d *Disk) pause(now int64) { d.pausedUntil = now + int64(transferPause) }
