package page

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// store is the data of the shards, with the number of pairs that they returned.
type store struct {
	pairs    [][]msg.Pair
	returned int
}

// read responds as a shard does. short > 0 ends a page early, as after a long read.
func (s *store) read(shard, limit int, from []byte, short int) (pairs []msg.Pair, resume []byte) {
	all := s.pairs[shard]
	i, _ := slices.BinarySearchFunc(all, from, func(p msg.Pair, k []byte) int { return bytes.Compare(p.Key, k) })
	rest := all[i:]
	n := min(limit, len(rest))
	if short > 0 {
		n = min(n, short-1)
	}
	if n < len(rest) {
		resume = rest[n].Key
	}
	s.returned += n
	return rest[:n], resume
}

// scan reads up to limit pairs; 0 is all.
func (s *store) scan(limit int, short func() int) (out []msg.Pair, requests int) {
	p := Paging{Span: kv.Range([]byte("k"), nil)}
	for i := range s.pairs {
		p.parts = append(p.parts, &part{shard: kv.ShardID(i), resume: []byte("k")})
	}
	left := limit
	for {
		p.setLimits(left)
		for due := p.DueShards(); len(due) > 0; due = p.DueShards() {
			requests++
			for _, i := range due {
				x := p.part(i)
				var resume []byte
				x.pairs, resume = s.read(int(i), p.share(x), x.resume, short())
				x.resume = resume
			}
		}
		pairs, more := p.Merge()
		out = append(out, pairs...)
		if limit > 0 {
			left -= len(pairs)
		}
		if !more || limit > 0 && left == 0 {
			return out, requests
		}
	}
}

// It needs few rounds of requests, and returns the first pairs.
func TestBoundedScanReadsLittleMoreThanItsLimit(t *testing.T) {
	const n = 9
	s := &store{pairs: make([][]msg.Pair, n)}
	for i := range 20_000 {
		shard := (i * 7919 % 104729) % n
		s.pairs[shard] = append(s.pairs[shard], msg.Pair{Key: fmt.Appendf(nil, "k%06d", i)})
	}
	for _, limit := range []int{10, 100, 1000, 5000} {
		s.returned = 0
		out, requests := s.scan(limit, func() int { return 0 })
		require.Len(t, out, limit)
		require.Equal(t, "k000000", string(out[0].Key))
		require.Equal(t, fmt.Sprintf("k%06d", limit-1), string(out[limit-1].Key))
		t.Logf("limit %d: %d returned in %d requests", limit, s.returned, requests)
		require.Less(t, s.returned, 2*limit+5*n)
		require.LessOrEqual(t, requests, 3+limit/pageLimit)
	}
	one := &store{pairs: make([][]msg.Pair, n)}
	one.pairs[3] = slices.Concat(s.pairs...)
	_, requests := one.scan(1000, func() int { return 0 })
	require.LessOrEqual(t, requests, 5, "all pairs on one shard: its share doubles with each request")
}

// This holds for every limit, and if shards end pages early.
func TestScanReturnsEachPairOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &store{pairs: make([][]msg.Pair, rapid.IntRange(1, 5).Draw(t, "shards"))}
		total := rapid.IntRange(0, 60).Draw(t, "pairs")
		for i := range total {
			shard := rapid.IntRange(0, len(s.pairs)-1).Draw(t, "shard")
			s.pairs[shard] = append(s.pairs[shard], msg.Pair{Key: fmt.Appendf(nil, "k%03d", i)})
		}
		limit := rapid.IntRange(0, 70).Draw(t, "limit")
		pages := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 20).Draw(t, "short pages")
		out, _ := s.scan(limit, func() (n int) {
			if len(pages) > 0 {
				n, pages = pages[0], pages[1:]
			}
			return n
		})
		want := total
		if limit > 0 {
			want = min(limit, total)
		}
		require.Len(t, out, want)
		for i, p := range out {
			require.Equal(t, fmt.Sprintf("k%03d", i), string(p.Key))
		}
	})
}
