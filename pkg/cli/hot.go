package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func hotCommand(size func() (lines, columns int)) *cobra.Command {
	var f flags
	var limit int
	var watch bool
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "hot",
		Short: "Show the hot keys, and say which live on the hot shard",
		Long: `Show the keys of the cluster that transactions clash over: the shard that each is
on, the clashes a second, for how long transactions wait for it in a second all
together and because of what, how many updates a second readers hold, how many
transactions wait just now, since when the key is on the hot shard, what the rules
say of it, and why it is where it is. Below are the mode, how busy the hot shard
is, and the rules.

Keys for which somebody waits are moved to the hot shard, and home again when
nobody does (mode auto). "pin" and "ban" make a rule for a key, and "mode" says
what is moved at all; rules and mode outlast restarts.`,
		Example: `  linchpin hot --limit 5
  linchpin hot --watch --for 1m
  linchpin hot pin visits
  linchpin hot mode pinned`,
		Args: arguments(0, 0),
	}
	f.addTo(cmd, true)
	f.fits(cmd, size)
	cmd.Flags().IntVar(&limit, "limit", 10, "show so many keys")
	cmd.Flags().BoolVar(&watch, "watch", false, "show them again every second, in place on a terminal, until interrupted; --timeout is for each time")
	cmd.Flags().DurationVar(&length, "for", 0, "with --watch: how long; 0 is without end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case limit < 1:
			return usagef(cmd, "--limit is %d, want 1 or more", limit)
		case length != 0 && !watch:
			return usagef(cmd, "--for is for --watch, which is missing")
		case length < 0:
			return usagef(cmd, "--for is %v, want 0 or more", length)
		}
		show := func(ctx context.Context, s *session) error {
			r, err := s.db.HotKeys(ctx, limit)
			if err != nil {
				return err
			}
			return s.printHot(r)
		}
		if !watch {
			return connected(&f, func(ctx context.Context, s *session, _ []string) error { return show(ctx, s) })(cmd, args)
		}
		f.lasts = true
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			return s.watch(ctx, length, size, show)
		})(cmd, args)
	}
	cmd.AddCommand(hotRule("pin", pb.HotPolicy_HOT_PIN, "Keep a key on the hot shard", `Have a key moved to the hot shard, now and whenever it is elsewhere, in any mode but
off. With --prefix the rule is for all keys with the prefix, and moves those that
transactions clash over.`),
		hotRule("unpin", pb.HotPolicy_HOT_FREE, "Remove the rule for a key", `Remove the rule for a key or prefix, whether it was pinned or banned. A key on the hot
shard goes home when nobody has waited for it for some seconds.`),
		hotRule("ban", pb.HotPolicy_HOT_BAN, "Keep a key from the hot shard", `Have a key stay at home, on the shard that it would be on if there were no hot shard.
If it has been moved it goes home.`), hotMode(), hotMoves(size))
	return cmd
}

func hotRule(verb string, order pb.HotPolicy, short, long string) *cobra.Command {
	var f flags
	var prefix bool
	cmd := &cobra.Command{
		Use:     verb + " KEY",
		Short:   short,
		Long:    long,
		Example: "  linchpin hot " + verb + " visits\n  linchpin hot " + verb + " counters/ --prefix",
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	cmd.Flags().BoolVar(&prefix, "prefix", false, "KEY is how keys begin")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		key, err := s.bytes(args[0])
		if err != nil {
			return err
		}
		r, err := s.db.SetHotRule(ctx, pb.HotRule{Key: key, Prefix: prefix, Policy: order})
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printHot(r)
	})
	return cmd
}

// hotModes are the modes as the command line names them.
var hotModes = map[pb.HotMode]string{pb.HotMode_HOT_MODE_AUTO: "auto", pb.HotMode_HOT_MODE_PINNED: "pinned", pb.HotMode_HOT_MODE_OFF: "off"}

func hotMode() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "mode off|pinned|auto",
		Short: "Say which keys are moved to the hot shard",
		Long: `Say which keys are moved to the hot shard: those that transactions wait for and those
that are pinned (auto), those that are pinned (pinned), or none (off), which
brings home all that have been moved. The mode holds until it is set again, and
goes before the --hot with which nodes are started.`,
		Example: `  linchpin hot mode pinned`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	set := connected(&f, func(ctx context.Context, s *session, args []string) error {
		r, err := s.db.SetHotMode(ctx, modeNamed(args[0]))
		if err != nil {
			return err
		}
		s.changed(kv.TxnID{})
		return s.printHot(r)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if modeNamed(args[0]) == pb.HotMode_HOT_MODE_NONE {
			return usagef(cmd, "the mode is %q, want off, pinned or auto", args[0])
		}
		return set(cmd, args)
	}
	return cmd
}

func modeNamed(name string) pb.HotMode {
	for m, n := range hotModes {
		if n == name {
			return m
		}
	}
	return pb.HotMode_HOT_MODE_NONE
}

var hotOrders = map[pb.HotPolicy]string{pb.HotPolicy_HOT_PIN: "pinned", pb.HotPolicy_HOT_BAN: "banned"}

// hotState is what is to be known of a key besides numbers.
func hotState(k *pb.HotKey) string {
	var of []string
	if o := hotOrders[k.Policy]; o != "" {
		of = append(of, o)
	}
	if k.Moving {
		of = append(of, "moving")
	}
	return strings.Join(of, ", ")
}

// inMillis is a time, rounded.
func inMillis(us uint64) time.Duration {
	return (time.Duration(us) * time.Microsecond).Round(time.Millisecond)
}

// hotCauses says what the waiting for a key is made of.
func hotCauses(k *pb.HotKey) string {
	var of []string
	for _, c := range []struct {
		name string
		us   uint64
	}{{"locks", k.LockWaitUsPerS}, {"held", k.HeldUsPerS}, {"reads", k.ReadWaitUsPerS}, {"retries", k.RetryUsPerS}} {
		if d := inMillis(c.us); d > 0 {
			of = append(of, c.name+" "+d.String())
		}
	}
	return strings.Join(of, ", ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (s *session) printHot(r *pb.HotKeysResponse) error {
	if s.json {
		return s.hotObjects(r)
	}
	t := s.table("KEY", "SHARD", "CLASHES/S", "WAIT/S", "OF WHICH", "HOLDS/S", "QUEUE", "SINCE", "STATE", "WHY")
	for i := range r.Keys {
		k := &r.Keys[i]
		since := ""
		if k.MovedNs != 0 {
			since = max(time.Since(time.Unix(0, k.MovedNs)), 0).Round(time.Second).String()
		}
		t.row(s.text(k.Key), fmt.Sprintf("s%d", k.Shard), fmt.Sprintf("%.1f", k.ConflictsPerS), inMillis(k.WaitUsPerS).String(), orDash(hotCauses(k)),
			fmt.Sprintf("%.1f", k.HoldsPerS), fmt.Sprint(k.Waiters), orDash(since), orDash(hotState(k)), orDash(k.Reason))
	}
	if err := t.flush(); err != nil {
		return err
	}
	var rules []string
	for i := range r.Rules {
		rules = append(rules, s.ruleText(&r.Rules[i]))
	}
	if len(rules) == 0 {
		rules = []string{"none"}
	}
	return s.printf("mode: %s\nhot shard: busy %.0f%% of the time\nrules: %s\n", hotModes[r.Mode], 100*r.Utilization, strings.Join(rules, ", "))
}

func (s *session) ruleText(r *pb.HotRule) string {
	out := s.text(r.Key) + " " + hotOrders[r.Policy]
	if r.Prefix {
		out += " (prefix)"
	}
	return out
}

// hotItem is a hot key as JSON.
type hotItem struct {
	item
	Shard       uint32     `json:"shard"`
	Clashes     float64    `json:"clashes_per_s"`
	WaitingUs   uint64     `json:"waiting_us_per_s"`
	WouldWaitUs uint64     `json:"would_wait_us_per_s"`
	LockWaitUs  uint64     `json:"lock_wait_us_per_s"`
	HeldUs      uint64     `json:"held_us_per_s"`
	ReadWaitUs  uint64     `json:"read_wait_us_per_s"`
	RetryUs     uint64     `json:"retry_us_per_s"`
	Holds       float64    `json:"holds_per_s"`
	Queue       uint32     `json:"queue"`
	Moved       *time.Time `json:"moved,omitempty"`
	Order       string     `json:"order,omitempty"`
	Moving      bool       `json:"moving"`
	Why         string     `json:"why"`
	WaitedUs    uint64     `json:"waited_us"`
	Waits       uint64     `json:"waits"`
}

// hotRuleItem is a rule as JSON.
type hotRuleItem struct {
	item
	Prefix bool   `json:"prefix"`
	Order  string `json:"order"`
}

// hotObjects writes an object for each key, and one for the rest.
func (s *session) hotObjects(r *pb.HotKeysResponse) error {
	for i := range r.Keys {
		k := &r.Keys[i]
		it := hotItem{item: s.keyItem(k.Key), Shard: k.Shard, Clashes: k.ConflictsPerS, WaitingUs: k.WaitUsPerS, WouldWaitUs: k.EstimatedWaitUsPerS,
			LockWaitUs: k.LockWaitUsPerS, HeldUs: k.HeldUsPerS, ReadWaitUs: k.ReadWaitUsPerS, RetryUs: k.RetryUsPerS, Holds: k.HoldsPerS, Queue: k.Waiters,
			Order: hotOrders[k.Policy], Moving: k.Moving, Why: k.Reason, WaitedUs: k.WaitedUs, Waits: k.Waits}
		if k.MovedNs != 0 {
			at := time.Unix(0, k.MovedNs).UTC()
			it.Moved = &at
		}
		if err := s.object(it); err != nil {
			return err
		}
	}
	rules := make([]hotRuleItem, 0, len(r.Rules))
	for i := range r.Rules {
		h := &r.Rules[i]
		rules = append(rules, hotRuleItem{s.keyItem(h.Key), h.Prefix, hotOrders[h.Policy]})
	}
	return s.object(struct {
		Mode  string        `json:"mode"`
		Busy  float64       `json:"busy"`
		Rules []hotRuleItem `json:"rules"`
	}{hotModes[r.Mode], r.Utilization, rules})
}
