package backup

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

var aHeader = Header{Format: Format, Cluster: "c1", Snapshot: "@c1-7", Time: time.Unix(1_700_000_000, 0).UTC(),
	Program: "v0"}

// firstWritten is the backup of TestTheBytesOfABackup.
const firstWritten = "" +
	"6c696e636870696e206261636b75700a485b0000000f7fbd337b22666f726d6174223a312c22636c7573746572223a226331222c22736e" +
	"617073686f74223a224063312d37222c2274696d65223a22323032332d31312d31345432323a31333a32305a222c2270726f6772616d22" +
	"3a227630227d4b1b000000023700c628b52ffd0400710000016100000378797a016282010000578d7de84686000000734dda847b226b65" +
	"7973223a322c226279746573223a352c227479706573223a7b2230223a227479706530222c22313330223a2274797065313330227d2c22" +
	"736861323536223a2234623134303235386664653731616233353932633535376363303639626230643461626530613531636665393438" +
	"326665326662653162343738383734666237227d"

func named(t uint32) string { return fmt.Sprintf("type%d", t) }

func written(t require.TestingT, records ...Record) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, aHeader)
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, w.Add(r))
	}
	f, err := w.Close(named)
	require.NoError(t, err)
	require.EqualValues(t, len(records), f.Keys)
	return b.Bytes()
}

func readAll(b []byte) (out []Record, r *Reader, err error) {
	r, err = NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	for {
		x, err := r.Next()
		if err != nil {
			return out, r, err
		}
		out = append(out, Record{bytes.Clone(x.Key), x.Type, bytes.Clone(x.Value), x.Expires})
	}
}

// TestTheBytesOfABackup: what is on disk somewhere must be readable for ever.
func TestTheBytesOfABackup(t *testing.T) {
	b := written(t, Record{[]byte("a"), 0, []byte("xyz"), 0}, Record{[]byte("b"), 130, nil, 0})
	frames := b[len(Magic):]
	require.Equal(t, byte(frameHeader), frames[0])
	keys := frames[frameHead+int(frames[1]):]
	require.Equal(t, byte(frameKeys), keys[0])
	require.Equal(t, "28b52ffd", hex.EncodeToString(keys[frameHead:frameHead+4]), "a Zstandard frame")
	require.Equal(t, "0161000003"+hex.EncodeToString([]byte("xyz"))+"0162"+"8201"+"0000",
		hex.EncodeToString(appendRecord(appendRecord(nil, &Record{[]byte("a"), 0, []byte("xyz"), 0}),
			&Record{[]byte("b"), 130, nil, 0})))

	// A key that expires has its time there; the others have a 0.
	require.Equal(t, "0161008202"+"0178", hex.EncodeToString(appendRecord(nil, &Record{[]byte("a"), 0, []byte("x"), 258})))

	// As it was written first.
	b, err := hex.DecodeString(firstWritten)
	require.NoError(t, err)
	got, r, err := readAll(b)
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, got, 2)
	require.Equal(t, aHeader, r.Header)
	require.Equal(t, map[uint32]string{0: "type0", 130: "type130"}, r.Footer.Types)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Record
		for i := range rapid.IntRange(0, 40).Draw(t, "keys") {
			size := rapid.SampledFrom([]int{0, 3, 100, 300_000}).Draw(t, "size")
			want = append(want, Record{fmt.Appendf(nil, "%04d%s", i, rapid.StringN(0, 9, 20).Draw(t, "key")),
				uint32(rapid.IntRange(0, 255).Draw(t, "type")), bytes.Repeat([]byte{byte(i)}, size),
				rapid.Int64Range(0, kv.MaxExpires).Draw(t, "expires")})
		}
		got, _, err := readAll(written(t, want...))
		require.ErrorIs(t, err, io.EOF)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i].Key, got[i].Key)
			require.Equal(t, want[i].Type, got[i].Type)
			require.Equal(t, want[i].Expires, got[i].Expires)
			require.True(t, bytes.Equal(want[i].Value, got[i].Value))
		}
	})
}

// TestEveryDamageIsNoticed: each byte changed, and each end cut off.
func TestEveryDamageIsNoticed(t *testing.T) {
	var records []Record
	for i := range 50 {
		records = append(records, Record{fmt.Appendf(nil, "key-%03d", i), 0, fmt.Appendf(nil, "value %d", i*i), 0})
	}
	whole := written(t, records...)
	for i := range whole {
		for _, bit := range []byte{1, 0x80} {
			b := bytes.Clone(whole)
			b[i] ^= bit
			_, _, err := readAll(b)
			require.IsType(t, &Damaged{}, err, "byte %d of %d", i, len(whole))
		}
		_, _, err := readAll(whole[:i])
		require.IsType(t, &Damaged{}, err, "cut off at %d of %d", i, len(whole))
	}
	_, _, err := readAll(append(bytes.Clone(whole), 0))
	require.ErrorContains(t, err, "data after its footer")
}

// TestWholeFramesAreHeldAgainstTheFooter: each is right by itself.
func TestWholeFramesAreHeldAgainstTheFooter(t *testing.T) {
	one, other := written(t, Record{[]byte("a"), 0, []byte("xyz"), 0}),
		written(t, Record{[]byte("a"), 0, []byte("uvw"), 0})
	require.Len(t, other, len(one))
	begin := len(Magic) + frameHead + int(one[len(Magic)+1])
	end := begin + frameHead + int(one[begin+1])
	require.Equal(t, []byte{frameKeys, frameFooter}, []byte{one[begin], one[end]})
	spliced := bytes.Join([][]byte{one[:begin], other[begin:end], one[end:]}, nil)
	_, _, err := readAll(spliced)
	require.ErrorContains(t, err, "its checksum differs from its footer")
	_, _, err = readAll(append(bytes.Clone(one[:begin]), one[end:]...))
	require.IsType(t, &Damaged{}, err, "a frame is missing")

	for name, change := range map[string]func(*Footer){"keys": func(f *Footer) { f.Keys++ },
		"bytes": func(f *Footer) { f.Bytes-- }, "types": func(f *Footer) { f.Types[7] = "ids" }} {
		_, r, err := readAll(one)
		require.ErrorIs(t, err, io.EOF)
		f := r.Footer
		change(&f)
		var b bytes.Buffer
		b.Write(one[:end])
		w, err := newWriter(&b)
		require.NoError(t, err)
		require.NoError(t, w.object(frameFooter, f))
		_, _, err = readAll(b.Bytes())
		require.ErrorContains(t, err, "its footer lists", name)
	}
}

func TestKeysComeInOrder(t *testing.T) {
	w, err := NewWriter(io.Discard, aHeader)
	require.NoError(t, err)
	require.NoError(t, w.Add(Record{Key: []byte("b")}))
	require.Error(t, w.Add(Record{Key: []byte("b")}))
	require.Error(t, w.Add(Record{Key: []byte("a")}))
}

// TestKeysThatAreNotInOrderAreDamage, whatever the footer says: a restore compares by
// reading both sides once.
func TestKeysThatAreNotInOrderAreDamage(t *testing.T) {
	for _, keys := range [][]string{{"b", "a"}, {"a", "a"}} {
		var b bytes.Buffer
		w, err := NewWriter(&b, aHeader)
		require.NoError(t, err)
		for _, k := range keys {
			w.last = nil
			require.NoError(t, w.Add(Record{Key: []byte(k)}))
		}
		_, err = w.Close(named)
		require.NoError(t, err)
		_, _, err = readAll(b.Bytes())
		require.ErrorContains(t, err, "its keys are unsorted")
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(f, Record{[]byte("a"), 0, []byte("xyz"), 0}))
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, r, err := readAll(b)
		if err != io.EOF {
			return
		}
		// What is taken for whole can be written again, and is the same.
		var out bytes.Buffer
		w, err := NewWriter(&out, r.Header)
		require.NoError(t, err)
		for _, x := range records {
			require.NoError(t, w.Add(x))
		}
		_, err = w.Close(func(t uint32) string { return r.Footer.Types[t] + "?" })
		require.NoError(t, err)
		again, _, err := readAll(out.Bytes())
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, len(records), len(again))
	})
}
