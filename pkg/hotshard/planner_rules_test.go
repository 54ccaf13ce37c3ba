package hotshard

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// plannerModel generates all inputs of a planner and checks its invariants. Moves complete, fail, or remain
// unreported; some of the unreported ones complete late.
type plannerModel struct {
	t          *rapid.T
	p, replica *Planner
	opt        PlannerOptions
	now        int64
	busy       float64
	mode       Mode
	rules      rules
	// owned is when the key arrived; pending are the moves that the planner waits for.
	owned   map[string]int64
	pending map[string]Move
	// begunTo counts the moves to the hot shard (true) and home (false).
	begunTo map[bool]uint64
	since   map[string]int64
	lost    []Move
	begun   []int64
	// late: a move completed after it was given up, so the hot shard may have more keys than MaxKeys.
	late bool
}

var planned = []string{"a", "b", "c", "d", "e", "f", "g", "za", "zb"}

func newPlannerModel(t *rapid.T) *plannerModel {
	opt := PlannerOptions{Hot: 9, Home: homeOf, MaxKeys: rapid.IntRange(1, 5).Draw(t, "keys"),
		Moves: rapid.IntRange(1, 4).Draw(t, "moves")}
	opt.Burst = opt.Moves * rapid.IntRange(1, 3).Draw(t, "burst")
	return &plannerModel{t: t, p: NewPlanner(opt), replica: NewPlanner(opt), opt: opt.withDefaults(), rules: newRules(nil),
		owned: map[string]int64{}, pending: map[string]Move{}, begunTo: map[bool]uint64{}, since: map[string]int64{}}
}

// apply gives both planners the same input.
func (w *plannerModel) apply(f func(p *Planner)) {
	f(w.p)
	f(w.replica)
}

func (w *plannerModel) advance() {
	w.now += rapid.SampledFrom([]int64{0, 100 * ms, 250 * ms, 250 * ms, 250 * ms, sec, 3 * sec, 11 * sec}).Draw(w.t,
		"time")
	for k, since := range w.since {
		if w.now-since >= int64(w.opt.Timeout) {
			w.lost = append(w.lost, w.pending[k])
			delete(w.pending, k)
			delete(w.since, k)
		}
	}
	slices.SortFunc(w.lost, func(a, b Move) int { return slices.Compare(a.Key, b.Key) })
}

// loadReports sends the load reports of all shards; mostly of the keys that they have.
func (w *plannerModel) loadReports() {
	for shard := range kv.ShardID(10) {
		d := &msg.LoadReport{Shard: shard}
		for _, k := range planned {
			_, owned := w.owned[k]
			at := homeOf([]byte(k))
			if owned {
				at = 9
			}
			if at == shard && rapid.IntRange(0, 3).Draw(w.t, "reported") > 0 || rapid.IntRange(0, 40).Draw(w.t, "stale") == 0 {
				d.Keys = append(d.Keys, msg.KeyHeat{Key: []byte(k), Heat: float64(rapid.IntRange(0, 50).Draw(w.t, "heat")),
					Waited:        rapid.SampledFrom([]int64{0, 50, 200, 300}).Draw(w.t, "waited") * ms,
					EstimatedWait: rapid.SampledFrom([]int64{0, 10, 30, 500}).Draw(w.t, "would") * ms})
			}
		}
		w.apply(func(p *Planner) { p.ApplyLoadReport(w.now, d) })
	}
}

func (w *plannerModel) pairReport() {
	d := &msg.PairReport{Gateway: uint32(rapid.IntRange(1, 3).Draw(w.t, "gateway"))}
	for range rapid.IntRange(0, 4).Draw(w.t, "pairs") {
		a, b := rapid.SampledFrom(planned).Draw(w.t, "a"), rapid.SampledFrom(planned).Draw(w.t, "b")
		d.Pairs = append(d.Pairs, msg.HeatPair{A: []byte(a), B: []byte(b), Rate: rapid.Float64Range(0, 20).Draw(w.t, "rate")})
	}
	w.apply(func(p *Planner) { p.ApplyPairReport(w.now, d) })
}

func (w *plannerModel) setRules() {
	w.mode = Mode(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(w.t, "mode"))
	var list []Rule
	for range rapid.IntRange(0, 3).Draw(w.t, "rules") {
		k := rapid.SampledFrom(planned).Draw(w.t, "rule")
		list = append(list, Rule{Key: []byte(k[:1]), Prefix: rapid.Bool().Draw(w.t, "prefix"),
			Order: Order(rapid.IntRange(0, 2).Draw(w.t, "order"))})
	}
	w.rules = newRules(list)
	w.apply(func(p *Planner) { p.SetRules(list) })
	w.apply(func(p *Planner) { p.SetMode(w.mode) })
}

// decide checks every move.
func (w *plannerModel) decide() {
	moves := w.p.Decide(w.now)
	require.Equal(w.t, moves, w.replica.Decide(w.now), "the planner is deterministic")
	for _, m := range moves {
		w.checkMove(m)
		w.begun = append(w.begun, w.now)
		w.begunTo[m.To == 9]++
		w.pending[string(m.Key)], w.since[string(m.Key)] = m, w.now
	}
	counted := map[bool]uint64{}
	for why := range NumMoveCauses {
		if n := w.p.Counters().Begun[why]; n > 0 {
			counted[why.In()] += n
		}
	}
	require.Equal(w.t, w.begunTo, counted, "every move is counted, for a reason of its direction")
	for i, at := range w.begun {
		in := w.now - at
		require.LessOrEqual(w.t, int64(len(w.begun)-i), int64(w.opt.Burst)+in*int64(w.opt.Moves)/sec+1,
			"the budget of the last %v", time.Duration(in))
	}
}

func (w *plannerModel) checkMove(m Move) {
	key, t := string(m.Key), w.t
	require.NotEmpty(t, m.Reason)
	require.NotContains(t, w.pending, key, "one move at a time")
	home, order := homeOf(m.Key), w.rules.of(key).Order
	require.NotEqual(t, kv.ShardID(9), home, "keys placed on the hot shard are never moved")
	since, owned := w.owned[key]
	if m.To == 9 {
		require.False(t, owned)
		require.Equal(t, home, m.From)
		require.NotEqual(t, Ban, order, "banned keys are not moved there")
		require.True(t, w.mode == ModeAuto || w.mode == ModePinned && order == Pin)
		require.True(t, order == Pin || w.busy <= w.opt.Full, "the hot shard is too busy")
		there := len(w.owned)
		for _, u := range w.pending {
			if u.To == 9 {
				there++
			}
		}
		require.Less(t, there, w.opt.MaxKeys, "the hot shard is full")
		return
	}
	require.True(t, owned)
	require.Equal(t, Move{Key: m.Key, From: 9, To: home, Reason: m.Reason}, m)
	if w.mode != ModeOff {
		require.NotEqual(t, Pin, order, "pinned keys stay")
	}
	if w.mode == ModeAuto && order == Free {
		require.GreaterOrEqual(t, w.now-since, int64(w.opt.Relief), "minimum stay")
	}
}

// endMoves completes, fails or leaves open each pending move.
func (w *plannerModel) endMoves() {
	for _, k := range planned {
		m, ok := w.pending[k]
		if !ok {
			continue
		}
		switch rapid.SampledFrom([]string{"made", "made", "made", "failed", "silence"}).Draw(w.t, "outcome") {
		case "made":
			w.executeMove(m)
		case "failed":
			w.apply(func(p *Planner) { p.MoveFailed(w.now, m.Key) })
		default:
			continue
		}
		delete(w.pending, k)
		delete(w.since, k)
	}
	if len(w.lost) > 0 && rapid.IntRange(0, 5).Draw(w.t, "late") == 0 {
		m := w.lost[0]
		w.lost = w.lost[1:]
		if _, ok := w.pending[string(m.Key)]; !ok {
			w.late = true
			w.executeMove(m)
		}
	}
}

func (w *plannerModel) executeMove(m Move) {
	if m.To != 9 {
		delete(w.owned, string(m.Key))
		w.apply(func(p *Planner) { p.KeyLeft(w.now, m.Key) })
	} else if _, ok := w.owned[string(m.Key)]; !ok {
		w.owned[string(m.Key)] = w.now
		w.apply(func(p *Planner) { p.KeyArrived(w.now, m.Key, w.now) })
	}
}

// checkInvariants checks what holds at any time.
func (w *plannerModel) checkInvariants() {
	require.True(w.t, w.late || len(w.owned) <= w.opt.MaxKeys)
	m, again := w.p.HeatMap(w.now), w.replica.HeatMap(w.now)
	require.Equal(w.t, m, again)
	if m != nil {
		require.Len(w.t, m.Moved, len(w.owned))
		require.True(w.t, slices.IsSortedFunc(m.Moved, func(a, b []byte) int { return slices.Compare(a, b) }))
		for _, k := range m.Moved {
			require.Contains(w.t, w.owned, string(k))
		}
	}
	require.Equal(w.t, w.p.Keys(w.now), w.replica.Keys(w.now))
	for _, k := range w.p.Keys(w.now) {
		require.NotEmpty(w.t, k.Reason)
	}
	require.LessOrEqual(w.t, len(w.p.keys), len(planned))
}

func TestPlannerInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newPlannerModel(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.advance()
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				w.setRules()
			case 1:
				w.busy = rapid.SampledFrom([]float64{0, 0.5, 0.7, 0.9, 1}).Draw(t, "busy")
				w.apply(func(p *Planner) { p.SetBusyShare(w.now, w.busy) })
			case 2, 3:
				w.pairReport()
			default:
				w.loadReports()
			}
			w.decide()
			w.endMoves()
			w.checkInvariants()
		}
		w.checkIdle()
	})
}

// checkIdle: without further reports the planner becomes inactive, and all keys go home.
func (w *plannerModel) checkIdle() {
	w.mode, w.busy = ModeAuto, 0
	w.apply(func(p *Planner) { p.SetMode(ModeAuto) })
	w.apply(func(p *Planner) { p.SetRules(nil) })
	w.rules = newRules(nil)
	for range 900 {
		w.now += sec
		w.decide()
		for k, m := range w.pending {
			w.executeMove(m)
			delete(w.pending, k)
			delete(w.since, k)
		}
		w.apply(func(p *Planner) { p.HeatMap(w.now) })
	}
	require.Empty(w.t, w.owned)
	require.False(w.t, w.p.Active())
	require.Empty(w.t, w.p.keys)
}

// A key moves to the hot shard at most once within Stay, for any heat.
func TestKeysDoNotFlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newPlannerModel(t)
		came := map[string][]int64{}
		for range rapid.IntRange(100, 200).Draw(t, "steps") {
			w.now += 250 * ms
			if rapid.IntRange(0, 9).Draw(t, "busy?") == 0 {
				w.busy = rapid.SampledFrom([]float64{0.3, 0.95}).Draw(t, "busy")
				w.apply(func(p *Planner) { p.SetBusyShare(w.now, w.busy) })
			}
			w.loadReports()
			w.decide()
			for k, m := range w.pending {
				if m.To == 9 {
					came[k] = append(came[k], w.now)
				}
				w.executeMove(m)
				delete(w.pending, k)
				delete(w.since, k)
			}
		}
		for k, times := range came {
			for i := 1; i < len(times); i++ {
				require.GreaterOrEqual(t, times[i]-times[i-1], int64(w.opt.Stay), k)
			}
			require.LessOrEqual(t, len(times), 1+int(time.Duration(w.now)/w.opt.Stay), fmt.Sprint(k, " came at ", times))
		}
	})
}
