package soak

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
)

var (
	durationFlag = flag.Duration("duration", 10*time.Second, "rounds begin for this long")
	seedFlag     = flag.Uint64("seed", 0, "determines the schedule of faults and what clients draw; 0 draws one")
	phaseFlag    = flag.Duration("faults", 0, "how long there are faults in a round (default 42s, and less in a short soak)")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if code, done := sandbox.Main(); done {
		os.Exit(code)
	}
	os.Exit(proc.Main(m))
}

// turn is how many rounds spare the same node: half of all, but enough to see
// whether its process gathers anything. What a process keeps for a while is kept for
// up to ten minutes, so that in an hour two of them are watched for as long again and
// more.
func turn(duration, phase time.Duration) int {
	rounds := int(duration / (phase + 15*time.Second)) // about as long as a round takes
	return max(rounds/2, 8)
}

// phase is how long there are faults in a round.
func phase(duration time.Duration) time.Duration {
	if *phaseFlag > 0 {
		return *phaseFlag
	}
	return max(min(42*time.Second, duration/3), 7*time.Second)
}

// TestSoak is the soak. It is ended early by an interrupt, and cleans up then.
func TestSoak(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64N(1e9)
	}
	means := Means{Seed: seed, Nodes: nodes, Phase: phase(*durationFlag), Small: -1}
	means.Turn = turn(*durationFlag, means.Phase)
	t.Logf("seed %d, for %v, with faults for %v in a round; again: make soak DURATION=%v SEED=%d", seed, *durationFlag, means.Phase, *durationFlag, seed)
	starting := time.Now()
	s := &soak{ctx: ctx, cluster: startCluster(t), clients: 6}
	t.Logf("the nodes have met after %.1f s", time.Since(starting).Seconds())
	if s.cluster.hasSmall {
		means.Small = small
	}
	s.wide = makeWide(t, s.cluster.Open(t))
	begin := time.Now()
	s.samples.begin = begin
	defer s.report(t, begin)
	for schedule := NewSchedule(means); time.Since(begin) < *durationFlag; {
		o := &outcome{round: schedule.Next()}
		s.done = append(s.done, o)
		if !t.Run(fmt.Sprintf("round-%d", o.round.Number), func(t *testing.T) { s.run(t, o) }) {
			return
		}
		if ctx.Err() != nil {
			break
		}
		for i, n := range s.cluster.Nodes() {
			s.samples.node(ctx, t, fmt.Sprintf("node[%d]", i), n, s.cluster.lives[i])
		}
		s.samples.clients()
		s.cluster.keepOutput(t)
	}
	if ctx.Err() != nil {
		t.Error(errStopped)
	}
}

// report tells of every round, and judges what has to be flat.
func (s *soak) report(t *testing.T, begin time.Time) {
	lines := []string{fmt.Sprintf("%d rounds in %v", len(s.done), time.Since(begin).Round(time.Second)), outcomeHead}
	for _, o := range s.done {
		lines = append(lines, o.String())
	}
	lines = append(lines, fmt.Sprintf("slow readers took %d pairs", s.wide.taken))
	lines = append(lines, s.samples.judge(t, time.Since(begin))...)
	if t.Failed() {
		s.cluster.keepProfiles(t, "end")
	}
	t.Log("\n" + strings.Join(lines, "\n"))
}
