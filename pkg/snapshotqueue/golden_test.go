package snapshotqueue

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata. Updates are called A, B, C, and readers R, S, T. A line is a
// name and a verb:
//
//	A prepared k:write [c,f):add   its changes; - for none
//	A recovered k:write            the same, from the log at a restart
//	A decided | unsealed 1.1       the response of its last agent; also: age 30ms
//	C holds k:write | unready | withdraws   a piece that this shard decides
//	R reads k:read [a,c):read      also: lasting, stays, whole, until 2s, and as=x
//	                               to name one of several reads
//	R checks k:read                the undecided updates that its registration would hold
//	R done [x]                     the read has returned, or is given up
//	R deregisters | renews until 3s
//	at 20ms                        set the time and call Tick
//	clock 20ms                     set the time only
//
// A vote is printed when an update is prepared, and when it seals later. Each step ends with a list of the updates
// and then of the readers.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

type script struct {
	q     *Queue
	now   int64
	reads map[string]*Read
}

// lease is the default duration of a registration in the scripts.
const lease = int64(2 * time.Second)

func (s *script) start(options map[string]string) error {
	var opt Options
	var incarnation uint64
	var sealFrom time.Duration
	s.now, s.reads = 0, map[string]*Read{}
	err := golden.Set(options, func(fs *flag.FlagSet) {
		fs.DurationVar(&opt.UnsealAfter, "unseal-after", 20*time.Millisecond, "")
		fs.DurationVar(&opt.Repeat, "repeat", 0, "")
		fs.DurationVar(&opt.CloseAfter, "hold-bound", 100*time.Millisecond, "")
		fs.Uint64Var(&incarnation, "incarnation", 1, "")
		fs.DurationVar(&sealFrom, "seal-from", 0, "")
	})
	opt.Incarnation, opt.SealFrom = kv.Incarnation(incarnation), int64(sealFrom)
	s.q = New(opt)
	return err
}

func nanos(text string) (int64, error) {
	d, err := time.ParseDuration(text)
	return int64(d), err
}

// do executes a line and prints its result and the events that it caused.
func (s *script) do(line string) (string, error) {
	words := strings.Fields(line)
	out, err := s.line(words)
	if err != nil {
		return "", err
	}
	c := s.q.Changes()
	for _, r := range c.Expired {
		out = append(out, "lapsed: "+r.Tag.(string))
	}
	for _, r := range c.Ready {
		text := "ready: " + r.Tag.(string)
		if nanos, key, holder := r.Waited(); nanos > 0 {
			text += fmt.Sprintf(", waited %s for %s of %s", golden.Time(nanos), golden.Key(key), golden.Name(holder))
		}
		out = append(out, text)
	}
	for _, txn := range c.Sealed {
		out = append(out, "again: "+s.vote(txn))
	}
	for _, f := range c.Free {
		out = append(out, "free: "+golden.Name(f.Txn)+held(f.Nanos, f.Key))
	}
	return strings.Join(out, "\n"), s.q.Check()
}

func (s *script) line(words []string) (out []string, err error) {
	if words[0] == "at" || words[0] == "clock" {
		s.now, err = nanos(words[1])
		if err != nil || words[0] == "clock" {
			return nil, err
		}
		for _, a := range s.q.Tick(s.now) {
			out = append(out, fmt.Sprintf("request to unseal %s %v", golden.Name(a.Txn), a.Epoch))
		}
		return out, nil
	}
	txn, err := golden.Txn(words[0])
	if err != nil {
		return nil, err
	}
	text, known, err := s.updateVerb(txn, words[1], words[2:])
	if !known {
		text, err = s.readerVerb(txn, words[1], words[2:])
	}
	if text != "" {
		out = append(out, text)
	}
	return out, err
}

func (s *script) updateVerb(txn kv.TxnRef, verb string, args []string) (text string, known bool, err error) {
	var needs []Need
	switch verb {
	case "prepared", "recovered", "holds":
		needs, err = needsOf(args)
		if err != nil {
			return "", true, err
		}
	}
	switch verb {
	case "prepared":
		s.q.Prepared(s.now, txn, needs)
		return s.vote(txn), true, nil
	case "recovered":
		s.q.Recover(s.now, txn, needs)
		return s.vote(txn), true, nil
	case "holds":
		if s.q.Hold(s.now, txn, needs) {
			return golden.Name(txn) + " must wait", true, nil
		}
		return golden.Name(txn) + " can be decided", true, nil
	case "withdraws":
		s.q.Withdraw(s.now, txn)
		return "", true, nil
	case "unready":
		s.q.AwaitVotes(s.now, txn)
		return "", true, nil
	case "decided":
		s.q.Decided(s.now, txn)
		return "", true, nil
	case "unsealed":
		var e kv.Epoch
		_, err = fmt.Sscanf(args[0], "%d.%d", &e.Incarnation, &e.Count)
		if err != nil {
			return "", true, err
		}
		age := int64(0)
		if len(args) > 2 && args[1] == "age" {
			age, err = nanos(args[2])
		}
		s.q.Unsealed(s.now, txn, e, age)
		return "", true, err
	}
	return "", false, nil
}

// vote is the vote that the shard sends to the last agent of an update.
func (s *script) vote(txn kv.TxnRef) string {
	state, epoch := s.q.State(txn)
	text := golden.Name(txn) + " votes held"
	if state == Sealed {
		text = golden.Name(txn) + " votes sealed " + epoch.String()
	}
	return text + held(s.q.HeldTime(s.now, txn))
}

// held prints for how long an update was held, and the key whose readers held it.
func held(nanos int64, key []byte) string {
	switch {
	case nanos == 0:
		return ""
	case key == nil:
		return ", held " + golden.Time(nanos)
	}
	return fmt.Sprintf(", held %s for readers of %s", golden.Time(nanos), golden.Key(key))
}

func (s *script) readerVerb(id kv.TxnRef, verb string, args []string) (string, error) {
	name := golden.Name(id)
	switch verb {
	case "reads":
		return s.read(id, name, args)
	case "done":
		name = strings.Join(append([]string{name}, args...), ".")
		if s.reads[name] == nil {
			return "", fmt.Errorf("no read %s", name)
		}
		s.q.Done(s.now, s.reads[name])
		return "", nil
	case "checks":
		needs, err := needsOf(args)
		if err != nil {
			return "", err
		}
		undecided, age := s.q.CheckUndecided(s.now, needs)
		return fmt.Sprintf("%s finds undecided updates: %t, blocked for %s", name, undecided, golden.Time(age)), nil
	case "deregisters":
		s.q.Deregister(s.now, id)
		return "", nil
	case "renews":
		until, err := nanos(args[1])
		if s.q.Renew(s.now, id, until) {
			return name + " is renewed", err
		}
		return name + " is not renewed", err
	}
	return "", fmt.Errorf("no verb %q", verb)
}

func (s *script) read(id kv.TxnRef, name string, args []string) (text string, err error) {
	r := &Read{Reader: id, Until: s.now + lease}
	for i := 0; i < len(args); i++ {
		as, named := strings.CutPrefix(args[i], "as=")
		switch {
		case named:
			name += "." + as
		case args[i] == "lasting":
			r.Lasting = true
		case args[i] == "stays":
			r.UntilDone = true
		case args[i] == "whole":
			r.WholeShard = true
		case args[i] == "until":
			i++
			r.Until, err = nanos(args[i])
		default:
			var needs []Need
			needs, err = needsOf(args[i : i+1])
			r.Needs = append(r.Needs, needs...)
		}
		if err != nil {
			return "", err
		}
	}
	r.Tag, s.reads[name] = name, r
	switch {
	case s.q.Enter(s.now, r):
		return name + " reads at once", nil
	case r.Refused():
		return name + " is refused", nil
	}
	return name + " waits", nil
}

func needsOf(specs []string) (out []Need, err error) {
	for _, spec := range specs {
		if spec == "-" {
			continue
		}
		at := strings.LastIndex(spec, ":")
		if at < 0 {
			return nil, fmt.Errorf("%q is no need, want key:mode", spec)
		}
		n := Need{}
		n.Span, err = golden.Span(spec[:at])
		if err != nil {
			return nil, err
		}
		for _, m := range []adt.Mode{adt.ModeRead, adt.ModeAdd, adt.ModeWrite} {
			if m.String() == spec[at+1:] {
				n.Mode = m
			}
		}
		if n.Mode == adt.ModeNone {
			return nil, fmt.Errorf("no mode %q", spec[at+1:])
		}
		out = append(out, n)
	}
	return out, nil
}

func (s *script) after() (string, error) { return strings.Join(draw(s.q), "\n"), s.q.Check() }

func TestMalformedScriptLinesAreErrors(t *testing.T) {
	s := &script{}
	require.ErrorContains(t, s.start(map[string]string{"colour": "red"}), "no option")
	require.NoError(t, s.start(nil))
	for _, bad := range []string{"a prepared k:write", "A prepared k", "A prepared k:look", "A jumps",
		"R reads [a:read", "R done"} {
		_, err := s.do(bad)
		require.Error(t, err, bad)
	}
}
