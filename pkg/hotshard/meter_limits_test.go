package hotshard

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestMeterAcceptsExtremeTimes(t *testing.T) {
	m := newMetered(MeterOptions{HalfLife: 1})
	for range 2 {
		m.Ran(math.MinInt64, []byte("k"), 1, false)
	}
	m.Ran(math.MaxInt64, []byte("k"), math.MaxInt64, false)
	require.Zero(t, m.Top(math.MaxInt64, 1, 0)[0].Heat)
	m.Ran(math.MaxInt64, []byte("k"), math.MaxInt64, false)
	top := m.Top(math.MaxInt64, 1, 0)
	require.InEpsilon(t, heatOf(math.MaxInt64)*1e9, top[0].EstimatedWait, 1e-9)
	m.Fade(math.MaxInt64)
	require.Equal(t, 1, m.Len())
}

func TestFadeEmptiesMeter(t *testing.T) {
	m := newMetered(MeterOptions{})
	empty := m.Bytes()
	m.Fade(0)
	for i := range 200 {
		m.RecordWait(0, fmt.Appendf(nil, "key-%d", i), LockWait, int64(1+i)<<20, txn(1))
	}
	require.Equal(t, 128, m.Len())
	require.Empty(t, m.Top(20*sec, all, 1000))
	m.Fade(10 * sec)
	require.Equal(t, 128, m.Len())
	m.Fade(27*sec + sec/2)
	require.True(t, m.Len() > 0 && m.Len() < 128, "%d: the lowest weights are removed first", m.Len())
	m.Fade(40 * sec)
	require.Zero(t, m.Len())
	require.Equal(t, empty, m.Bytes())
	m.RecordWait(40*sec, []byte("k"), LockWait, 5, txn(1))
	require.Equal(t, []string{"k"}, keysOf(m.Top(40*sec, all, 0)))
}

// After many moves of the origin, small and large ones, the heat equals that of a new meter.
func TestHeatIsExactAfterOriginMoves(t *testing.T) {
	long := newMetered(MeterOptions{})
	now := int64(-3 * day)
	for i := range 3000 {
		now += int64(i%7) * int64(i%11) * 7 * sec
		if i%500 == 0 {
			now += 5 * day
		}
		fresh := newMetered(MeterOptions{})
		for _, m := range []*metered{long, fresh} {
			m.Fade(now)
			for _, k := range []string{"a", "b"} {
				m.RecordWait(now, []byte(k), LockWait, math.MaxInt64/4096/int64(len(k)), txn(1))
				m.RecordWait(now+sec/3, []byte(k), EstimatedWait, 1, txn(1))
			}
		}
		now += 40 * sec
		long.Fade(now)
		was, is := long.Top(now, all, 0), fresh.Top(now, all, 0)
		require.Equal(t, keysOf(is), keysOf(was))
		for i := range is {
			require.InEpsilon(t, is[i].Heat, was[i].Heat, 1e-9)
			require.False(t, math.IsInf(long.byWeight[i].weight(), 0))
		}
	}
	require.Greater(t, now, 27*day)
}

func TestMeterMemoryIsBounded(t *testing.T) {
	for _, test := range []struct{ key, most int }{{kv.MaxKeyBytes, 540 << 10}, {64, 36 << 10}} {
		m := newMetered(MeterOptions{})
		key := make([]byte, test.key)
		for i := range 5000 {
			copy(key, fmt.Sprint(i))
			m.Ran(int64(i), key, ms, false)
			m.Ran(int64(i), key, ms, false)
		}
		require.Equal(t, 128, m.Len())
		require.LessOrEqual(t, m.Bytes(), test.most)
		require.Greater(t, m.Bytes(), test.most-(2<<10), "the doc comment of Meter states the maximum")
	}
	require.EqualValues(t, meterBytes, unsafe.Sizeof(Meter{}))
	require.True(t, unsafe.Sizeof(entry{}) <= entryBytes && unsafe.Sizeof(entry{}) > entryBytes-16)
}

func TestEntryKeepsKeyCapacity(t *testing.T) {
	m := newMetered(MeterOptions{Entries: 1})
	for _, n := range []int{1, 1000, 3, 1000, 4} {
		m.RecordWait(0, bytes.Repeat([]byte{byte(n)}, n), LockWait, 5, txn(1))
	}
	require.Equal(t, 1000, cap(m.least().key))
	require.Len(t, m.least().key, 4)
}
