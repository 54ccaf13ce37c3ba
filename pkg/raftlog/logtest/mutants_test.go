//go:build mutants

package logtest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/raftlog/logtest"
)

// recorder ends a check at its first failure.
type recorder struct{ text string }

type failed struct{}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }

func (*recorder) FailNow() { panic(failed{}) }

// failure runs a check and returns how it fails.
func failure(c *logtest.Check, broken mutant.Set) (text string) {
	r := &recorder{}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(failed); !ok {
				panic(p)
			}
		}
		text = r.text
	}()
	c.Test(r, newMemory, broken)
	return r.text
}

// TestMutants breaks each rule, which a check of the suite shows.
func TestMutants(t *testing.T) {
	for id, name := range map[mutant.ID]string{
		mutant.LogCutBeyondFlushed:    "a log is truncated within its bounds",
		mutant.VoteCutWithLog:         "term and vote survive a truncation",
		mutant.CommitIndexNotRecorded: "the commit index is recorded with its entries",
		mutant.ReplicaNumberReused:    "a number is not used again",
		mutant.EntryChecksumIgnored:   "a damaged row is never returned",
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range logtest.Checks() {
				if c.Name == name {
					require.Empty(t, failure(&c, mutant.Set{}))
					require.NotEmpty(t, failure(&c, mutant.Of(id)))
					return
				}
			}
			require.Fail(t, "the suite has no such check")
		})
	}
}
