package outcome

// What is forgotten of ids, and when: the durable low watermark (floor) on the times of ids, below
// which outcomes and fences are deleted.

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// idTime is the time by which ids are forgotten. It comes from times of day,
// which are set by people and machines, so that it is only believed when it has
// gone on as evenly as Now for a whole retention time: a clock that was wrong for
// less than that has no effect at all, and what is forgotten has been remembered
// for the retention time by Now as well.
type idClock struct {
	// now and wall are the last that were seen.
	now, wall int64
	// since is from when on wall has kept its distance to now, which was apart
	// then.
	steadySince, offset int64
	// base is what ids had to be near when the floor was last raised, less Now;
	// math.MinInt64 if there is no floor.
	idOffset int64
}

// noBase: there is no floor yet.
const noOffset = math.MinInt64

// observe takes a time. A step of the time of day by more than a tolerance makes
// all that went before count for nothing; what is less than that, or comes
// slowly, is a clock that is being corrected.
func (t *idClock) observe(now, wall, tolerance int64) {
	if d := wall - now - t.offset; t.now == 0 || d > tolerance || d < -tolerance {
		t.steadySince, t.offset = now, wall-now
	}
	t.now, t.wall = now, wall
}

// steady is for how long the time has gone on evenly.
func (t *idClock) steadyNanos() int64 { return t.now - t.steadySince }

// tolerance is by how much the time may be corrected within a retention time
// without being doubted. Somewhat arbitrary: far less than the retention time, and
// more than clocks drift in it.
func (o *Outcomes) tolerance() int64 { return int64(o.cfg.Retention) / 8 }

// notice is how long before the floor is raised gateways are told. Somewhat
// arbitrary: what is under way then has a fifth of the retention time to end.
func (o *Outcomes) leadTime() int64 { return int64(o.cfg.Retention) / 5 }

func (o *Outcomes) initLowWatermark(floor int64) {
	if o.env.Mutants.Has(mutant.FloorLowered) {
		floor = min(floor, o.env.Wall-int64(o.cfg.Retention))
	}
	o.lowWatermark, o.clock = floor, idClock{idOffset: noOffset}
	if floor > 0 {
		o.clock.idOffset = floor + int64(o.cfg.Retention) - o.env.Now
	}
	o.Observe(o.env.Wall)
}

// Observe takes the step's time for ids.
func (o *Outcomes) Observe(wall int64) {
	o.clock.observe(o.env.Now, wall, o.tolerance())
	o.env.IDTime = wall
}

// Floor is the low watermark: an id with a lower time is too old.
func (o *Outcomes) LowWatermark() int64 { return o.lowWatermark }

// Offset is a time, less Now, that new ids should not be far behind, since the
// shard is about to forget by it, or has; false if there is none.
func (o *Outcomes) Offset() (int64, bool) {
	offset := o.clock.idOffset
	if o.clock.steadyNanos() >= int64(o.cfg.Retention)-o.leadTime() {
		offset = max(offset, o.clock.wall-o.clock.now)
	}
	return offset, offset != noOffset
}

// RaiseFloor forgets outcomes that are older than the retention time, some
// tenths of it at a time. It reports whether it has.
func (o *Outcomes) RaiseLowWatermark() bool {
	floor := o.clock.wall - int64(o.cfg.Retention)
	if floor-o.lowWatermark < int64(o.cfg.Retention)/20 {
		return false
	}
	if o.clock.steadyNanos() < int64(o.cfg.Retention) && !o.env.Mutants.Has(mutant.ClockBelieved) {
		return false
	}
	o.lowWatermark, o.dirty = floor, true
	o.clock.idOffset = o.clock.wall - o.clock.now
	key := o.env.IDKey(kv.TxnID{Time: floor})
	for _, t := range []entry.Table{entry.TableOutcome, entry.TableFence} {
		o.env.Write(entry.Entry{Action: entry.DeleteBelow, Table: t, Key: key})
	}
	o.DropFences(floor)
	o.times.drop(floor)
	return true
}
