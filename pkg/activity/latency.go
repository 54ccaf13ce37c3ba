package activity

import (
	"math/bits"
	"time"
)

// Buckets of latency are four an octave above 16 us, and 4 us wide below: what is
// read from them is wrong by a quarter at most.
const (
	grain = 12 // 4096 ns
	// numBuckets reaches beyond kv.MaxTxnAge, which ends every transaction; the
	// last has all above.
	numBuckets = 96
)

// bucketOf is the bucket of a time.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0)) >> grain
	if v < 4 {
		return int(v)
	}
	octave := bits.Len64(v) - 3
	return min(4*octave+int(v>>octave), numBuckets-1)
}

// upper is the time that all in a bucket are below.
func upper(bucket int) time.Duration {
	if bucket < 8 {
		return time.Duration(bucket+1) << grain
	}
	octave := bucket/4 - 1
	return time.Duration(bucket%4+5) << (octave + grain)
}
