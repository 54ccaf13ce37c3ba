package rounds

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"time"
)

// Figures are the results of one comparison, for the pages that quote them.
type Figures struct {
	// Command repeats the measurement.
	Command string `json:"command"`
	// Measured is the day, as in "2026-11-26"; CPUs is the number of processors, Rounds that of the rounds.
	Measured string `json:"measured"`
	CPUs     int    `json:"cpus"`
	Rounds   int    `json:"rounds"`
	// Rows are the variants, in the order in which they are shown.
	Rows []Figure `json:"rows"`
}

// Figure is the result of one variant: medians over the rounds, with the least and the greatest.
type Figure struct {
	Name  string  `json:"name"`
	Per   float64 `json:"per_second"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Times is how many times as many the variant that is compared did, in the median of the ratios
	// within a round; 0 for that variant itself.
	Times      float64 `json:"times,omitempty"`
	TimesLeast float64 `json:"times_least,omitempty"`
	TimesMost  float64 `json:"times_most,omitempty"`
}

// NewFigures takes rows out of a series: of compares, the variant it is compared with.
func NewFigures(command string, n int, s Series, compared func(name string) string, names ...string) Figures {
	f := Figures{Command: command, Measured: time.Now().UTC().Format(time.DateOnly), CPUs: runtime.NumCPU(), Rounds: n}
	for _, name := range names {
		xs := s[name]
		if len(xs) == 0 {
			continue
		}
		row := Figure{Name: name, Per: Median(xs), Least: slices.Min(xs), Most: slices.Max(xs)}
		if with := compared(name); with != "" && with != name {
			row.Times, row.TimesLeast, row.TimesMost = s.Ratio(with, name)
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// Write writes the figures to a file as JSON; an empty path writes nothing.
func (f Figures) Write(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
