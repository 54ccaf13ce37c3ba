package rounds

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Median is the middle of some numbers, 0 of none.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(xs))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Variant is one of the things that are compared.
type Variant struct {
	Name string
	// Run measures once. Higher need not be better: it is just a number.
	Run func() (float64, error)
}

// Series has a number per round for each variant.
type Series map[string][]float64

// Run runs the variants in turn, so often, and reports progress as it goes.
// Each round begins with another variant.
func Run(n int, progress io.Writer, vs ...Variant) (Series, error) {
	s := Series{}
	for r := range n {
		fmt.Fprintf(progress, "  round %d of %d:", r+1, n)
		for i := range vs {
			v := vs[(r+i)%len(vs)]
			x, err := v.Run()
			if err != nil {
				fmt.Fprintln(progress)
				return nil, fmt.Errorf("%s: %w", v.Name, err)
			}
			s[v.Name] = append(s[v.Name], x)
			fmt.Fprintf(progress, "  %s %s", v.Name, Number(x))
		}
		fmt.Fprintln(progress)
	}
	return s, nil
}

// Ratio is the median of the rounds' ratios, with the least and the greatest.
func (s Series) Ratio(over, under string) (median, low, high float64) {
	var rs []float64
	for i := range min(len(s[over]), len(s[under])) {
		rs = append(rs, s[over][i]/s[under][i])
	}
	if len(rs) == 0 {
		return 0, 0, 0
	}
	return Median(rs), slices.Min(rs), slices.Max(rs)
}

// Number prints a number with about three digits that matter.
func Number(x float64) string {
	switch {
	case x >= 100_000:
		return fmt.Sprintf("%.0fk", x/1000)
	case x >= 1000:
		return fmt.Sprintf("%.1fk", x/1000)
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Target is what is asked of a ratio or a number.
type Target struct {
	// What is asked, in words.
	What string
	// Got was measured, between Low and High over the rounds.
	Got, Low, High float64
	// AtLeast and AtMost are bounds; 0 is none.
	AtLeast, AtMost float64
	// Note is said beside it.
	Note string
}

// Met reports whether the bounds hold.
func (t Target) Met() bool {
	return (t.AtLeast == 0 || t.Got >= t.AtLeast) && (t.AtMost == 0 || t.Got <= t.AtMost)
}

// Print prints medians per variant, in the order of names or, without any, by
// name, and then the targets.
func Print(w io.Writer, unit string, s Series, targets []Target, names ...string) error {
	if len(names) == 0 {
		for n := range s {
			names = append(names, n)
		}
		slices.SortFunc(names, cmp.Compare[string])
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(names) > 0 {
		fmt.Fprintf(tw, "\nVARIANT\tMEDIAN %s\tLEAST\tMOST\tROUNDS\n", strings.ToUpper(unit))
	}
	for _, n := range names {
		if xs := s[n]; len(xs) > 0 {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\n", n, Number(Median(xs)), Number(slices.Min(xs)), Number(slices.Max(xs)),
				len(xs))
		}
	}
	if len(targets) > 0 {
		fmt.Fprintf(tw, "\nTARGET\tMEDIAN\tLEAST\tMOST\tASKED\t\n")
	}
	for _, t := range targets {
		if t.Got == 0 {
			continue // what it needs was not run
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", t.What, Number(t.Got), Number(t.Low), Number(t.High), t.asked(), t.Note)
	}
	return tw.Flush()
}

func (t Target) asked() string {
	verdict := "met"
	if !t.Met() {
		verdict = "MISSED"
	}
	switch {
	case t.AtLeast != 0:
		return fmt.Sprintf(">= %s %s", Number(t.AtLeast), verdict)
	case t.AtMost != 0:
		return fmt.Sprintf("<= %s %s", Number(t.AtMost), verdict)
	}
	return "-"
}
