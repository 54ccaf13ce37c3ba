package outcome

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/test/golden"
)

// none: no mutant is active.
var none mutant.Set

// TestGolden runs the scripts in testdata. The verbs:
//
//	A finish | applied | forget-fences
//	A abort | fence [of u1]       for that user
//	A query [of u1] [knew 3]      prints what memory knows about a commit that is sent now, or
//	                              was sent when its gateway knew of 3 aborts
//
// After each step it prints the low watermark of commits, and those of aborts by user.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

type script struct{ m *Memory }

func (s *script) start(options map[string]string) (err error) {
	limit := 100
	if v, ok := options["memory"]; ok {
		limit, err = strconv.Atoi(v)
	}
	s.m = NewMemory(limit, none)
	return err
}

// options parses "of u1" and "knew 3".
func (s *script) options(args []string) (user kv.Account, known uint64, err error) {
	known = s.m.AbortCount()
	for len(args) > 1 && err == nil {
		switch args[0] {
		case "of":
			_, err = fmt.Sscanf(args[1], "u%d", &user)
		case "knew":
			_, err = fmt.Sscanf(args[1], "%d", &known)
		default:
			err = fmt.Errorf("unknown option %q", args[0])
		}
		args = args[2:]
	}
	return user, known, err
}

func (s *script) do(line string) (string, error) {
	words := strings.Fields(line)
	txn, err := golden.Txn(words[0])
	if err != nil {
		return "", err
	}
	verb, args := words[1], words[2:]
	user, known, err := s.options(args)
	switch verb {
	case "finish":
		s.m.RecordFinished(txn.TxnID, Finished{Committed: txn.Attempt})
	case "applied":
		f := s.m.Finished(txn.TxnID)
		f.Applied = txn.Attempt
		s.m.RecordFinished(txn.TxnID, f)
	case "abort":
		s.m.Abort(user, firstOf(txn), &msg.Failure{Reason: msg.ReasonWounded})
	case "fence":
		s.m.fences.add(user, txn.TxnID, kv.MaxFences)
	case "forget-fences":
		s.m.dropBelow(txn.Time)
	case "query":
		return golden.Name(txn) + " is " + s.query(txn, user, known), err
	default:
		return "", fmt.Errorf("no verb %q", verb)
	}
	return "", err
}

func (s *script) query(txn kv.TxnRef, user kv.Account, known uint64) string {
	var out []string
	if f := s.m.Finished(txn.TxnID); f != (Finished{}) {
		out = append(out, fmt.Sprintf("finished (committed attempt %d, applied %d)", f.Committed, f.Applied))
	} else if !s.m.IsComplete(txn.TxnID) {
		out = append(out, "perhaps committed, look it up")
	}
	if f, ok := s.m.FindAbort(firstOf(txn)); ok {
		out = append(out, "aborted ("+f.Reason.String()+")")
	} else if s.m.IsPresumedAborted(user, known) {
		out = append(out, "presumed aborted")
	}
	if s.m.IsFenced(txn.TxnID) {
		out = append(out, "fenced")
	}
	if out == nil {
		return "new"
	}
	return strings.Join(out, ", ")
}

func (s *script) after() (string, error) {
	finished, aborted, fences := s.m.Len()
	if finished+aborted+fences == 0 {
		return "", nil
	}
	return fmt.Sprintf("  memory: %d finished, %d aborted, %d fences; low watermarks %s and%s",
		finished, aborted, fences, watermarkName(s.m.lowWatermark), s.abortWatermarks()), nil
}

// abortWatermarks prints the low watermarks of aborts, first the common one.
func (s *script) abortWatermarks() string {
	a := &s.m.aborts
	out := ""
	if a.commonLowWatermark > 0 {
		out = fmt.Sprintf(" %d", a.commonLowWatermark)
	}
	for _, user := range slices.Sorted(maps.Keys(a.shares)) {
		if f := a.shares[user].lowWatermark; f > 0 {
			out += fmt.Sprintf(" u%d:%d", user, f)
		}
	}
	if out == "" {
		return " none"
	}
	return out
}

// watermarkName returns the first transaction that is not below a low watermark.
func watermarkName(time int64) string {
	if time == 0 {
		return "none"
	}
	return golden.NameID(kv.TxnID{Time: time})
}
