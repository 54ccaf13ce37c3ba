package simulated

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// kinds knows the names of messages; finding them out takes long.
type kinds struct {
	names map[reflect.Type]string
	// bySize: what calls cost depends on their size. Where all transactions have a
	// few operations the median is enough.
	bySize bool
}

// size is how much work a job is, one of several that were done at once, which
// share what is logged and answered: operations, results and rows.
func (k *kinds) size(j *job, out *output, jobs int) float64 {
	if !k.bySize {
		return 0
	}
	n := 0
	switch {
	case j.env != nil:
		n = weight(j.env)
	case j.call != nil:
		n = len(j.call.ops)
	}
	return float64(n) + float64(out.rows+out.data())/float64(jobs)
}

func (k *kinds) job(j *job) string {
	switch {
	case j.env != nil:
		return k.of(j.env)
	case j.call != nil:
		return j.call.kindOf()
	case j.shard != nil:
		return kindShardTick
	}
	return kindGatewayTick
}

func (k *kinds) of(env *msg.Envelope) string {
	if p := env.Park; p != nil && p.Snapshot {
		return kindSnapshot
	}
	t := reflect.TypeOf(env.Body())
	name, ok := k.names[t]
	if !ok {
		name = env.Name()
		k.names[t] = name
	}
	return name
}

// weight is how much a message brings: operations, or results. The parts of an
// answer are less work each; dataPerOp of them count as one operation, which is
// somewhat arbitrary.
func weight(env *msg.Envelope) int {
	switch {
	case env.Park != nil:
		return len(env.Park.Piece.Ops)
	case env.Prepare != nil:
		return len(env.Prepare.Piece.Ops)
	case env.Lock != nil:
		return len(env.Lock.Ops)
	case env.Read != nil:
		return len(env.Read.Ops)
	case env.LockReply != nil:
		return len(env.LockReply.Results) + parts(env.LockReply.Results)
	case env.ReadReply != nil:
		return len(env.ReadReply.Results) + parts(env.ReadReply.Results)
	case env.Answer != nil:
		return len(env.Answer.Results) + parts(env.Answer.Results)
	}
	return 1
}

const dataPerOp = 8

func parts(rs []msg.Result) (n int) {
	for i := range rs {
		n += len(rs[i].Answer)
	}
	return n / dataPerOp
}

// data is how much a shard answers.
func (o *output) data() (n int) {
	if o.shard == nil {
		return 0
	}
	for _, env := range o.send {
		switch {
		case env.LockReply != nil:
			n += parts(env.LockReply.Results)
		case env.ReadReply != nil:
			n += parts(env.ReadReply.Results)
		case env.Answer != nil:
			n += parts(env.Answer.Results)
		}
	}
	return n
}

// Line is what calls of a kind cost: so much each, and so much for each
// operation, result and row.
type Line struct{ Each, PerUnit time.Duration }

func (l Line) at(units float64) time.Duration {
	return l.Each + time.Duration(units*float64(l.PerUnit))
}

// sample is what a call of some size took.
type sample struct {
	units float64
	took  time.Duration
}

// lineOf fits a line to the medians of samples of like size, each with the weight
// of their number.
func lineOf(all []sample) Line {
	slices.SortFunc(all, func(x, y sample) int { return cmp.Compare(x.units, y.units) })
	var n, x, y, xx, xy float64
	for len(all) > 0 {
		limit := max(2*all[0].units, 1)
		end := slices.IndexFunc(all, func(s sample) bool { return s.units > limit })
		if s := all[0]; s.units < limit/2 || s.units <= 4 { // the small ones by themselves
			end = slices.IndexFunc(all, func(o sample) bool { return o.units > s.units })
		}
		if end < 0 {
			end = len(all)
		}
		if w := float64(end); end >= minSamples/4 || n == 0 && end == len(all) {
			units := all[end/2].units
			took := float64(medianOf(all[:end]))
			n, x, y, xx, xy = n+w, x+w*units, y+w*took, xx+w*units*units, xy+w*units*took
		}
		all = all[end:]
	}
	per := 0.0
	if d := n*xx - x*x; d > 1e-6*n*n {
		per = max((n*xy-x*y)/d, 0)
	}
	each := (y - per*x) / n
	if each < 0 { // then it goes through nothing
		each, per = 0, y/x
	}
	return Line{time.Duration(each), time.Duration(per)}
}

func medianOf(all []sample) time.Duration {
	took := make([]time.Duration, len(all))
	for i := range all {
		took[i] = all[i].took
	}
	slices.Sort(took)
	return max(took[len(took)/2]-clockCost(), time.Nanosecond)
}
