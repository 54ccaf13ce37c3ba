package consensus_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata: a group without randomness. The verbs:
//
//	run 10              lets so many ms pass
//	elect               lets time pass until a replica has begun to lead
//	propose 1 x         has replica 1 append an entry
//	lease 1             prints what is left of the lease of a leader
//	transfer 1 2        has replica 1 transfer leadership to 2
//	add 1 D             has replica 1 add a learner at a place
//	swap 1 4 3          has replica 1 swap 4 in for 3
//	end 1, release 1    has replica 1 end the joint configuration, and release the removed replica
//	alter 1             changes the rows of replica 1
//	unfit 1             a block of the rows of replica 1 cannot be read
//	crash 1, start 1    ends the process of replica 1, and starts it again
//	cut 1               loses all messages from and to replica 1
//
// With check=500, leaders have the rows checked every 500 ms. It prints what happens, with the time in ms. Heartbeats
// and their responses are not shown, unless they report damage or a checksum: each leader sends one to each replica
// every 100 ms.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: func() (string, error) { return "", nil }}
	})
}

type script struct{ net *net }

// start makes a group; with "led", replica 1 has led it for 50 ms.
func (s *script) start(options map[string]string) error {
	every, _ := strconv.Atoi(options["check"])
	s.net = newCheckedNet(none, int64(every)*ms, 1, 2, 3)
	if _, ok := options["led"]; ok {
		s.net.lead()
		s.net.run(50 * ms)
	}
	return nil
}

func (s *script) do(line string) (string, error) {
	s.net.out = &strings.Builder{}
	words := append(strings.Fields(line), "", "")
	err := s.verb(words[0], words[1:])
	return s.net.out.String(), err
}

func (s *script) verb(verb string, args []string) error {
	n, now := s.net, s.net.now
	number, _ := strconv.Atoi(args[0]) // elect has none
	other, _ := strconv.Atoi(args[1])
	switch verb {
	case "run":
		n.run(int64(number) * ms)
		return nil
	case "elect":
		n.lead()
		return nil
	}
	p, to := n.peers[consensus.ReplicaID(number)], consensus.ReplicaID(other)
	if p == nil {
		return errNone
	}
	switch verb {
	case "crash":
		p.crash()
		return nil
	case "start":
		p.start()
		return nil
	case "alter":
		p.rows++
		return nil
	case "cut":
		n.isolate(p.id)
		return nil
	}
	var err error
	p.act(func(r *consensus.Replica) {
		switch verb {
		case "propose":
			_, err = r.Propose([]byte(args[1]))
		case "lease":
			n.note("%d: lease for %.1f ms", p.id, float64(max(0, r.LeaseEnd(now)-now))/float64(ms))
		case "transfer":
			err = r.Transfer(now, to, consensus.RegisteredUnknown)
		case "unfit":
			if !r.Damage().SetUnfit(now) {
				n.note("%d: no other voter is fit", p.id)
			}
		case "add":
			_, err = r.Changes().AddLearner(now, args[1])
		case "swap":
			third, _ := strconv.Atoi(args[2])
			err = r.Changes().Swap(now, to, consensus.ReplicaID(third))
		case "end":
			err = r.Changes().EndJoint(now)
		case "release":
			err = r.Changes().Release(now)
		default:
			err = fmt.Errorf("no verb %q", verb)
		}
	})
	return err
}

func (n *net) noteMessage(m *consensus.Message) {
	what := describe(m)
	if p := n.peers[m.From]; m.Checked > p.noted && n.out != nil {
		p.noted = m.Checked
		what = strings.TrimPrefix(fmt.Sprintf("%s, checksum at %d: %x", what, m.Checked, m.Sum), ", ")
	}
	if what != "" {
		n.note("%d -> %d  %s", m.From, m.To, what)
	}
}

func describe(m *consensus.Message) string {
	if m.Gone {
		return "gone"
	}
	r := &m.Raft
	suffix := ""
	if r.Reject {
		suffix = ": refused"
	}
	switch r.Type {
	case raftpb.MsgApp:
		if len(r.Entries) == 0 {
			return fmt.Sprintf("committed up to %d", r.Commit)
		}
		return fmt.Sprintf("append %s after %d, committed %d", positions(r.Entries), r.Index, r.Commit)
	case raftpb.MsgHeartbeatResp:
		if m.Unfit {
			return "unfit"
		}
	case raftpb.MsgAppResp:
		if m.Unfit {
			suffix += ", unfit"
		}
		return fmt.Sprintf("has the log up to %d%s", r.Index, suffix)
	case raftpb.MsgSnap:
		return fmt.Sprintf("Raft snapshot at %d", r.Snapshot.Metadata.Index)
	case raftpb.MsgPreVote:
		return fmt.Sprintf("pre-vote for term %d, log up to %d", r.Term, r.Index)
	case raftpb.MsgVote:
		if m.Transfer != 0 {
			suffix = fmt.Sprintf(", leader of term %d asked for it", m.Transfer)
		}
		return fmt.Sprintf("vote for term %d, log up to %d%s", r.Term, r.Index, suffix)
	case raftpb.MsgPreVoteResp:
		return "pre-vote" + suffix
	case raftpb.MsgVoteResp:
		return "vote" + suffix
	case raftpb.MsgTimeoutNow:
		return fmt.Sprintf("campaign, says the leader of term %d", r.Term)
	}
	return ""
}

func positions(entries []raftpb.Entry) string {
	if len(entries) == 1 {
		return fmt.Sprint(entries[0].Index)
	}
	return fmt.Sprintf("%d to %d", entries[0].Index, entries[len(entries)-1].Index)
}

func (n *net) noteWrite(p *peer, w *consensus.Write) {
	if w.IsEmpty() {
		return
	}
	what := ""
	if w.Snapshot != nil {
		what += fmt.Sprintf(" rows as of %d", w.State.Position)
	}
	if len(w.Entries) > 0 {
		what += " " + positions(w.Entries)
	}
	if what == "" {
		what = fmt.Sprintf(" term %d, vote %d", w.HardState.Term, w.HardState.Vote)
	}
	n.note("%d: writes%s", p.id, what)
}

// describeConf describes what a change of the state means for the configuration.
func describeConf(before, after *consensus.State) string {
	switch {
	case after.Stopped && !before.Stopped:
		return ": stopped"
	case !slices.Equal(before.Unfit, after.Unfit):
		return fmt.Sprintf(": unfit %v", after.Unfit)
	case slices.Equal(before.Conf.Voters, after.Conf.Voters) && slices.Equal(before.Conf.Learners, after.Conf.Learners) &&
		before.IsJoint() == after.IsJoint() && before.Unreleased == after.Unreleased:
		return ""
	case after.IsJoint():
		return fmt.Sprintf(": joint, old voters %v, new %v", after.Conf.VotersOutgoing, after.Conf.Voters)
	case before.Unreleased && !after.Unreleased:
		return ": released"
	}
	return fmt.Sprintf(": voters %v, learners %v", after.Conf.Voters, after.Conf.Learners)
}
