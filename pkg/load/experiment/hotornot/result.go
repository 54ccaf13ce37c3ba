package hotornot

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Format names the layout of a result in JSON.
const Format = "zetaload.hot-or-not/1"

// Result is what an experiment found out.
type Result struct {
	Format string `json:"format"`
	// Command repeats it; set by the command that ran it.
	Command string        `json:"command,omitempty"`
	Started time.Time     `json:"started"`
	Host    workload.Host `json:"host"`
	Setup   Setup         `json:"setup"`
	// Interrupted: it was ended before its time, and points lack rounds.
	Interrupted bool `json:"interrupted"`
	// Points are ordered by skew, then as the modes were asked for.
	Points []*Point `json:"points"`
}

// Setup says what was measured on.
type Setup struct {
	Nodes     int     `json:"nodes"`
	Shards    int     `json:"shards"`
	Fsync     bool    `json:"fsync"`
	DelayMs   float64 `json:"delay_ms"`
	Keys      uint64  `json:"keys"`
	Loaded    uint64  `json:"loaded"`
	Clients   int     `json:"clients"`
	WarmS     float64 `json:"warm_s"`
	SettleS   float64 `json:"settle_s"`
	DurationS float64 `json:"duration_s"`
	Rounds    int     `json:"rounds"`
	Seed      uint64  `json:"seed"`
}

// Point is a mode at a skew.
type Point struct {
	Mode Mode    `json:"mode"`
	Skew float64 `json:"skew"`
	// Median has the median over the rounds of each number by itself.
	Median Measured   `json:"median"`
	Rounds []Measured `json:"rounds"`
}

// Measured is what one measurement gave. Latencies are of committed
// transactions, in milliseconds; 0 if there were none.
type Measured struct {
	PerSecond float64 `json:"throughput_per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	ReadP50   float64 `json:"read_p50_ms"`
	ReadP99   float64 `json:"read_p99_ms"`
	WriteP50  float64 `json:"write_p50_ms"`
	WriteP99  float64 `json:"write_p99_ms"`
	// Retries are attempts beyond the first of 100 committed transactions.
	Retries      float64 `json:"retries_percent"`
	ReadRetries  float64 `json:"read_retries_percent"`
	WriteRetries float64 `json:"write_retries_percent"`
	// Failed counts transactions that did not commit, or of which it is not
	// known.
	Failed float64 `json:"failed"`
	// Moved is how many keys were moved to the hot shard by the end.
	Moved float64 `json:"moved_keys"`
}

// columns name the numbers, in the order of CSV.
var columns = []struct {
	name string
	of   func(m *Measured) *float64
}{
	{"throughput_per_s", func(m *Measured) *float64 { return &m.PerSecond }},
	{"p50_ms", func(m *Measured) *float64 { return &m.P50 }},
	{"p99_ms", func(m *Measured) *float64 { return &m.P99 }},
	{"read_p50_ms", func(m *Measured) *float64 { return &m.ReadP50 }},
	{"read_p99_ms", func(m *Measured) *float64 { return &m.ReadP99 }},
	{"write_p50_ms", func(m *Measured) *float64 { return &m.WriteP50 }},
	{"write_p99_ms", func(m *Measured) *float64 { return &m.WriteP99 }},
	{"retries_percent", func(m *Measured) *float64 { return &m.Retries }},
	{"read_retries_percent", func(m *Measured) *float64 { return &m.ReadRetries }},
	{"write_retries_percent", func(m *Measured) *float64 { return &m.WriteRetries }},
	{"failed", func(m *Measured) *float64 { return &m.Failed }},
	{"moved_keys", func(m *Measured) *float64 { return &m.Moved }},
}

func newResult(o *Options) *Result {
	r := &Result{Format: Format, Started: time.Now().UTC().Truncate(time.Millisecond), Host: workload.ThisHost(),
		Setup: Setup{Nodes: o.Nodes, Shards: o.Shards, Fsync: o.Fsync, DelayMs: o.Delay.Seconds() * 1000, Keys: o.Keys,
			Loaded: o.Load, Clients: o.Clients,
			WarmS: o.Warm.Seconds(), SettleS: o.Settle.Seconds(), DurationS: o.Duration.Seconds(), Rounds: o.Rounds,
			Seed: o.Seed}}
	for _, s := range o.Skews {
		for _, m := range o.Modes {
			r.Points = append(r.Points, &Point{Mode: m, Skew: s})
		}
	}
	return r
}

// at is the point of a skew and a mode by their numbers.
func (r *Result) at(skew, mode int) *Point { return r.Points[skew*len(r.Modes())+mode] }

// Modes lists the modes in order.
func (r *Result) Modes() (all []Mode) {
	for _, p := range r.Points {
		if p.Skew != r.Points[0].Skew {
			break
		}
		all = append(all, p.Mode)
	}
	return all
}

// Measured lists the points that were measured at all.
func (r *Result) Measured() (all []*Point) {
	for _, p := range r.Points {
		if len(p.Rounds) > 0 {
			all = append(all, p)
		}
	}
	return all
}

func measured(r *workload.Result, moved int) Measured {
	reads := r.Kinds[workload.ReadOnly]
	percent := func(k workload.KindResult) float64 { return 100 * float64(k.Retries) / float64(max(k.Committed, 1)) }
	return Measured{
		PerSecond: r.All.ThroughputPer, P50: r.All.Latency.P50, P99: r.All.Latency.P99,
		ReadP50: reads.Latency.P50, ReadP99: reads.Latency.P99, WriteP50: r.Updates.Latency.P50,
		WriteP99: r.Updates.Latency.P99,
		Retries:  percent(r.All), ReadRetries: percent(reads), WriteRetries: percent(r.Updates),
		Failed: float64(r.All.Failed + r.All.Unknown), Moved: float64(moved),
	}
}

// add takes another round in.
func (p *Point) add(m Measured) {
	p.Rounds = append(p.Rounds, m)
	for _, c := range columns {
		xs := make([]float64, len(p.Rounds))
		for i := range p.Rounds {
			xs[i] = *c.of(&p.Rounds[i])
		}
		*c.of(&p.Median) = median(xs)
	}
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Summary says in a line what was measured.
func (r *Result) Summary() string {
	s := &r.Setup
	fsync := "without fsync"
	if s.Fsync {
		fsync = "with fsync"
	}
	rounds := "one round"
	if s.Rounds > 1 {
		rounds = fmt.Sprintf("medians over %d rounds", s.Rounds)
	}
	text := fmt.Sprintf("%d nodes, %d shards and a hot shard, %v ms one way, %s; %d keys, %d clients; %s of %v s",
		s.Nodes, s.Shards, s.DelayMs, fsync, s.Keys, s.Clients, rounds, s.DurationS)
	if r.Interrupted {
		text += "; interrupted, so some points have fewer rounds"
	}
	return text
}

// header and cells are the table that people read.
var header = []string{"skew", "mode", "tx/s", "p50/p99 ms", "of reads", "of writes", "retries", "failed", "moved"}

func (p *Point) cells() []string {
	m := &p.Median
	count := func(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', -1, 64) }
	both := func(p50, p99 float64) string { return significant(p50) + "/" + significant(p99) }
	return []string{strconv.FormatFloat(p.Skew, 'f', -1, 64), p.Mode.String(), count(m.PerSecond), both(m.P50, m.P99),
		both(m.ReadP50, m.ReadP99), both(m.WriteP50, m.WriteP99), significant(m.Retries) + " %", count(m.Failed),
		count(m.Moved)}
}

// significant prints a number with three digits that matter, and a large one whole.
func significant(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// WriteText writes a table of the medians.
func (r *Result) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintln(w, r.Summary()); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(tw, "%s\t", c)
		}
		fmt.Fprintln(tw)
	}
	line(header)
	for _, p := range r.Measured() {
		line(p.cells())
	}
	return tw.Flush()
}

// WriteCSV writes the medians, a line for each point.
func (r *Result) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	row := []string{"skew", "mode", "rounds"}
	for _, c := range columns {
		row = append(row, c.name)
	}
	_ = cw.Write(row) // cw.Error reports it
	for _, p := range r.Measured() {
		number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
		row = append(row[:0], number(p.Skew), p.Mode.String(), strconv.Itoa(len(p.Rounds)))
		for _, c := range columns {
			row = append(row, number(*c.of(&p.Median)))
		}
		_ = cw.Write(row)
	}
	cw.Flush()
	return cw.Error()
}

// WriteJSON writes all rounds of the points that were measured.
func (r *Result) WriteJSON(w io.Writer) error {
	measured := *r
	measured.Points = r.Measured()
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(&measured)
}
