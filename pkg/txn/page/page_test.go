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

// shards are those of a scan, in order, with what each returned.
type shards struct {
	pairs    [][]msg.Pair
	returned int
}

// ask answers as a shard does: short, now and then, as one that reads for long.
func (s *shards) ask(shard, limit int, from []byte, short int) (pairs []msg.Pair, resume []byte) {
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
func (s *shards) scan(limit int, short func() int) (out []msg.Pair, rounds int) {
	p := Paging{Span: kv.Range([]byte("k"), nil)}
	for i := range s.pairs {
		p.parts = append(p.parts, &part{shard: kv.ShardID(i), from: []byte("k")})
	}
	left := limit
	for {
		p.begin(left)
		for due := p.Due(); len(due) > 0; due = p.Due() {
			rounds++
			for _, i := range due {
				x := p.part(i)
				var resume []byte
				x.pairs, resume = s.ask(int(i), p.share(x), x.from, short())
				x.from = resume
			}
		}
		pairs, more := p.Merge()
		out = append(out, pairs...)
		if limit > 0 {
			left -= len(pairs)
		}
		if !more || limit > 0 && left == 0 {
			return out, rounds
		}
	}
}

// TestShardsShareTheLimitOfAScan: a bounded scan reads little more than its limit, in few rounds, and
// what it returns is the first of all pairs.
func TestShardsShareTheLimitOfAScan(t *testing.T) {
	const n = 9
	s := &shards{pairs: make([][]msg.Pair, n)}
	for i := range 20_000 {
		shard := (i * 7919 % 104729) % n
		s.pairs[shard] = append(s.pairs[shard], msg.Pair{Key: fmt.Appendf(nil, "k%06d", i)})
	}
	for _, limit := range []int{10, 100, 1000, 5000} {
		s.returned = 0
		out, rounds := s.scan(limit, func() int { return 0 })
		require.Len(t, out, limit)
		require.Equal(t, "k000000", string(out[0].Key))
		require.Equal(t, fmt.Sprintf("k%06d", limit-1), string(out[limit-1].Key))
		t.Logf("limit %d: %d returned in %d rounds", limit, s.returned, rounds)
		require.Less(t, s.returned, 2*limit+5*n)
		require.LessOrEqual(t, rounds, 3+limit/pageLimit)
	}
	one := &shards{pairs: make([][]msg.Pair, n)}
	one.pairs[3] = slices.Concat(s.pairs...)
	_, rounds := one.scan(1000, func() int { return 0 })
	require.LessOrEqual(t, rounds, 5, "where all pairs are on one shard it is asked for more and more")
}

// TestScansReturnWhatThereIs: whatever the limit, and however short the shards' pages are, each pair comes
// once and in order.
func TestScansReturnWhatThereIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &shards{pairs: make([][]msg.Pair, rapid.IntRange(1, 5).Draw(t, "shards"))}
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
