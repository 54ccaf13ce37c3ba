package simulated

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Beside is a load beside the workload: clients that contend for one key. Each of their transactions writes that key
// and one of some partners on the hot shard, which is the last agent; so the key is locked for message delays, which
// limit its throughput, not a core. A refused client retries after the time that the refusal names.
type Beside struct {
	// Clients is how many there are on each node, in a closed loop.
	Clients int
	// Filler is instead of clients: a load that costs the cores the same.
	Filler []Filler
}

// Filler is work that a core has to do, in jobs that come at random, by lane.
type Filler [lanes]struct {
	// Every is the mean time between two jobs, 0 for none; each takes Each.
	Every, Each time.Duration
}

// The lanes of a core.
const (
	laneEnds = iota
	laneBegins
	lanes
)

// partners is how many keys of the hot shard are written with the one that all
// want. Somewhat arbitrary: enough that these are not hot.
const partners = 64

func partnerKey(i int) []byte { return fmt.Appendf(nil, "beside/%02d", i%partners) }

// wantedKey is a key that all want: it does not live on the hot shard's node, so
// that the decision is a message away.
func wantedKey(r *hotshard.Router) []byte {
	for i := 0; ; i++ {
		if k := fmt.Appendf(nil, "wanted/%d", i); r.Node(r.Shard(k)) != r.Node(r.HotShard()) {
			return k
		}
	}
}

// besideKeys are those that live on the hot shard.
func (b *Beside) keys() (keys [][]byte) {
	if b == nil {
		return nil
	}
	for i := range partners {
		keys = append(keys, partnerKey(i))
	}
	return keys
}

// BesideResult is what the clients of the contended key did in the measured part.
type BesideResult struct {
	Committed, Refused, Failed int
	// Share is which part of its time each node's core has worked for them.
	Share []float64
	// Filler is that, by lane, as a load that costs the same.
	Filler []Filler
	// Longest is the greatest number of them in flight at one node.
	Longest int
	// ColdRefused counts what was refused of the workload, Admission all that
	// was, over the whole run.
	ColdRefused int
	Admission   admission.Counters
}

// besideTally counts them.
type besideTally struct {
	BesideResult
	work [][lanes]int64
	jobs [][lanes]int
	live []int
}

// besideBit marks the ids of their transactions.
const besideBit = 1 << 63

// besideClient runs one transaction after the other.
type besideClient struct {
	n      *node
	number int
	ops    []msg.Op
}

// startBeside starts what runs beside the workload.
func (c *cluster) startBeside() {
	b := c.opt.Beside
	if b == nil {
		return
	}
	t := &c.beside
	t.work, t.jobs, t.live = make([][lanes]int64, len(c.nodes)), make([][lanes]int, len(c.nodes)),
		make([]int, len(c.nodes))
	wanted := wantedKey(c.router)
	for i := range b.Clients * len(c.nodes) {
		cl := &besideClient{n: c.nodes[i%len(c.nodes)], number: i, ops: []msg.Op{
			{Kind: msg.OpPut, Key: wanted, Value: make([]byte, 16)}, {Kind: msg.OpPut, Key: partnerKey(i / len(c.nodes)),
				Value: make([]byte, 16)}}}
		// They come within 20 ms.
		c.At(c.Now()+int64(i)*int64(20*time.Millisecond)/int64(b.Clients*len(c.nodes)), cl.begin)
	}
	rng := rand.New(rand.NewPCG(c.opt.Seed, 0xf111))
	for i, f := range b.Filler {
		for lane := range f {
			if f[lane].Every > 0 {
				c.fill(c.nodes[i], lane, &f[lane], rng)
			}
		}
	}
}

// fill has a core work on a job now and then.
func (c *cluster) fill(n *node, lane int, f *struct{ Every, Each time.Duration }, rng *rand.Rand) {
	gap := -math.Log(1-rng.Float64()) * float64(f.Every)
	c.At(c.Now()+int64(gap), func() {
		n.queue(job{filler: f.Each, lane: lane})
		c.fill(n, lane, f, rng)
	})
}

func (cl *besideClient) begin() {
	c := cl.n.c
	if c.ending {
		return
	}
	id := c.newID()
	id.Rand |= besideBit
	i := int(cl.n.id) - 1
	c.beside.live[i]++
	c.beside.Longest = max(c.beside.Longest, c.beside.live[i])
	cl.n.queue(job{call: &call{n: cl.n, id: id, ops: slices.Clone(cl.ops), writes: true, then: func(e ended) {
		c.beside.live[i]--
		cl.ended(&e)
	}}})
}

// ended counts a transaction and begins the next, or the same again when it may.
func (cl *besideClient) ended(e *ended) {
	c := cl.n.c
	t, again := &c.beside, int64(0)
	switch f := e.Failure; {
	case f == nil:
		t.count(c, &t.Committed)
	case kv.Kind(f.Kind) == kv.KindResourceExhausted:
		t.count(c, &t.Refused)
		again = f.RetryAfterNanos
	default:
		t.count(c, &t.Failed)
		again = int64(time.Millisecond)
	}
	c.At(c.Now()+again, cl.begin)
}

func (t *besideTally) count(c *cluster, n *int) {
	if c.tally.measuring {
		*n++
	}
}

// charge notes what a job has cost, if it was for one who wants the key.
func (t *besideTally) charge(n *node, j *job, cost int64) {
	if !n.c.tally.measuring || t.work == nil || !j.beside() {
		return
	}
	lane := laneBegins
	if j.env != nil && j.env.Ends() {
		lane = laneEnds
	}
	t.work[n.id-1][lane] += cost
	t.jobs[n.id-1][lane]++
}

// beside reports whether a job is for one of the transactions beside the
// workload. Of timers it is not known: they count for the workload.
func (j *job) beside() bool {
	if j.call != nil {
		return j.call.id.Rand&besideBit != 0
	}
	return j.env != nil && j.env.About().Txn.Rand&besideBit != 0
}

// end gives the result of a measured part that took so long.
func (t *besideTally) end(c *cluster, took time.Duration) BesideResult {
	r := t.BesideResult
	for i := range t.work {
		var f Filler
		share := 0.0
		for lane := range f {
			share += float64(t.work[i][lane]) / float64(took)
			if n := t.jobs[i][lane]; n > 0 {
				f[lane].Every, f[lane].Each = took/time.Duration(n), time.Duration(t.work[i][lane])/time.Duration(n)
			}
		}
		r.Share, r.Filler = append(r.Share, share), append(r.Filler, f)
	}
	for _, n := range c.nodes {
		r.Admission.Add(n.gw.Stats().Admission)
	}
	return r
}

// refusedCold counts a transaction of the workload that was refused.
func (t *besideTally) refusedCold(c *cluster, d *txn.Done) {
	if f := d.Failure; c.tally.measuring && f != nil && kv.Kind(f.Kind) == kv.KindResourceExhausted {
		t.ColdRefused++
	}
}
