package hotornot_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/experiment/hotornot"
)

// small are options for a run of a few seconds.
func small(t *testing.T) hotornot.Options {
	o := hotornot.Defaults()
	o.Dir, o.Keys, o.Load, o.Clients, o.Delay, o.Seed = t.TempDir(), 500, 200, 16, 200*time.Microsecond, 1
	o.Skews = []float64{0.5, 1.4}
	o.Modes = []hotornot.Mode{{TwoPhaseCommit: true}, {HotKeys: 1}, {Auto: true}}
	o.Warm, o.Settle, o.Duration, o.Rounds = 50*time.Millisecond, 0, 200*time.Millisecond, 1
	return o
}

// run measures for longer where the machine is so busy that there is a point
// without an update.
func run(t *testing.T, o *hotornot.Options, progress *strings.Builder) *hotornot.Result {
	for {
		progress.Reset()
		o.Progress = progress
		r, err := hotornot.Run(t.Context(), *o)
		require.NoError(t, err)
		if o.Duration > 5*time.Second || !slices.ContainsFunc(r.Points,
			func(p *hotornot.Point) bool { return p.Median.WriteP50 == 0 }) {
			return r
		}
		o.Duration *= 5
	}
}

// TestASmallExperimentGivesAllOutputs that whatever reads such files can read.
func TestASmallExperimentGivesAllOutputs(t *testing.T) {
	o := small(t)
	var progress strings.Builder
	r := run(t, &o, &progress)
	require.False(t, r.Interrupted)
	require.Len(t, r.Measured(), 6)
	for _, p := range r.Points {
		m := p.Median
		require.Positive(t, m.PerSecond, p)
		require.Positive(t, m.ReadP50, p)
		require.Positive(t, m.WriteP50, p)
		require.LessOrEqual(t, m.P50, m.P99)
		require.Zero(t, m.Failed)
		if !p.Mode.Auto {
			require.Zero(t, m.Moved, p.Mode)
		}
		if !p.Mode.TwoPhaseCommit {
			require.Zero(t, m.ReadRetries, "readers that do not lock are not aborted")
		}
	}
	require.Equal(t, 7, strings.Count(progress.String(), "\n"), progress.String())
	left, err := os.ReadDir(o.Dir)
	require.NoError(t, err)
	require.Empty(t, left)

	t.Run("text", func(t *testing.T) {
		text := write(t, r.WriteText)
		require.Equal(t, 8, strings.Count(text, "\n"), text)
		for _, line := range strings.Split(text, "\n")[1:] {
			require.LessOrEqual(t, len(line), 80, line)
		}
	})
	t.Run("csv", func(t *testing.T) {
		rows, err := csv.NewReader(strings.NewReader(write(t, r.WriteCSV))).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 7)
		require.Equal(t, []string{"skew", "mode", "rounds", "throughput_per_s"}, rows[0][:4])
		require.Equal(t, []string{"1.4", "auto", "1"}, rows[6][:3])
	})
	t.Run("json", func(t *testing.T) {
		var back hotornot.Result
		require.NoError(t, json.Unmarshal([]byte(write(t, r.WriteJSON)), &back))
		require.Equal(t, r, &back)
	})
	t.Run("svg", func(t *testing.T) {
		svg := write(t, r.WriteSVG)
		require.Equal(t, 1, elements(t, svg)["svg"])
		require.Contains(t, svg, "1 hot key")
	})
	t.Run("figure", func(t *testing.T) {
		for _, theme := range hotornot.Themes {
			svg := write(t, func(w io.Writer) error { return r.WriteFigure(w, theme) })
			require.Equal(t, 1, elements(t, svg)["svg"])
			require.Contains(t, svg, ">two-phase commit<")
			require.Contains(t, svg, ">linchpin<")
			require.NotContains(t, svg, "font-family:Liberation Sans;")
		}
		alone := *r
		alone.Points = r.Points[:2] // one skew, without auto
		require.ErrorContains(t, alone.WriteFigure(io.Discard, hotornot.Themes[0]), "at two skews or more")
	})
	t.Run("html", func(t *testing.T) {
		html, svg := write(t, r.WriteHTML), write(t, r.WriteSVG)
		require.Contains(t, html, svg[strings.Index(svg, "<svg"):])
		require.Equal(t, 3, strings.Count(html, "</svg>"))
		require.Equal(t, 6*9, strings.Count(html, "<td>"))
		require.NotContains(t, html, "ZgotmplZ")
	})
}

func write(t *testing.T, f func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f(&b))
	return b.String()
}

// elements counts the elements of an XML document by name.
func elements(t *testing.T, text string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		if e, ok := tok.(xml.StartElement); ok {
			n[e.Name.Local]++
		}
	}
}

// TestAnInterruptedExperimentReportsWhatItHas even if that is nothing.
func TestAnInterruptedExperimentReportsWhatItHas(t *testing.T) {
	o := small(t)
	o.Rounds, o.Duration = 50, 100*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = after{2, cancel}.writer()
	r, err := hotornot.Run(ctx, o)
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Len(t, r.Measured(), 1)
	require.Contains(t, write(t, r.WriteText), "interrupted")
	require.Equal(t, 1, elements(t, write(t, r.WriteSVG))["svg"])

	r, err = hotornot.Run(ctx, o)
	require.NoError(t, err)
	require.Empty(t, r.Measured())
	elements(t, write(t, r.WriteSVG))
	write(t, r.WriteHTML)
}

// after calls something after so many writes.
type after struct {
	writes int
	then   func()
}

func (a after) writer() io.Writer { return &a }

func (a *after) Write(p []byte) (int, error) {
	a.writes--
	if a.writes == 0 {
		a.then()
	}
	return len(p), nil
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	for want, change := range map[string]func(*hotornot.Options){
		"0 nodes; the range is 1 to":                        func(o *hotornot.Options) { o.Nodes = 0 },
		"1024 shards; the range is 1 to 1023":               func(o *hotornot.Options) { o.Shards = 1024 },
		"a delay of 2s between nodes; the range is 0 to 1s": func(o *hotornot.Options) { o.Delay = 2 * time.Second },
		"0 keys; the range is 1 to":                         func(o *hotornot.Options) { o.Keys, o.Load = 0, 0 },
		"501 keys are to be loaded, but there are 5":        func(o *hotornot.Options) { o.Load = 501 },
		"0 clients; the range is 1 to":                      func(o *hotornot.Options) { o.Clients = 0 },
		"no skew is set":                                    func(o *hotornot.Options) { o.Skews = nil },
		"skew -1; it must be finite":                        func(o *hotornot.Options) { o.Skews = []float64{-1} },
		"skew 1.2 is listed twice":                          func(o *hotornot.Options) { o.Skews = []float64{1.2, 1, 1.2} },
		"no mode is set":                                    func(o *hotornot.Options) { o.Modes = nil },
		"mode auto is listed twice": func(o *hotornot.Options) {
			o.Modes = []hotornot.Mode{{Auto: true}, {Auto: true}}
		},
		"mode 501: there are only 500 keys":     func(o *hotornot.Options) { o.Modes = []hotornot.Mode{{HotKeys: 501}} },
		"a warm-up of -1s":                      func(o *hotornot.Options) { o.Warm = -time.Second },
		"a settling time of -1s":                func(o *hotornot.Options) { o.Settle = -time.Second },
		"a duration of 0s; it must be above 0":  func(o *hotornot.Options) { o.Duration = 0 },
		"101 rounds; the range is 1 to 100":     func(o *hotornot.Options) { o.Rounds = 101 },
		"take more than 24h0m0s":                func(o *hotornot.Options) { o.Duration = 5 * time.Hour },
		"6 measurements take more than 24h0m0s": func(o *hotornot.Options) { o.Settle = 1<<63 - 1 },
	} {
		o := small(t)
		require.NoError(t, o.Validate())
		change(&o)
		require.ErrorContains(t, o.Validate(), want)
		_, err := hotornot.Run(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, hotornot.Defaults().Validate())
}

func TestModesAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{"2pc", "auto", "0", "10"} {
		m, err := hotornot.ParseMode(text)
		require.NoError(t, err)
		require.Equal(t, text, m.String())
	}
	for _, text := range []string{"", "-1", "Auto", "10001", "1.5"} {
		_, err := hotornot.ParseMode(text)
		require.ErrorContains(t, err, "use 2pc, auto, or a number of hot keys from 0 to 10000")
	}
}
