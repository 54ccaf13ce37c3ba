package outcome

// The durable low watermark on the times in ids, below which outcomes and fences are deleted. It
// must never rise above the time of an id that is still in use. Otherwise: the clock of the node
// jumps a day ahead; the watermark follows; all new transactions of nodes with the right time are
// rejected.

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// idClock is the clock by which outcomes are deleted: the time of day, which people and programs can
// set. It is trusted only if its distance to the monotonic clock has been constant for a whole
// retention time. So a time of day that is wrong for less than that has no effect, and an outcome is
// kept for the retention time by both clocks.
//
//	monotonic   ├──────────────────────────────────────────────▶
//	time of day ├───────────┤   step    ├─────────────────────────▶
//	                        steadySince ┘      retention time   ┘ trusted from here on
type idClock struct {
	// now and wall are the last observation.
	now, wall int64
	// steadySince is since when wall - now has been near offset.
	steadySince, offset int64
	// idOffset, plus now, is the time that new ids need to be near, since the low watermark was last
	// raised by it. noOffset: there is no low watermark.
	idOffset int64
}

// noOffset: the low watermark has never been raised.
const noOffset = math.MinInt64

// observe adds an observation. A step of the time of day by more than tolerance restarts the
// measurement. A smaller or gradual change is a correction, as by NTP, and does not.
func (t *idClock) observe(now, wall, tolerance int64) {
	if d := wall - now - t.offset; t.now == 0 || d > tolerance || d < -tolerance {
		t.steadySince, t.offset = now, wall-now
	}
	t.now, t.wall = now, wall
}

// steadyNanos is for how long the time of day has been steady.
func (t *idClock) steadyNanos() int64 { return t.now - t.steadySince }

// tolerance is by how much the time of day may be corrected at once and be trusted. Somewhat
// arbitrary: far less than the retention time, and more than a clock drifts in it.
func (o *Outcomes) tolerance() int64 { return int64(o.cfg.Retention) / 8 }

// leadTime is how long before the low watermark rises gateways adapt their ids (Offset). Somewhat
// arbitrary: transactions in flight have a fifth of the retention time to end.
func (o *Outcomes) leadTime() int64 { return int64(o.cfg.Retention) / 5 }

func (o *Outcomes) initLowWatermark(low int64) {
	low = o.recoveredWatermark(low)
	o.lowWatermark, o.clock = low, idClock{idOffset: noOffset}
	if low > 0 {
		o.clock.idOffset = low + int64(o.cfg.Retention) - o.env.Now
	}
	o.Observe(o.env.Wall)
	o.clock.steadySince -= o.env.SteadyNanos
}

// Observe sets the time of day of the step, from which the low watermark is derived.
func (o *Outcomes) Observe(wall int64) {
	o.clock.observe(o.env.Now, wall, o.tolerance())
	o.env.IDTime = wall
}

// LowWatermark returns the low watermark: an id with a lower time is too old.
func (o *Outcomes) LowWatermark() int64 { return o.lowWatermark }

// Offset returns a time, minus Now, that new ids must not be far behind, since the low watermark is
// about to rise by it, or has; false if there is none.
func (o *Outcomes) Offset() (int64, bool) {
	offset := o.clock.idOffset
	if o.clock.steadyNanos() >= int64(o.cfg.Retention)-o.leadTime() {
		offset = max(offset, o.clock.wall-o.clock.now)
	}
	return offset, offset != noOffset
}

// RaiseLowWatermark deletes outcomes and fences older than the retention time and reports whether it
// did. It works in steps of a twentieth of that time, so that the range deletion is rare.
func (o *Outcomes) RaiseLowWatermark() bool {
	low := o.clock.wall - int64(o.cfg.Retention)
	if low-o.lowWatermark < int64(o.cfg.Retention)/20 || !o.isClockTrusted() {
		return false
	}
	o.lowWatermark, o.dirty = low, true
	o.clock.idOffset = o.clock.wall - o.clock.now
	key := o.env.IDKey(kv.TxnID{Time: low})
	for _, t := range []entry.Table{entry.TableOutcome, entry.TableFence} {
		o.env.Write(entry.Entry{Action: entry.DeleteBelow, Table: t, Key: key})
	}
	o.dropBelow(low)
	o.times.drop(low)
	return true
}
