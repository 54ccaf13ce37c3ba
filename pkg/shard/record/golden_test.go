package record

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
//	A seen | pending s1 s2        creates the record, or makes it pending
//	A vote s1 yes 1.3 | yes held | no
//	A commit                      commits it
//	A ack s1 | remove             removes it, at the last acknowledgement or at once
//	A finish | applied | forget-fences
//	A abort | fence [of u1]       for that user
//	A query [of u1] [knew 3]      prints what memory knows about a commit that is sent now, or
//	                              was sent when its gateway knew of 3 aborts
//
// After each step it prints the records, the low watermark of commits, and those of aborts
// by user.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

type script struct {
	t *Table
	m *Memory
}

func (s *script) start(options map[string]string) error {
	limit := 100
	if v, ok := options["memory"]; ok {
		var err error
		limit, err = strconv.Atoi(v)
		if err != nil {
			return err
		}
	}
	s.t, s.m = NewTable(), NewMemory(limit, mutant.Set{})
	return nil
}

func (s *script) do(line string) (string, error) {
	words := strings.Fields(line)
	txn, err := golden.Txn(words[0])
	if err != nil {
		return "", err
	}
	switch words[1] {
	case "seen", "pending", "vote", "commit", "ack", "remove":
		return s.record(txn, words[1], words[2:])
	}
	return s.memory(txn, words[1], words[2:])
}

func shards(words []string) (out []kv.ShardID, err error) {
	for _, w := range words {
		id, err := golden.Shard(w)
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, nil
}

func (s *script) record(txn kv.TxnRef, verb string, args []string) (string, error) {
	r := s.t.Get(txn)
	if r == nil {
		if verb != "seen" && verb != "pending" {
			return golden.Name(txn) + " has no record", nil
		}
		r = s.t.Add(0, txn, firstOf(txn), Seen)
	}
	switch verb {
	case "pending":
		ids, err := shards(args)
		r.State, r.Request = Pending, &msg.CommitRequest{Txn: txn, Participants: ids}
		return "", err
	case "vote":
		return "", vote(r, args)
	case "commit":
		if !r.AllSealed(none) {
			return golden.Name(txn) + " cannot commit: " + describe(r), nil
		}
		results, _, seen := r.VoteSummary()
		out := fmt.Sprintf("%s commits with %d results, sent to %v", golden.Name(txn), len(results), r.DecisionRecipients())
		for _, i := range seen {
			out += fmt.Sprintf(", %v incarnation %d", i.Shard, i.Incarnation)
		}
		r.State, r.Unacknowledged = Committed, append([]kv.ShardID(nil), r.Request.Participants...)
		r.Clear()
		return out, nil
	case "ack":
		ids, err := shards(args)
		if err == nil && r.Acknowledge(ids[0]) {
			s.t.Remove(r)
			return golden.Name(txn) + " is acknowledged by all", nil
		}
		return "", err
	case "remove":
		out := fmt.Sprintf("recipients: %v", r.DecisionRecipients())
		s.t.Remove(r)
		return out, nil
	}
	return "", nil
}

func vote(r *Record, args []string) error {
	id, err := golden.Shard(args[0])
	if err != nil {
		return err
	}
	v := &msg.Vote{Txn: r.Txn, Shard: id, Yes: args[1] == "yes", Incarnation: 1, Results: []msg.Result{{Seq: uint32(id)}}}
	if len(args) > 2 && args[2] != "held" {
		v.Sealed = true
		_, err = fmt.Sscanf(args[2], "%d.%d", &v.Epoch.Incarnation, &v.Epoch.Count)
	}
	r.AddVote(v)
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

func (s *script) memory(txn kv.TxnRef, verb string, args []string) (string, error) {
	user, known, err := s.options(args)
	switch verb {
	case "finish":
		s.m.Finish(txn.TxnID, Finished{Committed: txn.Attempt})
	case "applied":
		f := s.m.Finished(txn.TxnID)
		f.Applied = txn.Attempt
		s.m.Finish(txn.TxnID, f)
	case "abort":
		s.m.Abort(user, firstOf(txn), &msg.Failure{Reason: msg.ReasonWounded})
	case "fence":
		s.m.Fence(user, txn.TxnID)
	case "forget-fences":
		s.m.DropFences(txn.Time)
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

func describe(r *Record) string {
	out := r.State.String()
	if r.Request != nil {
		out += fmt.Sprintf(" of %v", r.Request.Participants)
	}
	for _, id := range r.Voters() {
		v := r.votes[id]
		switch {
		case !v.Yes:
			out += fmt.Sprintf(" %v:no", id)
		case v.Sealed:
			out += fmt.Sprintf(" %v:yes(%v)", id, v.Epoch)
		default:
			out += fmt.Sprintf(" %v:yes(held)", id)
		}
	}
	if missing := r.MissingVotes(); len(missing) > 0 {
		out += fmt.Sprintf(" no vote:%v", missing)
	}
	if len(r.Unacknowledged) > 0 {
		out += fmt.Sprintf(" unacknowledged:%v", r.Unacknowledged)
	}
	if r.AllSealed(none) {
		out += " all sealed"
	}
	return out
}

func (s *script) after() (string, error) {
	var out []string
	for _, r := range s.t.All() {
		out = append(out, fmt.Sprintf("  %-4s%s", golden.Name(r.Txn), describe(r)))
	}
	finished, aborted, fences := s.m.Len()
	if finished+aborted+fences > 0 {
		out = append(out, fmt.Sprintf("  memory: %d finished, %d aborted, %d fences; low watermarks %s and%s",
			finished, aborted, fences, watermarkName(s.m.lowWatermark), s.abortWatermarks()))
	}
	return strings.Join(out, "\n"), s.t.Check()
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
