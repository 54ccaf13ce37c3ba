package simulated

import (
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// kinds knows the names of messages, and of sizes of work; finding them out takes
// long.
type kinds struct {
	names map[reflect.Type]string
	sizes map[string][sizeClasses]string
	// bySize tells calls of different sizes apart. Where all transactions have a
	// few operations the median is enough.
	bySize bool
}

func newKinds(bySize bool) kinds {
	return kinds{map[reflect.Type]string{}, map[string][sizeClasses]string{}, bySize}
}

// sizeClasses are those of work: class i is up to 1<<i operations, rows and the
// like.
const sizeClasses = 16

// sized is what a job is charged as, one of several that were done at once.
func (k *kinds) sized(j *job, out *output, jobs int) string {
	name := k.job(j)
	if !k.bySize {
		return name
	}
	names, known := k.sizes[name]
	if !known {
		for i := range names {
			names[i] = fmt.Sprintf("%s/%d", name, 1<<i)
		}
		k.sizes[name] = names
	}
	n := 1
	switch {
	case j.env != nil:
		n = weight(j.env)
	case j.call != nil:
		n = len(j.call.ops)
	}
	if n += (out.rows + out.data()) / jobs; n <= 1 {
		return names[0]
	}
	return names[min(bits.Len(uint(n-1)), sizeClasses-1)]
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

// fill gives the sizes that were not measured costs: that of the next smaller one
// in proportion, or else of the next larger one.
func (c *Costs) fill() {
	known := map[string]*[sizeClasses]time.Duration{}
	for kind, d := range c.Calls {
		name, size, sized := strings.Cut(kind, "/")
		n, err := strconv.Atoi(size)
		if !sized || err != nil {
			continue
		}
		if known[name] == nil {
			known[name] = new([sizeClasses]time.Duration)
		}
		known[name][bits.Len(uint(n-1))] = d
	}
	for name, costs := range known {
		for i := sizeClasses - 2; i >= 0; i-- { // those below the least
			if costs[i] == 0 && costs[i+1] != 0 && !anyOf(costs[:i]) {
				costs[i] = costs[i+1]
			}
		}
		for i := 1; i < sizeClasses; i++ {
			if costs[i] == 0 {
				costs[i] = 2 * costs[i-1]
			}
			c.Calls[fmt.Sprintf("%s/%d", name, 1<<i)] = costs[i]
		}
		c.Calls[name+"/1"] = costs[0]
	}
}

func anyOf(ds []time.Duration) bool {
	for _, d := range ds {
		if d != 0 {
			return true
		}
	}
	return false
}
