package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata. The verbs:
//
//	A seen | pending s1 s2        creates the record, or makes it pending
//	A vote s1 yes 1.3 | yes held | no
//	A commit                      commits it
//	A ack s1 | remove             removes it, at the last acknowledgement or at once
//
// After each step it prints the records.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

type script struct{ t *Table }

func (s *script) start(map[string]string) error {
	s.t = NewTable(mutant.Set{})
	return nil
}

func (s *script) do(line string) (string, error) {
	words := strings.Fields(line)
	txn, err := golden.Txn(words[0])
	if err != nil {
		return "", err
	}
	return s.record(txn, words[1], words[2:])
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
		r = s.t.Add(0, txn, commit(1), Seen)
	}
	switch verb {
	case "pending":
		ids, err := shards(args)
		r.State, r.Request = Pending, &msg.CommitRequest{Txn: txn, Participants: ids}
		return "", err
	case "vote":
		return "", vote(r, args)
	case "commit":
		if !r.AllSealed() {
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
	case "seen":
	default:
		return "", fmt.Errorf("no verb %q", verb)
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
	if r.AllSealed() {
		out += " all sealed"
	}
	return out
}

func (s *script) after() (string, error) {
	var out []string
	for _, r := range s.t.All() {
		out = append(out, fmt.Sprintf("  %-4s%s", golden.Name(r.Txn), describe(r)))
	}
	return strings.Join(out, "\n"), s.t.Check()
}
