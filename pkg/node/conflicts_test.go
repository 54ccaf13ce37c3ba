package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// typed returns a mode of a data type.
func typed(t *testing.T, name string, kind int, part uint64) adt.Mode {
	t.Helper()
	of := adt.TypeByName(name)
	require.NotNil(t, of)
	return adt.Mode(kind) | adt.Mode(of.ID)<<8 | adt.Mode(part)<<16
}

// Conflicts are counted by their two operations, whichever part of a value they concern.
func TestConflictsAreCountedByOperation(t *testing.T) {
	m, err := metrics.New(metrics.Options{Node: 1, NoRuntime: true})
	require.NoError(t, err)
	o := &observer{m: m}
	end := func(r msg.Receipt, e txn.Ended) {
		o.Ended(gateway.OneShot, &gateway.Response{Contention: txn.Contention{Receipt: r, Ended: e}}, time.Second)
	}
	put := msg.Receipt{WaitedNanos: 5e8, Cause: msg.CauseLock, Mode: uint64(adt.ModeWrite),
		Methods:    uint64(adt.MethodGet.Set() | adt.MethodPut.Set()),
		HolderMode: uint64(adt.ModeAdd), HolderMethods: uint64(adt.MethodAdd.Set())}
	end(put, txn.Ended{})
	end(put, txn.Ended{Count: 3, Reason: msg.ReasonWounded, By: &msg.Receipt{Cause: msg.CauseWound,
		Mode: uint64(adt.ModeWrite), HolderMode: uint64(adt.ModeRead)}})
	end(msg.Receipt{}, txn.Ended{})
	// Conflicts on different parts of a set are of one kind.
	for part := range uint64(2) {
		end(msg.Receipt{WaitedNanos: 1e9, Cause: msg.CauseQueue, Mode: uint64(typed(t, "set", 1, part+1)),
			Methods:    uint64(adt.MethodUpdate.Set()),
			HolderMode: uint64(typed(t, "set", 1, part+1)), HolderMethods: uint64(adt.MethodUpdate.Set())}, txn.Ended{})
	}
	// The conflicting operation is unknown.
	end(msg.Receipt{}, txn.Ended{Count: 1, Reason: msg.ReasonWounded})
	end(msg.Receipt{}, txn.Ended{Count: 2, Reason: msg.ReasonStaleRead})
	// The holder is unknown.
	end(msg.Receipt{WaitedNanos: 1, Cause: msg.CauseReaders, Mode: uint64(adt.ModeWrite)}, txn.Ended{})

	counts := map[string]float64{}
	families, err := m.Registry().Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, s := range f.Metric {
			if l := s.Label; len(l) == 3 && l[1].GetName() == "holder_operation" && s.Counter.GetValue() != 0 {
				counts[f.GetName()+" "+l[2].GetValue()+" / "+l[1].GetValue()+" / "+l[0].GetValue()] = s.Counter.GetValue()
			}
		}
	}
	set := adt.Methods(adt.MethodUpdate.Set()).Noun(typed(t, "set", 1, 0))
	require.Equal(t, map[string]float64{
		"linchpin_contention_waits_total get and put / add / lock":                 2,
		"linchpin_contention_wait_seconds_total get and put / add / lock":          1,
		"linchpin_contention_aborts_total write / read / wound":                    3,
		"linchpin_contention_waits_total " + set + " / " + set + " / queue":        2,
		"linchpin_contention_wait_seconds_total " + set + " / " + set + " / queue": 2,
		"linchpin_contention_aborts_total unknown / unknown / wound":               1,
		"linchpin_contention_aborts_total unknown / unknown / changed":             2,
		"linchpin_contention_waits_total write / unknown / readers":                1,
		"linchpin_contention_wait_seconds_total write / unknown / readers":         1e-9,
	}, counts)
}

func TestConflictKindsAreBounded(t *testing.T) {
	m, err := metrics.New(metrics.Options{Node: 1, NoRuntime: true})
	require.NoError(t, err)
	var c contentionCounters
	for i := range uint64(2 * maxConflictKinds) {
		c.counter(m, &msg.Receipt{Methods: i}).Waited(1)
	}
	require.Len(t, *c.known.Load(), maxConflictKinds)
	require.Same(t, m.Contention(metrics.OtherConflicts), c.counter(m, &msg.Receipt{Methods: 1 << 30}))
	known := &msg.Receipt{Methods: 1}
	require.Zero(t, testing.AllocsPerRun(100, func() { c.counter(m, known).Waited(1) }))
}
