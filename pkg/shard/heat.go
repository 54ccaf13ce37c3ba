package shard

// What a shard notices of its hot keys, and what the hot shard makes of that
// (package hotshard).

import (
	"bytes"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// HeatConfig says how shards tell which of their keys are hot.
type HeatConfig struct {
	// Every is how often, while there are any; 0 for never.
	Every time.Duration
	// Hot is the shard that puts it together, and tells the gateways of all
	// nodes, 1 to Nodes.
	Hot   kv.ShardID
	Nodes int
}

// heating is a shard's part in what is known of heat. The hot shard has the
// survey.
type heating struct {
	meter *hotshard.Meter
	// next is when to tell, never if nothing is hot; told: some key was told of
	// the last time.
	next   int64
	told   bool
	survey *hotshard.Survey
	// parked is what it takes from parking to all votes.
	parked typical
}

func (m *Machine) initHeat() {
	m.heat = heating{meter: hotshard.NewMeter(hotshard.MeterOptions{}), next: never}
	if m.cfg.Heat.Every > 0 && m.cfg.ID == m.cfg.Heat.Hot {
		m.heat.survey = hotshard.NewSurvey(m.cfg.Heat.Every)
	}
}

// warm has the shard tell of heat some time from now.
func (m *Machine) warm() {
	if m.heat.next == never && m.cfg.Heat.Every > 0 {
		m.heat.next = m.now + int64(m.cfg.Heat.Every)
	}
}

// waited: somebody has waited because of a key.
func (m *Machine) waited(key []byte, cause hotshard.Cause, by kv.TxnRef, nanos int64) {
	m.heat.meter.Waited(m.now, key, cause, nanos, by)
	m.warm()
}

// ran: a piece has written keys. On a participant they are locked from its vote
// to the decision; where the last agent has written them, in no time, they would
// have been, so that they are as hot when they are decided where they live as
// when they are not.
func (m *Machine) ran(t *task, effects []entry.Effect) {
	hold := m.decisions.nanos
	if hold == 0 {
		hold = m.heat.parked.nanos
	}
	waited, on, _ := t.req.Waited()
	for i := range effects {
		// Adds do not wait for each other.
		if e := &effects[i]; e.Kind != entry.EffectAdd {
			m.heat.meter.Ran(m.now, e.Key, hold, waited > 0 && bytes.Equal(on, e.Key))
		}
	}
	if m.heat.meter.Len() > 0 {
		m.warm()
	}
}

// tickHeat tells of heat, when it is time to.
func (m *Machine) tickHeat() {
	h := &m.heat
	if m.now < h.next {
		return
	}
	top := h.meter.Top(m.now, hotshard.DigestKeys, hotshard.LeastHeat)
	if len(top) > 0 || h.told {
		d := &msg.HeatDigest{Shard: m.cfg.ID}
		for i := range top {
			d.Keys = append(d.Keys, msg.KeyHeat{Key: top[i].Key, Shard: m.cfg.ID, Heat: top[i].Clashes})
		}
		m.tellHeat(d)
	}
	h.told = len(top) > 0
	if h.survey != nil {
		m.tellMap()
	}
	h.next = never
	h.meter.Fade(m.now)
	if h.meter.Len() > 0 || h.told || h.survey != nil && h.survey.Active() {
		m.warm()
	}
}

func (m *Machine) tellHeat(d *msg.HeatDigest) {
	if m.heat.survey != nil {
		m.heat.survey.Take(m.now, d)
		return
	}
	env := msg.ToShard(m.cfg.Heat.Hot)
	env.HeatDigest = d
	m.urgent(env)
}

func (m *Machine) onHeatDigest(d *msg.HeatDigest) {
	if m.heat.survey != nil {
		m.heat.survey.Take(m.now, d)
		m.warm()
	}
}

// tellMap tells all gateways which keys are hot.
func (m *Machine) tellMap() {
	hm := m.heat.survey.Map(m.now)
	if hm == nil {
		return
	}
	for n := range m.cfg.Heat.Nodes {
		env := msg.ToGateway(kv.NodeID(n + 1))
		env.HeatMap = hm
		m.urgent(env)
	}
}
