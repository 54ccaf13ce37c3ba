package workload

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestTheZeroOptionsAreAValidRun(t *testing.T) {
	o := Options{}.WithDefaults()
	require.NoError(t, o.Validate())
	require.Equal(t, 10*time.Second, o.Duration)
	require.Zero(t, Options{Count: 5}.WithDefaults().Duration, "a count ends the run by itself")
}

func TestEachOptionOutOfRangeIsNamed(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		says   string
	}{
		{func(o *Options) { o.Keys = MaxKeys + 1 }, "1000000001 keys"},
		{func(o *Options) { o.Skew = -1 }, "skew -1"},
		{func(o *Options) { o.Skew = math.NaN() }, "skew NaN"},
		{func(o *Options) { o.Prefix = string(make([]byte, 300)) }, "prefix of 300 bytes"},
		{func(o *Options) { o.Mix = Mix{ReadOnly: -1, WriteOnly: 1} }, "share of read-only"},
		{func(o *Options) { o.Mix.Increment = math.Inf(1) }, "share of increment"},
		{func(o *Options) { o.Mix = Mix{ReadOnly: math.MaxFloat64, WriteOnly: math.MaxFloat64} }, "shares add up"},
		{func(o *Options) { o.Ops = -1 }, "-1 operations"},
		{func(o *Options) { o.Ops = kv.MaxTxnOps }, "10000 operations"},
		{func(o *Options) { o.ValueBytes = 31 }, "values of 31 bytes"},
		{func(o *Options) { o.ValueBytes = kv.MaxValueBytes + 1 }, "values of 1048577 bytes"},
		{func(o *Options) { o.Ops, o.ValueBytes = 17, kv.MaxValueBytes }, "transactions of more than"},
		{func(o *Options) { o.ReadKeys = KeyCount{3, 2} }, "of 3 to 2 keys, want 1 to 256, the smaller"},
		{func(o *Options) { o.ReadKeys = KeyCount{0, 2} }, "of 0 to 2 keys"},
		{func(o *Options) { o.ReadKeys = KeyCount{1, 257} }, "of 1 to 257 keys"},
		{func(o *Options) { o.ReadKeys, o.ValueBytes = KeyCount{17, 17}, kv.MaxValueBytes }, "17 operations with values"},
		{func(o *Options) { o.Distinct, o.Keys = true, 3 }, "4 distinct keys a transaction of 3 keys"},
		{func(o *Options) { o.Distinct, o.Keys, o.ReadKeys = true, 9, KeyCount{1, 10} }, "10 distinct keys"},
		{func(o *Options) { o.Locality = -1 }, "-1 % of the keys on the client's node, want 0 to 100"},
		{func(o *Options) { o.Locality = 50 }, "not known where keys live"},
		{func(o *Options) { o.InteractiveReads = 101 }, "101 % of the read-only transactions"},
		{func(o *Options) { o.InteractiveReads = math.NaN() }, "NaN % of the read-only"},
		{func(o *Options) { o.ThinkTime = -1 }, "think time of -1ns"},
		{func(o *Options) { o.ThinkTime = 1 }, "no interactive reads; set interactive-reads"},
		{func(o *Options) { o.Interactive, o.ThinkTime = true, 4*time.Second },
			"4s between 4 reads exceeds the limit of 10s"},
		{func(o *Options) { o.Scanners = 65 }, "65 scanners, want 0 to 64"},
		{func(o *Options) { o.ScanPace = 5 }, "no scanners; set the number"},
		{func(o *Options) { o.Scanners, o.ScanPace = 1, math.NaN() }, "pace of NaN"},
		{func(o *Options) { o.Clients = -1 }, "-1 clients"},
		{func(o *Options) { o.Clients = MaxClients + 1 }, "65537 clients"},
		{func(o *Options) { o.Rate = -5 }, "rate of -5"},
		{func(o *Options) { o.Rate = math.Inf(1) }, "rate of +Inf"},
		{func(o *Options) { o.MoveHotEvery = -1 }, "hot spot"},
		{func(o *Options) { o.Warmup = -1 }, "warm-up"},
		{func(o *Options) { o.Duration = -1 }, "duration"},
		{func(o *Options) { o.Timeout = time.Hour }, "timeout of 1h"},
		{func(o *Options) { o.ProgressEvery = -1 }, "progress"},
	} {
		o := Options{}.WithDefaults()
		c.change(&o)
		_, err := New(nil, o)
		require.ErrorContains(t, err, c.says)
	}
}

func TestAllThatIsWrongIsReportedAtOnce(t *testing.T) {
	err := Options{Skew: -1, Clients: -1, Ops: -1}.WithDefaults().Validate()
	require.ErrorContains(t, err, "skew")
	require.ErrorContains(t, err, "clients")
	require.ErrorContains(t, err, "operations")
}

func TestOnlyKindsThatPromiseNoEffectAreFailures(t *testing.T) {
	unknown := map[kv.Kind]bool{kv.KindOutcomeUnknown: true, kv.KindTooOld: true, kv.KindInternal: true,
		kv.KindCorrupt: true}
	for _, k := range kv.Kinds() {
		want := Failed
		switch {
		case k == kv.KindOK:
			require.Equal(t, Committed, OutcomeOf(nil))
			continue
		case k == kv.KindResultsLost:
			want = Committed
		case unknown[k]:
			want = Unknown
		}
		require.Equal(t, want, OutcomeOf(kv.Errorf(k, "x")), k.String())
	}
	require.Equal(t, Unknown, OutcomeOf(foreignError{}))
}

type foreignError struct{}

func (foreignError) Error() string { return "connection reset" }
