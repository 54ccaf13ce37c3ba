package workload

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// example is a result with something everywhere.
func example() *Result {
	kind := func(k Kind, n uint64) KindResult {
		return KindResult{Kind: k.String(), Committed: n, Failed: n / 1000, Unknown: n / 5000, Retries: n / 10,
			ThroughputPer: float64(n) / 30, Latency: Latency{Mean: 1.5, P50: 1.234, P90: 2.5, P99: 10.75, P999: 100.125,
				Max: 1234.567}}
	}
	r := &Result{
		Format:  Format,
		Command: "zetaload run --addr 127.0.0.1:7070 --skew 1.2 --seed 42",
		Started: time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC),
		Workload: describe(Options{Name: Zeta, Skew: 1.2, Shuffle: true, MoveHotEvery: 5 * time.Second, Clients: 64,
			Rate:   2500,
			Warmup: 2 * time.Second, Duration: 30 * time.Second, Count: 100_000, Seed: 42,
			Readers:   Readers{ReadKeys: KeyCount{2, 16}, InteractiveReads: 25, ThinkTime: 5 * time.Millisecond},
			Placement: Placement{Locality: 50}, Scanning: Scanning{Scanners: 2, ScanPace: 250}}.WithDefaults()),
		Host:        Host{CPUs: 8, GoMaxProcs: 4, OS: "linux", Arch: "amd64", Go: "go1.26.8"},
		Interrupted: true, ElapsedS: 29.25, Backlog: 17, ResultsLost: 4, NearKeys: 66.67,
		Lag: Latency{P50: 0.05, P99: 1.1, Max: 7},
		Scans: ScanResult{Complete: 3, CutShort: 1, Failed: 2, Errors: map[string]uint64{"Aborted": 1, "Corrupt": 1},
			Faults: map[string]uint64{"Corrupt": 1}, Pairs: 15_000, PairsPer: 500,
			Latency: Latency{P50: 9500, P99: 9900, Max: 9901.5}},
		Aborts: map[string]uint64{"wounded": 4321, "stale-read": 99}, ReadAborts: map[string]uint64{"stale-read": 99},
		Errors: map[string]uint64{"Unavailable": 12, "OutcomeUnknown": 3, "Aborted": 5},
		Faults: map[string]uint64{"Unavailable": 12, "OutcomeUnknown": 3},
		Down: []DownNode{{Node: 2, Address: "10.0.0.2:7070", Shards: []uint32{1, 4}, Hot: true, Keyspace: 12.5,
			Transactions: 13}},
	}
	for i, k := range Kinds() {
		r.Kinds = append(r.Kinds, kind(k, 100_000*uint64(i+1)))
	}
	r.All = kind(0, 1_000_000)
	r.All.Kind = "all"
	r.Updates = kind(0, 900_000)
	r.Updates.Kind = "updates"
	return r
}

func TestTheReportAsText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().WriteText(&b))
	golden(t, "report.txt", b.Bytes())
}

// What there was none of has no line.
func TestAReportHasNoRowsOfZeros(t *testing.T) {
	r := &Result{Format: Format, Command: "x"}
	for _, k := range example().Kinds {
		r.Kinds = append(r.Kinds, KindResult{Kind: k.Kind})
	}
	r.Kinds[2].Committed = 5
	r.All.Kind, r.Updates.Kind = "all", "updates"
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	for _, name := range []string{"read-only  ", "updates", "start lag", "backlog", "lost results", "scans", "locality",
		"aborted", "errors", "none"} {
		require.NotContains(t, b.String(), "\n"+name)
	}
	require.Contains(t, b.String(), "\n"+r.Kinds[2].Kind+" ")
	require.NotContains(t, b.String(), "\nall  ", "the row of a single kind says all")
}

// A sum that repeats another row is left out.
func TestNoRowsOfAReportAreAlike(t *testing.T) {
	rows := func(kinds ...Kind) (names []string) {
		r := &Result{All: KindResult{Kind: "all"}, Updates: KindResult{Kind: "updates"}}
		for _, k := range Kinds() {
			n := KindResult{Kind: k.String()}
			if slices.Contains(kinds, k) {
				n.Committed = 5
				r.All.Committed += 5
				if !k.Reads() {
					r.Updates.Committed += 5
				}
			}
			r.Kinds = append(r.Kinds, n)
		}
		for _, k := range r.rows() {
			names = append(names, k.Kind)
		}
		return names
	}
	require.Equal(t, []string{"all"}, rows(), "nothing happened")
	require.Equal(t, []string{"increment"}, rows(Increment))
	require.Equal(t, []string{"read-only", "increment", "all"}, rows(ReadOnly, Increment))
	require.Equal(t, []string{"write-only", "increment", "all"}, rows(WriteOnly, Increment))
	require.Equal(t, []string{"read-only", "write-only", "increment", "updates", "all"},
		rows(ReadOnly, WriteOnly, Increment))
}

// Reports fit a terminal of 80 columns, and what is wrapped is still one command.
func TestReportsFit80Columns(t *testing.T) {
	r := example()
	for _, k := range []*KindResult{&r.All, &r.Kinds[0]} {
		k.Committed, k.ThroughputPer, k.Latency.Max = 99_999_999, 123_456.7, MaxTimeout.Seconds()*1000
	}
	r.Command = "zetaload run --prefix 'it'\\''s  --long' " + strings.Repeat("--clients 5 ", 20) + "--seed 1"
	r.Aborts = map[string]uint64{}
	for reason := range legend {
		r.Aborts[reason] = 99_999_999
	}
	var text, table bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	require.NoError(t, WriteComparison(&table, []NamedResult{{"before.json", r}, {"after.json", r}}))
	for _, line := range strings.Split(text.String(), "\n") {
		if !strings.HasPrefix(line, "  node n2 ") { // an error's text
			require.LessOrEqual(t, len(line), columns, line)
		}
	}
	_, command, _ := strings.Cut(text.String(), "repeat with  ")
	require.Equal(t, r.Command, strings.TrimSpace(strings.ReplaceAll(command, " \\\n"+strings.Repeat(" ", margin), " ")))
	for _, s := range []Snapshot{{Phase: Warmup, Rate: 5000},
		{Phase: Measuring, Done: 1, Elapsed: time.Hour, Rate: 123_456,
			Committed: 9_999_999, Retries: 99_999, P50: 9 * time.Second, P99: 9 * time.Second}} {
		require.LessOrEqual(t, len(s.String()), columns, s.String())
	}
	require.Contains(t, Snapshot{Phase: Warmup, Rate: 5000}.String(), "warming up, 5000/s")
}

func TestTheReportAsJSONIsReadBack(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().WriteJSON(&b))
	golden(t, "report.json", b.Bytes())
	got, err := ReadResult(&b)
	require.NoError(t, err)
	require.Equal(t, example(), got)
}

func TestWhatIsNoReportIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"":                                 "not a report",
		"kind  committed":                  "not a report",
		"{}":                               "no format",
		`{"format": "zetaload.report/99"}`: `format "zetaload.report/99"`,
		`{"format": "zetaload.report/1", "backlog": -1}`: "not a report",
	} {
		_, err := ReadResult(strings.NewReader(text))
		require.ErrorContains(t, err, says, "%q", text)
	}
}

func TestTheComparisonOfReports(t *testing.T) {
	a, b := example(), example()
	b.Workload.RatePerS, b.Workload.Interactive, b.Workload.Shuffle = 0, true, false
	b.Interrupted = false
	b.Kinds[Increment] = KindResult{Kind: Increment.String()}
	a.Kinds[Increment] = b.Kinds[Increment]
	a.Kinds[WriteOnly] = KindResult{Kind: WriteOnly.String()}
	b.All.ThroughputPer *= 2.5
	var out bytes.Buffer
	require.NoError(t, WriteComparison(&out, []NamedResult{{"before.json", a}, {"b.json", b}}))
	golden(t, "compare.txt", out.Bytes())
}

func TestAResultOfNothingHasNoLatency(t *testing.T) {
	require.Equal(t, Latency{}, latencyOf(nil, 0))
	require.Equal(t, Latency{}, latencyOf(newHistogram(), 0))
	require.Zero(t, perSecond(5, 0))
}

// Whatever is read as a report can be shown and compared.
func FuzzReadResult(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, example().WriteJSON(&b))
	f.Add(b.Bytes())
	f.Add([]byte(`{"format": "zetaload.report/1"}`))
	f.Add([]byte(`{"format": "zetaload.report/1", "kinds": [{}], "workload": {"mix": {"read_only": -1e308}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadResult(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		require.NoError(t, r.WriteText(&out))
		require.NoError(t, WriteComparison(&out, []NamedResult{{"a", r}, {"b", example()}}))
		var again bytes.Buffer
		require.NoError(t, r.WriteJSON(&again))
		back, err := ReadResult(&again)
		require.NoError(t, err)
		require.Equal(t, r.All, back.All)
	})
}
