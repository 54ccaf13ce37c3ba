package shard

// What is forgotten of ids, and when: the durable low watermark (floor) on id
// times, below which outcomes and fences are deleted.

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
type idTime struct {
	// now and wall are the last that were seen.
	now, wall int64
	// since is from when on wall has kept its distance to now, which was apart
	// then.
	since, apart int64
	// base is what ids had to be near when the floor was last raised, less Now;
	// math.MinInt64 if there is no floor.
	base int64
}

// noBase: there is no floor yet.
const noBase = math.MinInt64

// observe takes a time. A step of the time of day by more than a tolerance makes
// all that went before count for nothing; what is less than that, or comes
// slowly, is a clock that is being corrected.
func (t *idTime) observe(now, wall, tolerance int64) {
	if d := wall - now - t.apart; t.now == 0 || d > tolerance || d < -tolerance {
		t.since, t.apart = now, wall-now
	}
	t.now, t.wall = now, wall
}

// steady is for how long the time has gone on evenly.
func (t *idTime) steady() int64 { return t.now - t.since }

// tolerance is by how much the time may be corrected within a retention time
// without being doubted. Somewhat arbitrary: far less than the retention time, and
// more than clocks drift in it.
func (m *Machine) tolerance() int64 { return int64(m.cfg.Retention) / 8 }

// notice is how long before the floor is raised gateways are told. Somewhat
// arbitrary: what is under way then has a fifth of the retention time to end.
func (m *Machine) notice() int64 { return int64(m.cfg.Retention) / 5 }

func (m *Machine) initFloor(floor int64) {
	if m.cfg.Mutants.Has(mutant.FloorLowered) {
		floor = min(floor, m.wall-int64(m.cfg.Retention))
	}
	m.floor, m.ids = floor, idTime{base: noBase}
	if floor > 0 {
		m.ids.base = floor + int64(m.cfg.Retention) - m.now
	}
	m.ids.observe(m.now, m.wall, m.tolerance())
}

// observeIDs takes the step's time for ids.
func (m *Machine) observeIDs(in *Input) {
	wall := in.IDTime
	if wall == 0 {
		wall = in.Wall
	}
	m.ids.observe(m.now, wall, m.tolerance())
}

// IDOffset is a time, less Now, that new ids should not be far behind, since the
// shard is about to forget by it, or has; false if there is none.
func (m *Machine) IDOffset() (int64, bool) {
	offset := m.ids.base
	if m.ids.steady() >= int64(m.cfg.Retention)-m.notice() {
		offset = max(offset, m.ids.wall-m.ids.now)
	}
	return offset, offset != noBase
}

// raiseFloor forgets outcomes that are older than the retention time, some
// tenths of it at a time.
func (m *Machine) raiseFloor() {
	floor := m.ids.wall - int64(m.cfg.Retention)
	if floor-m.floor < int64(m.cfg.Retention)/20 {
		return
	}
	if m.ids.steady() < int64(m.cfg.Retention) && !m.cfg.Mutants.Has(mutant.ClockBelieved) {
		return
	}
	m.floorCount = m.stats.Committed + m.stats.Applied
	m.floor, m.dirty = floor, true
	m.ids.base = m.ids.wall - m.ids.now
	key := m.idKey(kv.TxnID{Time: floor})
	for _, t := range []entry.Table{entry.TableOutcome, entry.TableFence} {
		m.write(entry.Entry{Action: entry.DeleteBelow, Table: t, Key: key})
	}
	m.memory.DropFences(floor)
	m.committed.drop(floor)
}
