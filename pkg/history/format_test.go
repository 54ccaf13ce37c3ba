package history

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample records one transaction of every shape and returns the file.
func sample(t testing.TB) []byte {
	var buf bytes.Buffer
	rec, err := NewRecorder(&buf, Meta{Note: "a sample", InitialUnknown: true})
	require.NoError(t, err)
	c := rec.Client(7)
	p := c.Begin([]byte("t1"))
	p.Read([]byte("a"), []byte("1"))
	p.ReadAbsent([]byte("b"))
	p.ReadNumber([]byte("c"), -5)
	p.ReadExists([]byte("d"))
	p.Write([]byte("a"), bytes.Repeat([]byte("long"), 100))
	p.Delete([]byte("b"), SawExists)
	p.Add([]byte("c"), -1)
	p.AddGet([]byte("c"), 3, -3)
	p.Commit()
	p = c.Begin([]byte("t2"))
	p.Write([]byte("x"), []byte("an attempt that was aborted"))
	p.Restart()
	p.Scan([]byte("a"), nil, 2, []Pair{{Key: "a", Saw: SawValue, Value: "1"}, {Key: "c", Saw: SawNumber, Number: 9}})
	p.DeleteRange([]byte("p"), []byte("q"))
	p.DeleteRangeCount([]byte("r"), []byte("s"), 4)
	p.Fail()
	p = c.Begin([]byte("t3"))
	p.SetID([]byte("t3 again"))
	p.Write([]byte("x"), []byte{})
	p.Unknown()
	require.NoError(t, rec.Close())
	return buf.Bytes()
}

func TestRecordedHistoryIsRead(t *testing.T) {
	h, err := ReadAll(bytes.NewReader(sample(t)))
	require.NoError(t, err)
	require.Equal(t, Meta{Note: "a sample", InitialUnknown: true}, h.Meta)
	require.False(t, h.Incomplete)
	require.Len(t, h.Txns, 3)
	one, two, three := h.Txns[0], h.Txns[1], h.Txns[2]
	require.LessOrEqual(t, one.Start, one.End)
	require.LessOrEqual(t, one.End, two.Start)
	long := Identity(bytes.Repeat([]byte("long"), 100))
	require.Equal(t, Txn{Client: 7, ID: "t1", Start: one.Start, End: one.End, Outcome: Committed, Ops: []Op{
		{Kind: Read, Saw: SawValue, Key: "a", Value: "1"},
		{Kind: Read, Saw: SawAbsent, Key: "b"},
		{Kind: Read, Saw: SawNumber, Key: "c", Number: -5},
		{Kind: Read, Saw: SawExists, Key: "d"},
		{Kind: Write, Key: "a", Value: long},
		{Kind: Delete, Saw: SawExists, Key: "b"},
		{Kind: Add, Key: "c", Delta: -1},
		{Kind: Add, Saw: SawNumber, Key: "c", Delta: 3, Number: -3},
	}}, one)
	require.Equal(t, Txn{Client: 7, ID: "t2", Start: two.Start, End: two.End, Outcome: Failed, Ops: []Op{
		{Kind: Scan, Key: "a", Limit: 2, Pairs: []Pair{{Key: "a", Saw: SawValue, Value: "1"},
			{Key: "c", Saw: SawNumber, Number: 9}}},
		{Kind: DeleteRange, Key: "p", End: "q"},
		{Kind: DeleteRange, Saw: SawNumber, Key: "r", End: "s", Number: 4},
	}}, two)
	require.Equal(t, Txn{Client: 7, ID: "t3 again", Start: three.Start, End: Never, Outcome: Unknown,
		Ops: []Op{{Kind: Write, Key: "x"}}}, three)
}

func TestIdentityDistinguishesLongValues(t *testing.T) {
	a, b := bytes.Repeat([]byte("a"), 200), bytes.Repeat([]byte("a"), 200)
	b[150] = 'b'
	require.NotEqual(t, Identity(a), Identity(b))
	require.Equal(t, Identity(a), Identity(bytes.Clone(a)))
	require.Equal(t, "short", Identity([]byte("short")))
	require.NotEqual(t, Identity(a), Identity([]byte(Identity(a))), "a digest is not its own identity")
}

func TestTruncationDiffersFromCorruption(t *testing.T) {
	whole := sample(t)
	for n := range whole {
		h, err := ReadAll(bytes.NewReader(whole[:n]))
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt):
			require.Less(t, n, len(magic), "only a part of the magic is damage")
		case err != nil:
			require.ErrorIs(t, err, ErrTruncated, "at %d", n)
		default:
			require.True(t, h.Incomplete, "at %d", n)
		}
	}
}

func TestFlippedBytesAreDetected(t *testing.T) {
	whole := sample(t)
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x15
		h, err := ReadAll(bytes.NewReader(bad))
		if err == nil {
			require.True(t, h.Incomplete, "byte %d: a longer length may look like a cut", i)
			continue
		}
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			require.ErrorIs(t, err, ErrTruncated, "byte %d", i)
		}
	}
}

func TestBytesAfterTheEndAreCorruption(t *testing.T) {
	_, err := ReadAll(bytes.NewReader(append(sample(t), 0)))
	require.ErrorContains(t, err, "behind the end")
}

func TestClientsRecordConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.bin")
	rec, err := Create(path, Meta{})
	require.NoError(t, err)
	const clients, each = 8, 2000
	var wg sync.WaitGroup
	for n := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := rec.Client(n)
			for range each {
				p := c.Begin([]byte("id"))
				p.Write([]byte("k"), []byte(strings.Repeat("v", 30)))
				p.Commit()
			}
		}()
	}
	wg.Wait()
	require.NoError(t, rec.Close())
	h, err := Load(path)
	require.NoError(t, err)
	per := map[int]int{}
	for _, txn := range h.Txns {
		per[txn.Client]++
	}
	require.Len(t, per, clients)
	require.Len(t, h.Txns, clients*each)
}

func TestRecordingAfterCloseIsAnError(t *testing.T) {
	rec, err := NewRecorder(io.Discard, Meta{})
	require.NoError(t, err)
	p := rec.Client(1).Begin(nil)
	require.NoError(t, rec.Close())
	p.Commit()
	require.ErrorContains(t, rec.Flush(), "after Close")
}

type fullDisk struct{ left int }

func (d *fullDisk) Write(b []byte) (int, error) {
	d.left -= len(b)
	if d.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestFullDiskIsReported(t *testing.T) {
	rec, err := NewRecorder(&fullDisk{left: 100}, Meta{})
	require.NoError(t, err)
	c := rec.Client(1)
	for range 100 {
		c.Begin(nil).Commit()
	}
	require.ErrorContains(t, rec.Close(), "disk full")
	require.ErrorContains(t, rec.Err(), "disk full")
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.bin")
	require.NoError(t, os.WriteFile(path, []byte("hello"), 0o600))
	_, err := Load(path)
	require.ErrorContains(t, err, "h.bin")
	require.ErrorContains(t, err, "linchpin history")
}

func FuzzReadAll(f *testing.F) {
	whole := sample(f)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadAll(bytes.NewReader(b))
		if (h == nil) == (err == nil) {
			t.Fatalf("history %v with error %v", h, err)
		}
	})
}

// FuzzTxn decodes payloads directly, past the checksums.
func FuzzTxn(f *testing.F) {
	r, err := NewReader(bytes.NewReader(sample(f)))
	require.NoError(f, err)
	for {
		payload, err := r.record()
		if err != nil {
			break
		}
		f.Add(payload[1:])
	}
	f.Fuzz(func(t *testing.T, payload string) {
		c := cursor{b: payload}
		var txn Txn
		if c.txn(&txn) && txn.End < txn.Start {
			t.Fatal("a transaction that ends before it starts was accepted")
		}
	})
}
