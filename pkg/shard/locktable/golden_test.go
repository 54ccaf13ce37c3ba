package locktable

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata. A line is the name of a
// transaction and a verb:
//
//	A acquire a:write [c,f):read   one request; options: "instant", "nowait", as=x to name one of
//	                               several requests; a:write(put) names the method
//	A release | release-reads      all locks | the read locks
//	A prepared                     its later wounds are for its last agent
//	A restore a:write              a lock recovered from the log
//	A holds a:write#1              whether this grant is still held
//	A shrink x [a,f) [a,c)         releases the rest of the range of request x; - if unnamed
//	A cancel [x] | abort-waiter [x]  a waiting request
//	A receipt [x]                  what the request waits for now
//	at 5ms                         sets the time
//	tick                           wounds and pushes that are due
//
// At the end of a step, grantable requests are granted, wounds are listed, and the table is printed: one line
// per key, with its holders and its queue.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

type script struct {
	t    *Table
	now  int64
	reqs map[string]*Request
}

func (s *script) start(options map[string]string) error {
	var opt Options
	s.now, s.reqs = 0, map[string]*Request{}
	err := golden.Set(options, func(fs *flag.FlagSet) {
		fs.IntVar(&opt.MaxPhaseCount, "phase-count", 3, "")
		fs.IntVar(&opt.MaxKeyWaiters, "max-key-waiters", 0, "")
		fs.IntVar(&opt.MaxWaiters, "max-waiters", 0, "")
		fs.DurationVar(&opt.MaxPhaseTime, "phase-time", 0, "")
		fs.DurationVar(&opt.WoundDelay, "wound-delay", 0, "")
	})
	s.t = New(opt)
	return err
}

func (s *script) do(line string) (string, error) {
	words := strings.Fields(line)
	switch words[0] {
	case "at":
		d, err := time.ParseDuration(words[1])
		s.now = int64(d)
		return "", err
	case "tick":
		out := ""
		for _, txn := range s.t.Tick(s.now) {
			out += "push " + golden.Name(txn) + "\n"
		}
		return out, nil
	}
	txn, err := golden.Txn(words[0])
	if err != nil {
		return "", err
	}
	return s.verb(txn, words[0], words[1], words[2:])
}

func (s *script) verb(txn kv.TxnRef, name, verb string, args []string) (string, error) {
	switch verb {
	case "acquire":
		return s.acquire(txn, name, args)
	case "release":
		s.t.Release(txn)
		return "", nil
	case "release-reads":
		s.t.ReleaseReads(txn)
		return "", nil
	case "prepared":
		s.t.SetPrepared(s.now, txn)
		return "", nil
	case "restore":
		n, err := need(args[0])
		s.t.Restore(txn, 0, n)
		return "", err
	case "holds":
		spec, number, _ := strings.Cut(args[0], "#")
		n, err := need(spec)
		k, _ := strconv.ParseUint(number, 10, 64)
		return fmt.Sprintf("%s %s %s: %v", name, verb, args[0], s.t.Holds(txn, Grant{n.Span, n.Mode, k})), err
	case "shrink":
		if args[0] != "-" {
			name += "." + args[0]
		}
		span, err := golden.Span(args[1])
		keep, bad := golden.Span(args[2])
		s.t.Shrink(s.reqs[name], span, keep)
		return "", errors.Join(err, bad)
	case "receipt":
		w := s.t.Receipt(s.now, s.reqs[strings.Join(append([]string{name}, args...), ".")])
		return fmt.Sprintf("%s has waited %s, open: %t, for %s", name, golden.Time(w.WaitedNanos), w.Open, receipt(w)), nil
	case "cancel", "abort-waiter":
		r := s.reqs[strings.Join(append([]string{name}, args...), ".")]
		if verb == "abort-waiter" {
			return fmt.Sprintf("%s was waiting and is aborted: %v", name, s.t.AbortWaiter(s.now, r)), nil
		}
		s.t.Cancel(r)
		return "", nil
	}
	return "", fmt.Errorf("no verb %q", verb)
}

// need parses "k:write" or "k:write(put)".
func need(s string) (Need, error) {
	s, method, named := strings.Cut(s, "(")
	at := strings.LastIndex(s, ":")
	span, err := golden.Span(s[:at])
	if err != nil {
		return Need{}, err
	}
	for _, m := range []adt.Mode{adt.ModeRead, adt.ModeAdd, adt.ModeWrite} {
		if m.String() == s[at+1:] {
			return Need{Span: span, Mode: m, Methods: methodNamed(strings.TrimSuffix(method, ")"), named).Set()}, nil
		}
	}
	return Need{}, fmt.Errorf("no mode %q", s[at+1:])
}

func methodNamed(name string, named bool) adt.Method {
	for m := adt.MethodNone + 1; named && m < 32; m++ {
		if m.String() == name {
			return m
		}
	}
	return adt.MethodNone
}

// receipt prints what a request waits for or has waited for.
func receipt(r msg.Receipt) string {
	out := golden.Key(r.Key) + methodsOf(r.Methods) + ", behind " + golden.Name(r.Holder) + methodsOf(r.HolderMethods)
	switch r.Cause {
	case msg.CauseQueue:
		out += " in the queue"
	case msg.CauseRange:
		out += " with a range"
	}
	if r.Others > 0 {
		out += fmt.Sprintf(" and %d more", r.Others)
	}
	return out
}

func methodsOf(ms uint64) string {
	if ms == 0 {
		return ""
	}
	return "(" + adt.Methods(ms).Noun(adt.ModeNone) + ")"
}

func (s *script) acquire(txn kv.TxnRef, name string, args []string) (string, error) {
	r := &Request{Txn: txn}
	for _, a := range args {
		as, named := strings.CutPrefix(a, "as=")
		switch {
		case named:
			name += "." + as
		case a == "instant":
			r.Instant = true
		case a == "nowait":
			r.NoWait = true
		default:
			n, err := need(a)
			if err != nil {
				return "", err
			}
			r.Needs = append(r.Needs, n)
		}
	}
	r.Needs, r.Tag = Normalize(r.Needs), name
	s.reqs[name] = r
	switch d := s.t.Acquire(s.now, r); d {
	case Granted:
		return granted(r), nil
	case Waiting, Aborted:
		return fmt.Sprintf("%s %s: for %s", name, d, receipt(r.Receipt())), nil
	case KeyQueueFull:
		_, key, _ := r.Waited()
		return fmt.Sprintf("%s is rejected: the queue of %s is full", name, golden.Key(key)), nil
	default:
		return fmt.Sprintf("%s is rejected: the queue is %s", name, d), nil
	}
}

func granted(r *Request) string {
	out := r.Tag.(string) + " granted"
	for _, g := range r.Grants() {
		out += fmt.Sprintf(" %s:%v#%d", golden.SpanName(g.Span), g.Mode, g.Number)
	}
	if r.Instant {
		out += ", holding nothing"
	}
	if w := r.Receipt(); w.WaitedNanos > 0 {
		out += fmt.Sprintf(" after %s for %s", golden.Time(w.WaitedNanos), receipt(w))
	}
	return out
}

func (s *script) after() (string, error) {
	var out []string
	for r := s.t.Next(s.now); r != nil; r = s.t.Next(s.now) {
		out = append(out, "next: "+granted(r))
	}
	for _, m := range s.t.TakeWounds() {
		to := ""
		if m.Prepared {
			to = ", at its last agent"
		}
		c := m.Conflict
		out = append(out, fmt.Sprintf("wound %s by %s%s: it holds %s%s, which %s needs%s",
			golden.Name(m.Holder), golden.Name(m.By), to,
			golden.Key(c.Key), methodsOf(c.Methods), golden.Name(m.By), methodsOf(c.HolderMethods)))
	}
	if err := s.t.Check(); err != nil {
		return "", err
	}
	return strings.Join(append(out, draw(s.t)...), "\n"), nil
}

// draw prints the table: keys, then range locks, then waiting requests for ranges.
func draw(t *Table) (out []string) {
	line := func(span string, holders []holder, waiters []*Request) {
		text := fmt.Sprintf("  %-6s|", span)
		for _, h := range holders {
			text += fmt.Sprintf(" %s:%v", golden.Name(h.owner.txn), h.mode)
			if h.owner.prepared {
				text += "(prepared)"
			}
		}
		if len(waiters) > 0 {
			text += " <-"
			for _, w := range waiters {
				text += " " + w.Tag.(string)
			}
		}
		out = append(out, text)
	}
	entries := make([]*entry, 0, len(t.keys))
	for _, e := range t.keys {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *entry) int { return strings.Compare(a.key, b.key) })
	for _, e := range entries {
		line(golden.Key([]byte(e.key)), e.holders, e.waiters)
	}
	held := slices.Clone(t.ranges)
	slices.SortStableFunc(held, func(a, b *heldRange) int { return bytes.Compare(a.span.Start, b.span.Start) })
	for _, rh := range held {
		line(golden.SpanName(rh.span), []holder{rh.holder}, nil)
	}
	for _, w := range t.rangeWaiters {
		for _, n := range w.Needs {
			if !n.Span.IsPoint() {
				line(golden.SpanName(n.Span), nil, []*Request{w})
			}
		}
	}
	if len(out) == 0 {
		return []string{"  (empty)"}
	}
	return out
}
