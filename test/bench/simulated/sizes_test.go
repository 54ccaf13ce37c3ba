package simulated

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestBoundOfCores: gateways' work goes where there is time left, shards' does not.
func TestBoundOfCores(t *testing.T) {
	us := func(all ...int) (out []time.Duration) {
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Microsecond)
		}
		return out
	}
	for _, c := range []struct {
		name           string
		work, gateways []time.Duration
		want           float64
	}{
		{"all have the same", us(10, 10, 10, 10), us(5, 5, 5, 5), 100_000},
		{"one shard has more, and the others' clients do what its own do not", us(8, 12, 10, 10), us(5, 5, 5, 5), 100_000},
		{"one shard has more than clients can make up for", us(5, 5, 5, 25), us(5, 5, 5, 5), 50_000},
		{"what gateways do is next to nothing", us(10, 10, 10, 20), us(0, 0, 0, 0), 50_000},
		{"a gateway that takes long is left alone", us(10, 10), us(0, 10), 100_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.InEpsilon(t, c.want, coresBound(c.work, c.gateways), 0.001)
		})
	}
}

// TestWhatIsMadeTogetherIsDivided: rows are of those jobs that make rows, and
// their sum is charged once.
func TestWhatIsMadeTogetherIsDivided(t *testing.T) {
	k := kinds{bySize: true}
	jobs := []job{{env: &msg.Envelope{Body: &msg.Decision{}}}, {env: &msg.Envelope{Body: &msg.Deregister{}}},
		{env: &msg.Envelope{Body: &msg.Vote{}}}}
	out := output{entries: make([]entry.Entry, 8)}
	known := Costs{Lines: map[string]Line{"Decision": {Makes: 3}, "Vote": {Makes: 1}}}
	require.Equal(t, []sized{{"Decision", 1 + 6}, {"Deregister", 1}, {"Vote", 1 + 2}}, k.sizes(nil, jobs, &out, &known))
	require.Equal(t, []sized{{"Deregister", 1 + 8}}, k.sizes(nil, jobs[1:2], &out, &known),
		"nobody else can have made them")
	require.Equal(t, []sized{{"Decision", 1 + 4}, {"Vote", 1 + 4}}, k.sizes(nil, []job{jobs[0], jobs[2]}, &out, &Costs{}),
		"nothing is known")
}
