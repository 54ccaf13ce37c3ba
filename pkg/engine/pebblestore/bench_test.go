package pebblestore

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func benchStore(b *testing.B, noSync bool) *Store {
	s, err := Open(b.TempDir(), Options{CacheBytes: 256 << 20, NoSync: noSync, OnFatal: func(err error) { b.Fatal(err) }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// fill makes n entries of 16 B keys and 128 B values at a CSN.
func fill(es []entry.Entry, value []byte, at kv.CSN) {
	for i := range es {
		e := &es[i]
		if e.Key == nil {
			*e = entry.Entry{Action: entry.Set, Table: entry.TableVersion, Key: make([]byte, 16), Value: value}
		}
		binary.BigEndian.PutUint64(e.Key, uint64(at)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(e.Key[8:], uint64(i))
		e.CSN = at
	}
}

var benchValue = entry.Value{Version: kv.Version{Write: 1}, Payload: make([]byte, 128)}.Encode()

// BenchmarkAppend appends batches of n entries. "sync" waits for each batch,
// as one caller does; "pipelined" only for the one 64 batches ago, as the
// committer does under load.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		for _, mode := range []string{"nosync", "sync", "pipelined"} {
			b.Run(fmt.Sprintf("%d/%s", n, mode), func(b *testing.B) {
				s := benchStore(b, mode == "nosync")
				es := make([]entry.Entry, n)
				groups := []entry.Group{{Entries: es}}
				b.ReportAllocs()
				var at kv.CSN
				for b.Loop() {
					at++
					fill(es, benchValue, at)
					p, err := s.Append(groups)
					if mode == "pipelined" {
						p -= min(p, 64)
					}
					if err == nil {
						err = s.WaitDurable(p)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(s.Stats().Syncs)/float64(b.N), "fsyncs/op")
			})
		}
	}
}

func BenchmarkReadKey(b *testing.B) {
	const keys = 50_000
	s := benchStore(b, true)
	es := make([]entry.Entry, 100)
	for at := kv.CSN(1); at <= keys/100; at++ {
		fill(es, benchValue, at)
		if _, err := s.Append([]entry.Group{{Entries: es}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
	read := func(b *testing.B, shift uint64, want int) {
		b.ReportAllocs()
		key := make([]byte, 16)
		i := uint64(0)
		for b.Loop() {
			i++
			at := i%(keys/100) + 1
			binary.BigEndian.PutUint64(key, at*0x9e3779b97f4a7c15)
			binary.BigEndian.PutUint64(key[8:], i%100+shift)
			res := s.Read(0, entry.Read{Kind: entry.ReadKey, Key: key, CSN: keys})
			if res.Err != nil || len(res.Rows) != want {
				b.Fatal(res)
			}
		}
	}
	b.Run("present", func(b *testing.B) { read(b, 0, 1) })
	b.Run("absent", func(b *testing.B) { read(b, 1000, 0) })
}

// BenchmarkCollect deletes the old version of a key, and reads another key in
// between, as a shard does while garbage is collected.
func BenchmarkCollect(b *testing.B) {
	for _, old := range []int{1, fewVersions, fewVersions + 1} {
		b.Run(fmt.Sprintf("%d old versions", old), func(b *testing.B) {
			s := benchStore(b, true)
			var es []entry.Entry
			key := func(n uint64) []byte { return fmt.Appendf(nil, "key%08d", n%1000) }
			for n := range uint64(1000) {
				es = es[:0]
				for i := range old + 1 {
					es = append(es, entry.Entry{Action: entry.Set, Table: entry.TableVersion, Key: key(n), CSN: kv.CSN(i + 1),
						Value: benchValue})
				}
				mustAppend(b, s, es)
			}
			n := uint64(0)
			for b.Loop() {
				n++
				mustAppend(b, s, []entry.Entry{{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: key(n),
					CSN: kv.CSN(old + 1)}})
				if res := s.Read(0, entry.Read{Kind: entry.ReadKey, Key: key(n + 1), CSN: kv.CSN(old + 1)}); res.Err != nil {
					b.Fatal(res.Err)
				}
			}
		})
	}
}

func mustAppend(b *testing.B, s engine.Engine, es []entry.Entry) {
	if _, err := s.Append([]entry.Group{{Entries: es}}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBlockSum is what a read from disk of a block of 8 KiB pays to have its sum
// looked at before pebble does.
func BenchmarkBlockSum(b *testing.B) {
	block := make([]byte, 8<<10+blockTrailer)
	at := len(block) - blockSum
	binary.LittleEndian.PutUint32(block[at:], maskedSum(block[:at]))
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		if !blockWhole(block) {
			b.Fatal("the sum is wrong")
		}
	}
}
