package adt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestPlantedErrorsAreRefuted: copies of linchpin's own types with one error each are refuted in
// few rounds, as at the start of a server.
func TestPlantedErrorsAreRefuted(t *testing.T) {
	planted(t, boundedSpec, map[string]func(*Spec[bounded]){
		"adds and refusals for want of stock": withCommuting[bounded](boundedNoneLeft, boundedAdd),
		"a get beside subtractions":           withCommuting[bounded](boundedGet, boundedSubtract),
		"a get beside the lock alone":         withCommuting[bounded](boundedGet, boundedAlone),
		"alone, and not quite":                withCommuting[bounded](boundedAlone, boundedSubtract),
		"bounds that are about to be made":    withCommuting[bounded](boundedBounds, boundedCreate),
		"grants without regard to others": hideFromPlan(3,
			func(v *View[bounded]) { v.Others = func(func([]msg.Call)) {} }),
		"the same when it answers": hideFromPlan(5,
			func(v *View[bounded]) { v.Others = func(func([]msg.Call)) {} }),
		"answers ahead that are not reserved": hideFromPlan(5, func(v *View[bounded]) { v.Ahead = false }),
		"a stored form without the ceiling": func(s *Spec[bounded]) {
			encode := s.Encode
			s.Encode = func(b bounded) []byte { b.ceiling = max(b.value, 1<<20); return encode(b) }
		},
		"two adds become the second": func(s *Spec[bounded]) {
			s.Methods[1].Combine = func(_, then Args) (Args, bool) { return then, true }
		},
	})
	planted(t, summarySpec, map[string]func(*Spec[summaryState]){
		"the extremes beside any add": withCommuting[summaryState](summaryExtremes, summaryAdd),
		"a sum beside adds inside":    withCommuting[summaryState](summaryStats, summaryInside),
		"sums that round": func(s *Spec[summaryState]) {
			s.Methods[0].Apply = func(b summaryState, a Args) (summaryState, error) {
				b, err := addToSummary(b, a)
				if err == nil && b.sum.BitLen() > 40 {
					b.sum = b.sum.Lsh(b.sum.Rsh(b.sum, 30), 30)
				}
				return b, err
			}
		},
		"a sum that is changed in place": func(s *Spec[summaryState]) {
			s.Methods[0].Apply = func(b summaryState, a Args) (summaryState, error) {
				after, err := addToSummary(b, a)
				if err == nil && b.count > 0 {
					b.sum.Set(after.sum)
				}
				return after, err
			}
		},
	})
	planted(t, topSpec, map[string]func(*Spec[topState]){
		"the very best beside any add": withCommuting[topState](topMax, topAdd),
		"the best beside lesser ones":  withCommuting[topState](topRead, topLower),
		"the last score counts": func(s *Spec[topState]) {
			s.Methods[0].Plan = func(_ *View[topState], a Args) Plan { return As(topAdd, 1, a) }
			s.Methods[0].Apply = func(b topState, a Args) (topState, error) {
				var out topState
				for _, e := range b {
					if e.member != string(a[1].Bytes) {
						out = append(out, e)
					}
				}
				return addToTop(out, a)
			}
		},
		"the first member of a score is the better": func(s *Spec[topState]) {
			s.Methods[2].Answer = func(b topState, _ Args) ([]msg.Datum, error) { return b.first(int64(min(len(b), 2))), nil }
		},
	})
}

// planted checks copies of a type, each with one error.
func planted[S any](t *testing.T, spec func() Spec[S], errors map[string]func(*Spec[S])) {
	for name, plant := range errors {
		t.Run(spec().Name+"/"+name, func(t *testing.T) {
			s := spec()
			plant(&s)
			made, err := Declare(s)
			require.NoError(t, err)
			err = refute(made, 1, 4000)
			require.Error(t, err)
			t.Log(err)
		})
	}
}

func withCommuting[S any](a, b Kind) func(*Spec[S]) {
	return func(s *Spec[S]) { s.Commute = append(s.Commute, Commutes{a, b, Always}) }
}

// hideFromPlan hides a part of the view from a method's Plan.
func hideFromPlan(method int, hide func(*View[bounded])) func(*Spec[bounded]) {
	return func(s *Spec[bounded]) {
		plan := s.Methods[method-1].Plan
		s.Methods[method-1].Plan = func(v *View[bounded], a Args) Plan {
			w := *v
			hide(&w)
			return plan(&w, a)
		}
	}
}
