package hotshard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// meterLoads are the code paths of the meter. Each makes a meter and the i-th call on it.
var meterLoads = []struct {
	name string
	load func() func(i int)
}{
	{"waited, ranked", func() func(int) {
		m, keys := NewMeter(MeterOptions{}), manyKeys(128)
		return func(i int) { m.RecordWait(int64(i)*1000, keys[i%len(keys)], LockWait, 5000, txn(1)) }
	}},
	{"waited, same time", func() func(int) {
		m, keys := NewMeter(MeterOptions{}), manyKeys(128)
		return func(i int) { m.RecordWait(1, keys[i%len(keys)], LockWait, 5000, txn(1)) }
	}},
	{"waited, evicting", func() func(int) {
		m, keys := NewMeter(MeterOptions{}), manyKeys(1<<16)
		return func(i int) { m.RecordWait(int64(i)*1000, keys[i%len(keys)], LockWait, 5000, txn(1)) }
	}},
	{"ran, not ranked", func() func(int) {
		m, keys := NewMeter(MeterOptions{}), manyKeys(1<<16)
		return func(i int) { m.RecordUse(int64(i)*1000, keys[i%len(keys)], ms, false, int64(i-len(keys))*1000, true) }
	}},
	{"ran, not ranked beside hot", func() func(int) {
		m, keys := NewMeter(MeterOptions{}), manyKeys(1<<16)
		for i := range 128 {
			m.RecordWait(0, fmt.Appendf(nil, "hot:%011d", i), LockWait, ms, txn(1))
		}
		return func(i int) { m.RecordUse(int64(i)*1000, keys[i%len(keys)], ms, false, int64(i-len(keys))*1000, true) }
	}},
	{"ran, hot", func() func(int) {
		m, keys := NewMeter(MeterOptions{}), manyKeys(16)
		return func(i int) { m.RecordUse(int64(i)*1000, keys[i%len(keys)], ms, false, int64(i-len(keys))*1000, true) }
	}},
}

// manyKeys makes n keys of 16 bytes.
func manyKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "user:%011d", i)
	}
	return keys
}

func TestMeterDoesNotAllocate(t *testing.T) {
	for _, l := range meterLoads {
		do, i := l.load(), 0
		for ; i < 1000; i++ {
			do(i)
		}
		require.Zero(t, testing.AllocsPerRun(10_000, func() { do(i); i++ }), l.name)
	}
}
