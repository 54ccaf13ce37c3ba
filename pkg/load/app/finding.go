package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// maxExamples is the number of mistakes that are reported one by one.
const maxExamples = 3

// finding collects what is found about an invariant.
type finding struct {
	name     string
	compared int
	wrong    int
	examples []string
}

// expect counts one comparison, and a mistake if it is not ok.
func (f *finding) expect(ok bool, format string, args ...any) {
	f.compared++
	if ok {
		return
	}
	f.wrong++
	if len(f.examples) < maxExamples {
		f.examples = append(f.examples, fmt.Sprintf(format, args...))
	}
}

// verdict is the finding as an invariant; unit names what was compared, as in "sets".
func (f *finding) verdict(unit string) workload.Invariant {
	i := workload.Invariant{Name: f.name, Verdict: workload.Holds, Text: fmt.Sprintf("%d %s compared", f.compared, unit)}
	if f.wrong > 0 {
		i.Verdict = workload.Broken
		i.Text = fmt.Sprintf("%d of %d %s are wrong: %s", f.wrong, f.compared, unit, strings.Join(f.examples, "; "))
		if f.wrong > len(f.examples) {
			i.Text += "; ..."
		}
	}
	return i
}

// notPromised are the verdicts where operations are no transactions.
func notPromised(names ...string) (all []workload.Invariant) {
	for _, name := range names {
		all = append(all, workload.Invariant{Name: name, Verdict: workload.NotPromised,
			Text: "needs transactions of several operations; not checked"})
	}
	return all
}

// verdictsOf is what a row of verifications comes to, by the books that clients kept.
func verdictsOf[B any](ctx context.Context, books *B, row ...func(context.Context, *B) (workload.Invariant,
	error)) (all []workload.Invariant, err error) {
	for _, verify := range row {
		i, err := verify(ctx, books)
		if err != nil {
			return all, err
		}
		all = append(all, i)
	}
	return all, nil
}
