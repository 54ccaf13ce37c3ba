package round

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// renewInterval is the time between two renewals of a retained snapshot: two successive ones may be lost.
const renewInterval = int64(kv.DefaultScanRetention) / 4

// retain begins to renew a snapshot, with one user.
func (r *Rounds) retain(p *Round) {
	p.users++
	p.renewAt = r.env.Now + renewInterval
	r.retained = append(r.retained, p)
	r.env.WakeAt(p.renewAt)
}

// Retain adds a transaction that reads at a snapshot.
func (r *Rounds) Retain(p *Round) { p.users++ }

// Release removes a transaction that has read at a snapshot. After the last one the shards release the snapshot.
func (r *Rounds) Release(p *Round) {
	p.users--
	switch {
	case p.users > 0:
		return
	case p.lent:
		r.GiveBack = append(r.GiveBack, p.Name)
		return
	}
	r.retained = slices.DeleteFunc(r.retained, func(x *Round) bool { return x == p })
	r.release(p)
}

// Tick renews the snapshots in use.
func (r *Rounds) Tick() {
	for _, p := range r.retained {
		if r.env.Now >= p.renewAt {
			p.renewAt = r.env.Now + renewInterval
			r.renew(p)
		}
		r.env.WakeAt(p.renewAt)
	}
}

// renew sends renewals in the form of page requests without a page (past.Reads.OnScan).
func (r *Rounds) renew(p *Round) {
	for _, s := range p.shards() {
		r.env.SendTo(s).Body = &msg.ReadPage{
			Txn:         p.Name,
			Gateway:     r.env.Node,
			Incarnation: p.Incarnations[s],
			CSN:         p.At.At(s),
			RetainNanos: int64(kv.DefaultScanRetention),
		}
	}
}

// release sends releases to the shards, which would otherwise release the snapshot after kv.DefaultScanRetention.
func (r *Rounds) release(p *Round) {
	for _, s := range p.shards() {
		r.env.SendTo(s).Body = &msg.ReadPage{Txn: p.Name, Done: true}
	}
}

// shards lists the shards with an entry in the snapshot.
func (s *Snapshot) shards() (out []kv.ShardID) {
	for i := range s.Incarnations {
		if s.Has(kv.ShardID(i)) {
			out = append(out, kv.ShardID(i))
		}
	}
	return out
}
