package hotshard

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestPlannerScripts runs the scripts in testdata. The hot shard is s9. Keys that begin with a, b, c, d are
// on s1, s2, s3, s1 and so on; keys that begin with z were placed on the hot shard. A line is one step:
//
//	report s1 a=20/150ms d=5/10ms+30ms   conflicts/waiting+avoided waiting, per second
//	pairs n1 a+b=15                      written together, per second
//	busy 0.7
//	rules pin a, ban user:*
//	mode off | pinned | auto
//	owned a | left a | failed a          the end of a move
//	at 3s                                sets the time
//	until 9s STEP; STEP                  repeats the steps every 250 ms, each time with a decision
//	decide | map | why a | keys | active | moves
//
// With the option "made" every move completes at once.
func TestPlannerScripts(t *testing.T) {
	golden.Run(t, "testdata/planner", func() *golden.Script {
		s := &plannerScript{}
		return &golden.Script{New: s.start, Do: s.do, After: func() (string, error) { return "", nil }}
	})
}

type plannerScript struct {
	p       *Planner
	now     int64
	execute bool
}

func homeOf(key []byte) kv.ShardID {
	if key[0] == 'z' {
		return 9
	}
	return kv.ShardID((key[0]-'a')%3) + 1
}

func (s *plannerScript) start(options map[string]string) error {
	opt := PlannerOptions{Hot: 9, Home: homeOf, Epoch: 100, Up: 100 * time.Millisecond, Down: 20 * time.Millisecond,
		Stay: 10 * time.Second}
	s.now = 0
	err := golden.Set(options, func(fs *flag.FlagSet) {
		fs.BoolVar(&s.execute, "made", false, "")
		fs.IntVar(&opt.MaxKeys, "keys", 0, "")
		fs.IntVar(&opt.Moves, "moves", 0, "")
		fs.IntVar(&opt.Burst, "burst", 0, "")
	})
	opt.Burst = max(opt.Burst, opt.Moves)
	s.p = NewPlanner(opt)
	return err
}

func (s *plannerScript) do(line string) (string, error) {
	out, err := s.step(strings.Fields(line))
	if out != "" {
		out = "\n  " + strings.ReplaceAll(strings.TrimRight(out, "\n"), "\n", "\n  ")
	}
	return line + out, err
}

func (s *plannerScript) step(w []string) (out string, err error) {
	key := []byte(strings.Join(w[1:], " "))
	switch w[0] {
	case "report":
		err = s.loadReport(w[1:])
	case "pairs":
		err = s.pairReport(w[1:])
	case "busy":
		var share float64
		share, err = strconv.ParseFloat(w[1], 64)
		s.p.SetBusyShare(s.now, share)
	case "rules":
		err = s.rules(string(key))
	case "mode":
		s.p.SetMode(Mode(slices.Index([]string{"auto", "pinned", "off"}, w[1])))
	case "owned":
		s.p.KeyArrived(s.now, key, s.now)
	case "left":
		s.p.KeyLeft(s.now, key)
	case "failed":
		s.p.MoveFailed(s.now, key)
	case "at":
		err = s.setTime(w[1])
	case "until":
		return s.until(w[1], w[2:])
	case "decide":
		return s.decide(), nil
	case "map":
		m := s.p.HeatMap(s.now)
		if m == nil {
			return "nothing", nil
		}
		return strings.TrimPrefix(golden.Message(&msg.Envelope{Body: m}), "to s0: "), nil
	case "why":
		why := s.p.Why(key)
		if with, ok := Partner(why); ok {
			why += fmt.Sprintf("\npartner: %q", with)
		}
		return why, nil
	case "keys":
		return s.keys(), nil
	case "moves":
		for _, m := range s.p.Moves() {
			out += fmt.Sprintf("%s from %v to %v at %v: %s\n", m.Key, m.From, m.To, time.Duration(m.At), m.Reason)
		}
	case "active":
		return fmt.Sprint(s.p.Active()), nil
	default:
		err = fmt.Errorf("no verb %q", w[0])
	}
	return out, err
}

func (s *plannerScript) setTime(w string) error {
	d, err := time.ParseDuration(w)
	s.now = int64(d)
	return err
}

// until repeats steps every 250 ms and returns the moves of each decision.
func (s *plannerScript) until(end string, w []string) (out string, err error) {
	to, err := time.ParseDuration(end)
	for err == nil && s.now+int64(quarter) <= int64(to) {
		s.now += int64(quarter)
		for _, step := range strings.Split(strings.Join(w, " "), ";") {
			_, err = s.step(strings.Fields(step))
			if err != nil {
				return out, err
			}
		}
		if moves := s.decide(); moves != "no moves" {
			out += fmt.Sprintf("at %v:\n%s\n", time.Duration(s.now), moves)
		}
	}
	return out, err
}

func (s *plannerScript) decide() (out string) {
	moves := s.p.Decide(s.now)
	for _, m := range moves {
		out += fmt.Sprintf("%s from %v to %v: %s\n", m.Key, m.From, m.To, m.Reason)
		switch {
		case s.execute && m.To == 9:
			s.p.KeyArrived(s.now, m.Key, s.now)
		case s.execute:
			s.p.KeyLeft(s.now, m.Key)
		}
	}
	if len(moves) == 0 {
		return "no moves"
	}
	return strings.TrimRight(out, "\n")
}

func (s *plannerScript) loadReport(w []string) (err error) {
	d := &msg.LoadReport{}
	d.Shard, err = golden.Shard(w[0])
	if err != nil {
		return err
	}
	for _, word := range w[1:] {
		k, heat, _ := strings.Cut(word, "=")
		heat, waits, _ := strings.Cut(heat, "/")
		waited, would, _ := strings.Cut(waits, "+")
		h := msg.KeyHeat{Key: []byte(k), Shard: d.Shard}
		h.Heat, err = strconv.ParseFloat(heat, 64)
		if err != nil {
			return err
		}
		for text, into := range map[string]*int64{waited: &h.Waited, would: &h.EstimatedWait} {
			if text != "" {
				nanos, err := time.ParseDuration(text)
				if err != nil {
					return err
				}
				*into = int64(nanos)
			}
		}
		d.Keys = append(d.Keys, h)
	}
	s.p.ApplyLoadReport(s.now, d)
	return nil
}

func (s *plannerScript) pairReport(w []string) error {
	n, err := strconv.Atoi(w[0][1:])
	d := &msg.PairReport{Gateway: uint32(n)}
	for _, word := range w[1:] {
		ab, rate, _ := strings.Cut(word, "=")
		a, b, _ := strings.Cut(ab, "+")
		var r float64
		r, err = strconv.ParseFloat(rate, 64)
		if err != nil {
			return err
		}
		d.Pairs = append(d.Pairs, msg.HeatPair{A: []byte(a), B: []byte(b), Rate: r})
	}
	s.p.ApplyPairReport(s.now, d)
	return err
}

// rules parses rules such as: pin a, ban user:*.
func (s *plannerScript) rules(text string) error {
	var list []Rule
	for _, rule := range strings.Split(text, ",") {
		w := strings.Fields(rule)
		if len(w) == 0 {
			continue
		}
		order := slices.Index([]string{"free", "pin", "ban"}, w[0])
		if order < 0 || len(w) != 2 {
			return fmt.Errorf("no rule %q", rule)
		}
		prefix := strings.HasSuffix(w[1], "*")
		list = append(list, Rule{Key: []byte(strings.TrimSuffix(w[1], "*")), Prefix: prefix, Order: Order(order)})
	}
	s.p.SetRules(list)
	return nil
}

func (s *plannerScript) keys() (out string) {
	for _, k := range s.p.Keys(s.now) {
		out += fmt.Sprintf("%s on %v, %v, %.3g/s, waited %v, estimated %v", k.Key, k.Shard, Order(k.Order), k.Heat,
			time.Duration(k.Waited), time.Duration(k.EstimatedWait))
		if s.p.keys[string(k.Key)].owned {
			out += fmt.Sprintf(", moved at %v", time.Duration(k.Since))
		}
		if k.Moving {
			out += ", moving"
		}
		out += fmt.Sprintf(": %s\n", k.Reason)
	}
	return out
}
