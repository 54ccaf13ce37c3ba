package simulated

import (
	"cmp"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// kinds sorts jobs by kind and, with bySize, by size: if all transactions have few operations, the median of a kind is
// enough.
type kinds struct{ bySize bool }

// sized is a job with what it is charged by: operations or results that it
// brought, and rows and parts of answers that it made.
type sized struct {
	kind  string
	units float64
}

// sizes are those of jobs of one batch. Which of them made which row is unknown: they share the rows in the ratio of
// what such jobs make alone (Line.Makes), or evenly if that is unknown.
func (k *kinds) sizes(into []sized, jobs []job, out *output, costs *Costs) []sized {
	sum := 0.0
	for i := range jobs {
		s := sized{kind: k.job(&jobs[i])}
		if k.bySize {
			s.units = float64(jobs[i].brings())
			sum += s.units * costs.Lines[s.kind].Makes
		}
		into = append(into, s)
	}
	made := float64(len(out.entries) + out.data())
	for i := range into {
		switch s := &into[i]; {
		case !k.bySize:
		case sum > 0:
			s.units += made * s.units * costs.Lines[s.kind].Makes / sum
		default:
			s.units += made / float64(len(jobs))
		}
	}
	return into
}

// brings is how many operations, or results, are in a job.
func (j *job) brings() int {
	switch {
	case j.env != nil:
		return weight(j.env)
	case j.call != nil:
		return len(j.call.ops)
	}
	return 0
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
	if p := msg.As[msg.CommitRequest](env); p != nil && p.Snapshot {
		return kindSnapshot
	}
	return env.Name()
}

// weight is how much a message brings: operations, or results. The parts of an
// answer are less work each; dataPerOp of them count as one operation, which is
// somewhat arbitrary.
func weight(env *msg.Envelope) int {
	switch b := env.Body.(type) {
	case *msg.CommitRequest:
		return len(b.Piece.Ops)
	case *msg.Prepare:
		return len(b.Piece.Ops)
	case *msg.Lock:
		return len(b.Ops)
	case *msg.Read:
		return len(b.Ops)
	case *msg.LockResponse:
		return len(b.Results) + parts(b.Results)
	case *msg.ReadResponse:
		return len(b.Results) + parts(b.Results)
	case *msg.CommitResponse:
		return len(b.Results) + parts(b.Results)
	}
	return 1
}

const dataPerOp = 8

func parts(rs []msg.Result) (n int) {
	for i := range rs {
		n += len(rs[i].Data)
	}
	return n / dataPerOp
}

// data is how much a shard answers.
func (o *output) data() (n int) {
	if o.shard == nil {
		return 0
	}
	for _, env := range o.send {
		switch b := env.Body.(type) {
		case *msg.LockResponse:
			n += parts(b.Results)
		case *msg.ReadResponse:
			n += parts(b.Results)
		case *msg.CommitResponse:
			n += parts(b.Results)
		}
	}
	return n
}

// Line is what calls of a kind cost: so much each, and so much for each
// operation, result and row. Makes is how many rows and parts of answers they make
// for each operation, or result, that they bring.
type Line struct {
	Each, PerUnit time.Duration
	Makes         float64
}

func (l Line) at(units float64) time.Duration {
	return l.Each + time.Duration(units*float64(l.PerUnit))
}

// sample is what a call of some size took.
type sample struct {
	brings, units float64
	took          time.Duration
}

// lineOf fits a line to the medians of samples of like size, each with the weight
// of their number.
func lineOf(all []sample) Line {
	var brought, units float64
	for _, s := range all {
		brought, units = brought+s.brings, units+s.units
	}
	makes := 0.0
	if brought > 0 {
		makes = (units - brought) / brought
	}
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
	return Line{time.Duration(each), time.Duration(per), makes}
}

func medianOf(all []sample) time.Duration {
	took := make([]time.Duration, len(all))
	for i := range all {
		took[i] = all[i].took
	}
	slices.Sort(took)
	return max(took[len(took)/2]-clockCost(), time.Nanosecond)
}
