package snapshotqueue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/golden"
)

// TestGolden runs the scripts in testdata. "new incarnation=2" makes the
// queues of a shard's second life; the verbs are "A prepared", "A seal" and
// "A decided". After each step the prepared participants are printed.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata", func() *golden.Script {
		s := &script{}
		return &golden.Script{New: s.start, Do: s.do, After: s.after}
	})
}

type script struct{ q *Queue }

func (s *script) start(options map[string]string) error {
	inc, err := strconv.ParseUint(options["incarnation"], 10, 64)
	s.q = New(kv.Incarnation(inc))
	return err
}

func (s *script) do(line string) (string, error) {
	name, verb, _ := strings.Cut(line, " ")
	txn, err := golden.Txn(name)
	if err != nil {
		return "", err
	}
	switch verb {
	case "prepared":
		s.q.Prepared(txn)
	case "seal":
		state, epoch := s.q.Seal(txn)
		return fmt.Sprintf("%s is %v, epoch %v", name, state, epoch), nil
	case "decided":
		s.q.Decided(txn)
	default:
		return "", fmt.Errorf("no verb %q", verb)
	}
	return "", nil
}

func (s *script) after() (string, error) {
	txns := make([]kv.TxnRef, 0, s.q.Len())
	for txn := range s.q.prepared {
		txns = append(txns, txn)
	}
	slices.SortFunc(txns, kv.TxnRef.CompareAge)
	out := "  prepared:"
	for _, txn := range txns {
		p := s.q.prepared[txn]
		out += fmt.Sprintf(" %s(%v", golden.Name(txn), p.state)
		if p.state == Sealed {
			out += " " + p.epoch.String()
		}
		out += ")"
	}
	return out, s.q.Check()
}

func TestCheckNoticesWhatIsBroken(t *testing.T) {
	a, b := kv.TxnRef{TxnID: kv.TxnID{Time: 1}}, kv.TxnRef{TxnID: kv.TxnID{Time: 2}}
	q := New(3)
	q.Prepared(a)
	q.Prepared(b)
	q.Seal(a)
	q.Seal(b)
	require.NoError(t, q.Check())
	q.prepared[b].epoch = q.prepared[a].epoch
	require.ErrorContains(t, q.Check(), "share epoch 3.1")
	q.prepared[b].epoch = kv.Epoch{Incarnation: 2, Count: 9}
	require.ErrorContains(t, q.Check(), "in incarnation 3")
}
