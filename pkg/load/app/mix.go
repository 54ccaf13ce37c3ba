package app

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Share is how often something is done.
type Share struct {
	Name   string
	Weight float64
}

// Mix is what clients do, how often. Only the ratios of weights count.
type Mix []Share

// pick draws one, as an index.
func (m Mix) pick(r *rand.Rand) int {
	sum := 0.0
	for _, s := range m {
		sum += s.Weight
	}
	left, last := r.Float64()*sum, 0
	for i, s := range m {
		if s.Weight == 0 {
			continue
		}
		last = i
		if left < s.Weight {
			break
		}
		left -= s.Weight
	}
	return last
}

// With gives m with weights from a text such as "buy=50,view=50"; those that
// it does not name are 0.
func (m Mix) With(text string) (Mix, error) {
	out := make(Mix, len(m))
	names := make([]string, len(m))
	for i, s := range m {
		out[i].Name, names[i] = s.Name, s.Name
	}
	sum := 0.0
	for part := range strings.SplitSeq(text, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), "=")
		w, err := strconv.ParseFloat(weight, 64)
		if err != nil || !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("%q is not a share, want KIND=WEIGHT,... with the kinds %s", part, strings.Join(names, ", "))
		}
		found := false
		for i := range out {
			if out[i].Name == name {
				out[i].Weight, found = w, true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no kind %q, want one of %s", name, strings.Join(names, ", "))
		}
		sum += w
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return nil, errors.New("the shares add up to 0 or to infinity, want a finite sum above 0")
	}
	return out, nil
}

// String gives the shares in per cent.
func (m Mix) String() string {
	sum := 0.0
	for _, s := range m {
		sum += s.Weight
	}
	parts := make([]string, len(m))
	for i, s := range m {
		parts[i] = fmt.Sprintf("%.4g%% %s", 100*s.Weight/sum, s.Name)
	}
	return strings.Join(parts, ", ")
}
