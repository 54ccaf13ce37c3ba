package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Format names the layout of a result in JSON. Fields may be added to it; a
// change of what one means is a new format.
const Format = "zetaload.report/1"

// Result is what a run found out. Times are in the unit that the name of the
// field in JSON ends with.
type Result struct {
	Format string `json:"format"`
	// Command repeats the run; set by the command that ran it.
	Command  string    `json:"command,omitempty"`
	Started  time.Time `json:"started"`
	Workload Workload  `json:"workload"`
	Host     Host      `json:"host"`
	// Interrupted: the run was ended before its time.
	Interrupted bool `json:"interrupted"`
	// ElapsedS is the length of the measured part.
	ElapsedS float64 `json:"elapsed_s"`
	// Backlog is how many transactions of an open loop were due before the
	// end and never started.
	Backlog uint64 `json:"backlog"`
	// ResultsLost is how many transactions committed, and the store could no
	// longer report what they had read. A checker of the history does not see those
	// reads.
	ResultsLost uint64 `json:"results_lost"`
	// All sums up the kinds, Updates those that change something; Kinds has
	// one element for each kind, always.
	All     KindResult   `json:"all"`
	Updates KindResult   `json:"updates"`
	Kinds   []KindResult `json:"kinds"`
	// Scans is the result of the scans beside them; they are not in All.
	Scans ScanResult `json:"scans"`
	// NearKeys is how many per cent of the keys lived on the node of the
	// client that used them; 0 without locality.
	NearKeys float64 `json:"near_keys_percent"`
	// Lag is how much later than intended transactions were sent.
	Lag Latency `json:"lag_ms"`
	// Aborts counts attempts that were given up and made again, by reason;
	// ReadAborts those among them of read-only transactions.
	Aborts     map[string]uint64 `json:"aborts"`
	ReadAborts map[string]uint64 `json:"aborts_read_only"`
	// Errors counts transactions that did not commit, by kind of error.
	Errors map[string]uint64 `json:"errors"`
	// Faults counts those among them that did not fail because others wanted the same
	// keys, by kind of error.
	Faults map[string]uint64 `json:"faults"`
	// Down are the nodes that were down, as far as transactions and scans have met that.
	Down []DownNode `json:"down,omitempty"`
	// Invariants are those of an application, as they were found in the end.
	Invariants []Invariant `json:"invariants,omitempty"`
}

// Workload says what was run.
type Workload struct {
	// App is set for an application; what is said of keys, transactions and
	// scans is then 0.
	App *About `json:"app,omitempty"`
	// Name is empty for one that has none.
	Name          string  `json:"name"`
	Keys          uint64  `json:"keys"`
	Skew          float64 `json:"skew"`
	Shuffle       bool    `json:"shuffle"`
	MoveHotEveryS float64 `json:"move_hot_every_s"`
	Mix           Mix     `json:"mix"`
	Ops           int     `json:"ops"`
	ValueBytes    int     `json:"value_bytes"`
	// ReadKeysMin and ReadKeysMax bound the keys of a read-only transaction;
	// 0 in reports from before they could differ from Ops.
	ReadKeysMin      int     `json:"read_keys_min"`
	ReadKeysMax      int     `json:"read_keys_max"`
	Distinct         bool    `json:"distinct"`
	Locality         float64 `json:"locality_percent"`
	Interactive      bool    `json:"interactive"`
	InteractiveReads float64 `json:"interactive_reads_percent"`
	ThinkTimeMs      float64 `json:"think_time_ms"`
	Clients          int     `json:"clients"`
	Scanners         int     `json:"scanners"`
	// ScanPacePerS is in pairs, for each scanner; 0 is as they come.
	ScanPacePerS float64 `json:"scan_pace_per_s"`
	// RatePerS is 0 in a closed loop.
	RatePerS  float64 `json:"rate_per_s"`
	WarmupS   float64 `json:"warmup_s"`
	DurationS float64 `json:"duration_s"`
	Count     uint64  `json:"count"`
	TimeoutS  float64 `json:"timeout_s"`
	Seed      uint64  `json:"seed"`
}

// Host says where the load was made.
type Host struct {
	CPUs       int    `json:"cpus"`
	GoMaxProcs int    `json:"gomaxprocs"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Go         string `json:"go"`
}

// KindResult is the result of the transactions of a kind.
type KindResult struct {
	Kind      string `json:"kind"`
	Committed uint64 `json:"committed"`
	Failed    uint64 `json:"failed"`
	Unknown   uint64 `json:"unknown"`
	// Retries counts attempts beyond the first of each transaction.
	Retries       uint64  `json:"retries"`
	ThroughputPer float64 `json:"throughput_per_s"`
	// Latency is of committed transactions, from the intended start.
	Latency Latency `json:"latency_ms"`
}

// ScanResult is the result of the scans that began in the measured part.
type ScanResult struct {
	Complete uint64 `json:"complete"`
	// CutShort were in flight when the run ended.
	CutShort uint64 `json:"cut_short"`
	// Failed broke off, Errors says of what. A scan that is refused before
	// its first pair is retried by the client, which does not report it.
	Failed uint64            `json:"failed"`
	Errors map[string]uint64 `json:"errors"`
	// Faults counts those among them that did not fail because of other transactions.
	Faults map[string]uint64 `json:"faults"`
	// Pairs counts those of all three.
	Pairs    uint64  `json:"pairs"`
	PairsPer float64 `json:"pairs_per_s"`
	// Latency is of complete scans, from the call to the last pair.
	Latency Latency `json:"latency_ms"`
}

// Latency is a distribution in milliseconds; all 0 when there is nothing.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// result sums up a run whose clients have all stopped.
func (s *run) result() *Result {
	end, interrupted := s.meter.cut.end(s.window, s.stopped)
	elapsed := max(end.Sub(s.window.begin), 0)
	t := s.meter.sum()
	s.scans.addDown(&t.faults)
	o := s.plan.Options
	r := &Result{
		Format:      Format,
		Started:     s.begun.UTC().Truncate(time.Millisecond),
		Workload:    describe(o),
		Host:        ThisHost(),
		Interrupted: interrupted,
		ElapsedS:    seconds(elapsed),
		Backlog:     s.schedule.backlog(end),
		ResultsLost: t.lost,
		All:         t.all().result("all", elapsed),
		Updates:     t.updates().result("updates", elapsed),
		Scans:       s.scans.result(elapsed),
		NearKeys:    math.Round(1e4*ratio(t.near, t.keys)) / 100,
		Lag:         latencyOf(t.lag, 0),
		Aborts:      t.aborts,
		ReadAborts:  t.readAborts,
		Errors:      kindCounts(t.errors),
		Faults:      kindCounts(t.faults.kinds),
		Down:        t.faults.nodes(),
	}
	for k := range t.kinds {
		r.Kinds = append(r.Kinds, t.kinds[k].result(t.spec[k].Name, elapsed))
	}
	return r
}

func describe(o Options) Workload {
	if o.App != nil {
		about := o.App.About()
		return Workload{App: &about, Name: about.Name, Clients: o.Clients, RatePerS: o.Rate, WarmupS: seconds(o.Warmup),
			DurationS: seconds(o.Duration), Count: o.Count, TimeoutS: seconds(o.Timeout), Seed: o.Seed}
	}
	return Workload{
		Name: o.Name, Keys: o.Keys, Skew: o.Skew, Shuffle: o.Shuffle, MoveHotEveryS: seconds(o.MoveHotEvery),
		Mix: o.Mix, Ops: o.Ops, ValueBytes: o.ValueBytes, ReadKeysMin: o.readKeys().Min, ReadKeysMax: o.readKeys().Max,
		Distinct: o.Distinct, Locality: o.Locality, Interactive: o.Interactive, InteractiveReads: o.InteractiveReads,
		ThinkTimeMs: float64(o.ThinkTime.Round(time.Microsecond).Microseconds()) / 1000,
		Clients:     o.Clients, Scanners: o.Scanners, ScanPacePerS: o.ScanPace, RatePerS: o.Rate, WarmupS: seconds(o.Warmup),
		DurationS: seconds(o.Duration),
		Count:     o.Count, TimeoutS: seconds(o.Timeout), Seed: o.Seed,
	}
}

// ThisHost describes the machine this runs on.
func ThisHost() Host {
	return Host{CPUs: runtime.NumCPU(), GoMaxProcs: runtime.GOMAXPROCS(0),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()}
}

func (t *kindTotals) result(name string, elapsed time.Duration) KindResult {
	return KindResult{
		Kind: name, Committed: t.committed, Failed: t.failed, Unknown: t.unknown, Retries: t.retries,
		ThroughputPer: perSecond(t.answered, elapsed),
		Latency:       latencyOf(t.latency, t.max),
	}
}

// latencyOf reads a histogram of microseconds. A histogram knows its maximum
// to three digits; exact, unless 0, is better.
func latencyOf(h *hdrhistogram.Histogram, exact time.Duration) Latency {
	if h == nil || h.TotalCount() == 0 {
		return Latency{}
	}
	ms := func(micros int64) float64 { return float64(micros) / 1000 }
	l := Latency{
		Mean: ms(int64(h.Mean())), P50: ms(h.ValueAtQuantile(50)), P90: ms(h.ValueAtQuantile(90)),
		P99: ms(h.ValueAtQuantile(99)), P999: ms(h.ValueAtQuantile(99.9)), Max: ms(h.Max()),
	}
	if exact > 0 {
		l.Max = ms(exact.Microseconds())
		// A bucket's middle and upper end may lie above all that is in it.
		for _, q := range []*float64{&l.Mean, &l.P50, &l.P90, &l.P99, &l.P999} {
			*q = min(*q, l.Max)
		}
	}
	return l
}

// WriteJSON writes r as indented JSON.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// ReadResult reads what WriteJSON wrote.
func ReadResult(rd io.Reader) (*Result, error) {
	var r Result
	if err := json.NewDecoder(rd).Decode(&r); err != nil {
		return nil, fmt.Errorf("not a report of zetaload: %w", err)
	}
	switch {
	case r.Format == "":
		return nil, errors.New("not a report of zetaload: the JSON has no format")
	case r.Format != Format:
		return nil, fmt.Errorf("the report has format %q, want %q", r.Format, Format)
	}
	return &r, nil
}
