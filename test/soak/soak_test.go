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
	durationFlag = flag.Duration("duration", 10*time.Second, "start rounds for this time")
	seedFlag     = flag.Uint64("seed", 0, "seed of the schedule of faults and of the clients; 0 is a random one")
	replicasFlag = flag.Int("replicas", 3, "number of replicas of each shard: 1 or 3")
	phaseFlag    = flag.Duration("faults", 0, "duration of the faults in a round (default 42s, less in a short soak)")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if code, done := sandbox.Main(); done {
		os.Exit(code)
	}
	os.Exit(proc.Main(m))
}

// protectedRounds returns the number of successive rounds that protect the same node: half of all, but
// enough to detect a leak of its process. Outcomes are retained for ten minutes, so in an hour two
// processes are observed for longer than that after their warmup.
func protectedRounds(duration, phase time.Duration) int {
	rounds := int(duration / (phase + 15*time.Second)) // about the duration of a round
	return max(rounds/2, 8)
}

// phase returns the duration of the faults in a round.
func phase(duration time.Duration) time.Duration {
	if *phaseFlag > 0 {
		return *phaseFlag
	}
	return max(min(42*time.Second, duration/3), 7*time.Second)
}

// TestSoak is the soak. An interrupt ends it early, with cleanup.
func TestSoak(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64N(1e9)
	}
	opt := ScheduleOptions{Seed: seed, Nodes: nodes, Phase: phase(*durationFlag), Small: -1,
		Replicated: *replicasFlag > 1}
	opt.ProtectedRounds = protectedRounds(*durationFlag, opt.Phase)
	t.Logf("seed %d, for %v, with faults for %v in a round; to repeat: make soak DURATION=%v SEED=%d "+
		"REPLICAS=%d", seed, *durationFlag, opt.Phase, *durationFlag, seed, *replicasFlag)
	starting := time.Now()
	s := &soak{ctx: ctx, cluster: startCluster(t, *replicasFlag), clients: 6}
	t.Logf("the nodes were connected after %.1f s", time.Since(starting).Seconds())
	if s.cluster.hasSmall {
		opt.Small = small
	}
	s.large = createLargeRange(t, s.cluster.Open(t))
	begin := time.Now()
	s.samples.begin = begin
	defer s.report(t, begin)
	for schedule := NewSchedule(opt); time.Since(begin) < *durationFlag; {
		o := &outcome{round: schedule.Next()}
		s.done = append(s.done, o)
		if !t.Run(fmt.Sprintf("round-%d", o.round.Number), func(t *testing.T) { s.run(t, o) }) {
			return
		}
		if ctx.Err() != nil {
			break
		}
		for i, n := range s.cluster.Nodes() {
			s.samples.node(ctx, t, fmt.Sprintf("node[%d]", i), n, s.cluster.runs[i])
		}
		s.samples.clients()
		s.cluster.saveOutput(t)
	}
	if ctx.Err() != nil {
		t.Error(errStopped)
	}
}

// report logs the result of every round, and checks that no quantity grows.
func (s *soak) report(t *testing.T, begin time.Time) {
	lines := []string{fmt.Sprintf("%d rounds in %v", len(s.done), time.Since(begin).Round(time.Second)), outcomeHead}
	for _, o := range s.done {
		lines = append(lines, o.String())
	}
	lines = append(lines, fmt.Sprintf("slow readers read %d entries", s.large.entries))
	lines = append(lines, s.samples.checkGrowth(t, time.Since(begin))...)
	if t.Failed() {
		s.cluster.saveProfiles(t, "end")
	}
	t.Log("\n" + strings.Join(lines, "\n"))
}
