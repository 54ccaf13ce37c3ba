package workload

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// keyTailBytes is what follows the prefix of a key: a letter, a slash and nine
// digits, so that keys sort by their number.
const keyTailBytes = 11

// RegisterKey is the key of the register with a number: what reads, writes and
// read-modify-writes use.
func RegisterKey(prefix string, number uint64) []byte { return appendKey(nil, prefix, 'r', number) }

// CounterKey is the key of the counter with a number. Counters are keys of
// their own, because a key has one type.
func CounterKey(prefix string, number uint64) []byte { return appendKey(nil, prefix, 'c', number) }

func appendKey(b []byte, prefix string, table byte, number uint64) []byte {
	b = append(append(b, prefix...), table, '/')
	for unit := uint64(100_000_000); unit > 0; unit /= 10 {
		b = append(b, '0'+byte(number/unit%10))
	}
	return b
}

// values makes the values of one client. A value begins with a tag that no
// other value of any run has: run, client, number of the transaction, number
// of the operation. A checker that finds it knows the write, and so does a reader.
// The rest is filler that does not compress.
type values struct {
	size   int
	head   []byte // "run.client."
	filler []byte
}

// fillerBytes is larger than what block compressors look back for the sizes
// of values that are usual, so that repeats of it cost space like fresh data.
const fillerBytes = 1 << 16

// newFiller makes the filler that the values of a run share.
func newFiller(seed uint64, size int) []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	r := rand.New(rand.NewPCG(seed, 0x66696c6c6572))
	b := make([]byte, fillerBytes+size)
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], r.Uint64())
		for j := i; j < min(i+8, len(b)); j++ {
			b[j] = letters[word[j-i]&63]
		}
	}
	return b
}

func newValues(run string, client, size int, filler []byte) *values {
	return &values{size: size, head: fmt.Appendf(nil, "%s.%d.", run, client), filler: filler}
}

// append adds the value of one write to b. The offset chooses the filler.
func (v *values) append(b []byte, txn uint64, op int, offset uint64) []byte {
	start := len(b)
	b = append(b, v.head...)
	b = strconv.AppendUint(b, txn, 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(op), 10)
	return pad(b, start, v.size, v.filler, offset)
}

// pad fills b up to size bytes from start. A longer tag is never cut: being
// unique comes before the size.
func pad(b []byte, start, size int, filler []byte, offset uint64) []byte {
	if missing := size - (len(b) - start); missing > 0 {
		b = append(b, ' ')
		offset %= fillerBytes
		b = append(b, filler[offset:][:missing-1]...)
	}
	return b
}
