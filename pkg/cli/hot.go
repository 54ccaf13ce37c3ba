package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
)

func hotCommand(size func() (lines, columns int)) *cobra.Command {
	var f flags
	var limit int
	var watch bool
	var length time.Duration
	cmd := command("hot", "Show the hot keys, and control the hot shard", `
Show the keys that transactions wait for, the longest waiting first.

  SHARD        the shard that has the key
  WAIT/S       the time that all transactions together wait for the key per second
  SINCE        for how long the key has been on the hot shard
  WHY          waits: transactions wait for it; with KEY: it is written together with that key;
               pinned, banned: by a rule

--wide adds columns:

  CONFLICTS/S  conflicting writes per second
  OF WHICH     the parts of WAIT/S: locks; held, updates that readers delay; reads, readers that wait for
               undecided updates; retries, aborted attempts
  HOLDS/S      updates per second that readers delay
  WAITERS      transactions that wait now
  REASON       why the key is on its shard

In mode auto, keys that transactions wait for move to the hot shard, and home again when the waiting ends.`, `
  linchpin hot --limit 5
  linchpin hot --watch --for 1m
  linchpin hot pin visits
  linchpin hot mode pinned`, 0, 0)
	f.addTo(cmd, true)
	f.widens(cmd, size, "show all columns")
	cmd.Flags().IntVar(&limit, "limit", 10, "greatest `number` of keys")
	cmd.Flags().BoolVar(&watch, "watch", false, "repeat every second, in place on a terminal; --timeout is for each time")
	cmd.Flags().DurationVar(&length, "for", 0, "with --watch: end after this time (default: when interrupted)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case limit < 1:
			return usagef(cmd, "--limit is %d, want 1 or more", limit)
		case length != 0 && !watch:
			return usagef(cmd, "--for needs --watch")
		case length < 0:
			return usagef(cmd, "--for is %v, want 0 or more", length)
		}
		show := func(ctx context.Context, s *session) error {
			r, err := s.admin().HotKeys(ctx, limit)
			if err != nil {
				return err
			}
			return s.printHot(&r)
		}
		if !watch {
			return connected(&f, func(ctx context.Context, s *session, _ []string) error { return show(ctx, s) })(cmd, args)
		}
		f.lasts = true
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			return s.watch(ctx, length, size, show)
		})(cmd, args)
	}
	cmd.AddCommand(hotRule("pin", admin.HotPin, "Pin a key to the hot shard",
		`Pin a key, or the keys with a prefix, to the hot shard: in every mode but off the key moves there and stays.
Of a prefix the keys that transactions wait for move.`),
		hotRule("unpin", admin.HotFree, "Remove the rule for a key",
			`Remove the rule for a key or a prefix, a pin or a ban. A key on the hot shard moves home when no
transaction has waited for it for some seconds.`),
		hotRule("ban", admin.HotBan, "Ban a key from the hot shard",
			`Ban a key, or the keys with a prefix, from the hot shard: the key stays on its home shard, and moves there
if it is on the hot shard.`), hotMode(), hotMoves(size))
	return cmd
}

func hotRule(verb string, policy admin.HotPolicy, short, long string) *cobra.Command {
	var f flags
	var prefix string
	cmd := command(verb+" KEY", short,
		long+" Rules outlast restarts; a longer prefix precedes a shorter one, and a key precedes both.",
		"  linchpin hot "+verb+" visits\n  linchpin hot "+verb+" --prefix counters/", 0, 1)
	f.addTo(cmd, true)
	cmd.Flags().StringVar(&prefix, "prefix", "", "the keys with this `prefix`, instead of KEY")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		byPrefix := cmd.Flags().Changed("prefix")
		if byPrefix == (len(args) == 1) {
			return usagef(cmd, "%s takes a key or --prefix; usage: %s", verb, cmd.UseLine())
		}
		return connected(&f, func(ctx context.Context, s *session, args []string) error {
			key, err := s.decode(strings.Join(append(args, prefix), "")) // one of them is empty
			if err != nil {
				return err
			}
			r, err := s.admin().SetHotRule(ctx, admin.HotRule{Key: key, Prefix: byPrefix, Policy: policy})
			if err != nil {
				return err
			}
			s.changed(client.TxID{})
			return s.printHot(&r)
		})(cmd, args)
	}
	return cmd
}

func hotMode() *cobra.Command {
	var f flags
	cmd := command("mode off|pinned|auto", "Set which keys move to the hot shard", `
Set which keys move to the hot shard: pinned keys and keys that transactions wait for (auto), pinned keys
(pinned), or none (off). Keys that have moved and no longer qualify move home. The mode outlasts restarts, and
precedes the flag --hot of "linchpin start".`,
		`  linchpin hot mode pinned`, 1, 1)
	f.addTo(cmd, true)
	set := connected(&f, func(ctx context.Context, s *session, args []string) error {
		r, err := s.admin().SetHotMode(ctx, admin.HotMode(args[0]))
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printHot(&r)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains([]admin.HotMode{admin.HotOff, admin.HotPinned, admin.HotAuto}, admin.HotMode(args[0])) {
			return usagef(cmd, "the mode is %q, want off, pinned or auto", args[0])
		}
		return set(cmd, args)
	}
	return cmd
}

var hotPolicies = map[admin.HotPolicy]string{admin.HotPin: "pinned", admin.HotBan: "banned"}

// hotWhy is in a word why a key is on its shard, or moves there: "with KEY" if another key is the reason.
func (s *printer) hotWhy(k *admin.HotKey) string {
	why := hotPolicies[k.Policy]
	partner, ok := hotshard.Partner(k.Reason)
	if why == "" && ok {
		why = "with " + s.text(string(partner))
	}
	if why == "" && (k.WaitPerSecond > 0 || !k.Moved.IsZero()) {
		why = "waits"
	}
	if k.Moving {
		why = strings.TrimPrefix(why+", moving", ", ")
	}
	return orDash(why)
}

// hotCauses are the parts of the time that transactions wait for a key.
func hotCauses(k *admin.HotKey) string {
	var of []string
	for _, c := range []struct {
		name string
		wait time.Duration
	}{{"locks", k.LockWaitPerSecond}, {"held", k.HeldPerSecond},
		{"reads", k.ReadWaitPerSecond}, {"retries", k.RetryPerSecond}} {
		if c.wait >= leastShown {
			of = append(of, c.name+" "+detail.Duration(c.wait))
		}
	}
	return strings.Join(of, ", ")
}

// shownWait is the waiting per second, "-" for none.
func shownWait(wait time.Duration) string {
	if wait == 0 {
		return "-"
	}
	return detail.Duration(wait)
}

// leastShown is the shortest waiting per second that OF WHICH names.
const leastShown = 500 * time.Microsecond

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (s *session) printHot(r *admin.HotKeys) error {
	if s.json {
		return s.hotObjects(r)
	}
	head := []string{"KEY", "SHARD", "WAIT/S", "SINCE", "WHY"}
	if s.flags.wide {
		head = append(head, "CONFLICTS/S", "OF WHICH", "HOLDS/S", "WAITERS", "REASON")
	}
	t := s.table(head...)
	for i := range r.Keys {
		k := &r.Keys[i]
		since := ""
		if !k.Moved.IsZero() {
			since = shownAge(time.Since(k.Moved))
		}
		row := []string{s.text(k.Key), fmt.Sprintf("s%d", k.Shard), shownWait(k.WaitPerSecond), orDash(since),
			s.hotWhy(k)}
		if s.flags.wide {
			row = append(row, fmt.Sprintf("%.1f", k.ConflictsPerSecond), orDash(hotCauses(k)),
				fmt.Sprintf("%.1f", k.HoldsPerSecond), fmt.Sprint(k.Waiters), orDash(k.Reason))
		}
		t.row(row...)
	}
	if len(r.Keys) == 0 {
		t.rows = [][]string{{"no hot keys"}}
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
	return s.printf("mode: %s\nhot shard: busy %.0f %% of the time%s\nrules: %s\n",
		r.Mode, 100*r.Utilization, heldByClients(r), strings.Join(rules, ", "))
}

const (
	// idle is the load of the hot shard below which waiting for locks is not its doing.
	idle = 0.2
	// muchWaiting is the time per second that transactions wait for locks before that is explained.
	muchWaiting = 500 * time.Millisecond
)

// heldByClients explains much waiting for locks on a hot shard that is idle.
func heldByClients(r *admin.HotKeys) string {
	var waiting time.Duration
	for i := range r.Keys {
		if !r.Keys[i].Moved.IsZero() {
			waiting += r.Keys[i].LockWaitPerSecond
		}
	}
	if r.Utilization >= idle || waiting < muchWaiting {
		return ""
	}
	return "; transactions wait for locks that interactive transactions hold while their clients think"
}

func (s *printer) ruleText(r *admin.HotRule) string {
	out := s.text(r.Key) + " " + hotPolicies[r.Policy]
	if r.Prefix {
		out += " (prefix)"
	}
	return out
}

// hotItem is a hot key as JSON.
type hotItem struct {
	item
	Shard           int        `json:"shard"`
	Conflicts       float64    `json:"conflicts_per_s"`
	WaitUs          int64      `json:"wait_us_per_s"`
	EstimatedWaitUs int64      `json:"estimated_wait_us_per_s"`
	LockWaitUs      int64      `json:"lock_wait_us_per_s"`
	HeldUs          int64      `json:"held_us_per_s"`
	ReadWaitUs      int64      `json:"read_wait_us_per_s"`
	RetryUs         int64      `json:"retry_us_per_s"`
	Holds           float64    `json:"holds_per_s"`
	Waiters         int        `json:"waiters"`
	Moved           *time.Time `json:"moved,omitempty"`
	Policy          string     `json:"policy,omitempty"`
	Moving          bool       `json:"moving"`
	Reason          string     `json:"reason"`
	WaitedUs        int64      `json:"waited_us"`
	Waits           uint64     `json:"waits"`
}

// hotRuleItem is a rule as JSON.
type hotRuleItem struct {
	item
	Prefix bool   `json:"prefix"`
	Policy string `json:"policy"`
}

// hotObjects writes an object for each key, and one for the rest.
func (s *printer) hotObjects(r *admin.HotKeys) error {
	for i := range r.Keys {
		k := &r.Keys[i]
		it := hotItem{item: s.keyItem(k.Key), Shard: k.Shard, Conflicts: k.ConflictsPerSecond,
			WaitUs: k.WaitPerSecond.Microseconds(), EstimatedWaitUs: k.EstimatedWaitPerSecond.Microseconds(),
			LockWaitUs: k.LockWaitPerSecond.Microseconds(), HeldUs: k.HeldPerSecond.Microseconds(),
			ReadWaitUs: k.ReadWaitPerSecond.Microseconds(), RetryUs: k.RetryPerSecond.Microseconds(),
			Holds: k.HoldsPerSecond, Waiters: k.Waiters, Moved: moment(k.Moved), Policy: hotPolicies[k.Policy],
			Moving: k.Moving, Reason: k.Reason, WaitedUs: k.Waited.Microseconds(), Waits: k.Waits}
		if err := s.object(it); err != nil {
			return err
		}
	}
	rules := make([]hotRuleItem, 0, len(r.Rules))
	for i := range r.Rules {
		h := &r.Rules[i]
		rules = append(rules, hotRuleItem{s.keyItem(h.Key), h.Prefix, hotPolicies[h.Policy]})
	}
	return s.object(struct {
		Mode        admin.HotMode `json:"mode"`
		Utilization float64       `json:"utilization"`
		Rules       []hotRuleItem `json:"rules"`
	}{r.Mode, r.Utilization, rules})
}
