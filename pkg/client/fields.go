package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Map is a key that holds fields with values, in the order of the bytes of the fields. Operations on
// different fields commute.
type Map[T any] struct{ handle[T] }

// NewMap returns the map of a key. It sends nothing.
func NewMap[T any](key string, c Codec[T]) Map[T] { return Map[T]{handle[T]{key, c}} }

// Set sets a field.
func (m Map[T]) Set(ctx context.Context, w Writer, field string, value T) error {
	return w.send(ctx, m.SetOp(field, value))
}

// SetOp returns the operation of [Map.Set].
func (m Map[T]) SetOp(field string, value T) Op {
	return m.command(mapSet, these(text(field)), value)
}

// SetIfAbsent sets a field if it does not exist, and reports whether it has.
func (m Map[T]) SetIfAbsent(ctx context.Context, w Writer, field string, value T) (bool, error) {
	return result(ctx, w, m.SetIfAbsentOp(field, value))
}

// SetIfAbsentOp returns the operation of [Map.SetIfAbsent].
func (m Map[T]) SetIfAbsentOp(field string, value T) *Result[bool] {
	return about(m.handle, mapSetIfAbsent, asBool, these(text(field)), value)
}

// Delete deletes fields. Without fields it does nothing.
func (m Map[T]) Delete(ctx context.Context, w Writer, fields ...string) error {
	if len(fields) == 0 {
		return nil
	}
	return w.send(ctx, m.DeleteOp(fields...))
}

// DeleteOp returns the operation of [Map.Delete]; it needs a field.
func (m Map[T]) DeleteOp(fields ...string) Op { return commanding(m.key, mapDelete, texts(fields)...) }

// Increment adds n to a field that has a whole number in decimal, as [Int64] encodes it; a field that
// does not exist counts as 0. Increments commute.
func (m Map[T]) Increment(ctx context.Context, w Writer, field string, n int64) error {
	return w.send(ctx, m.IncrementOp(field, n))
}

// IncrementOp returns the operation of [Map.Increment].
func (m Map[T]) IncrementOp(field string, n int64) Op {
	return commanding(m.key, mapIncrement, text(field), adt.Int(n))
}

// IncrementGet is Increment that returns the sum.
func (m Map[T]) IncrementGet(ctx context.Context, w Writer, field string, n int64) (int64, error) {
	return result(ctx, w, m.IncrementGetOp(field, n))
}

// IncrementGetOp returns the operation of [Map.IncrementGet].
func (m Map[T]) IncrementGetOp(field string, n int64) *Result[int64] {
	return calling(m.key, mapIncrementGet, asInt64, text(field), adt.Int(n))
}

// Get returns the value of a field; ok reports whether the field exists.
func (m Map[T]) Get(ctx context.Context, r Reader, field string) (value T, ok bool, err error) {
	return get(ctx, r, m.GetOp(field))
}

// GetOp returns the operation of [Map.Get].
func (m Map[T]) GetOp(field string) *Result[T] { return calling(m.key, mapGet, m.element, text(field)) }

// GetMany returns the values of those of the fields that exist.
func (m Map[T]) GetMany(ctx context.Context, r Reader, fields ...string) (map[string]T, error) {
	if len(fields) == 0 {
		return map[string]T{}, nil
	}
	return result(ctx, r, m.GetManyOp(fields...))
}

// GetManyOp returns the operation of [Map.GetMany]; it needs a field.
func (m Map[T]) GetManyOp(fields ...string) *Result[map[string]T] {
	return calling(m.key, mapGetMany, func(r *Result[map[string]T], a []Datum) (err error) {
		if len(a) < len(fields) {
			return tooLittle(&r.operation)
		}
		r.value = make(map[string]T, len(fields))
		for i, f := range fields {
			if a[i].IsNil() {
				continue
			}
			r.value[f], err = m.decode(&r.operation, a[i])
			if err != nil {
				return err
			}
		}
		r.found = len(r.value) > 0
		return nil
	}, texts(fields)...)
}

// Has reports whether a field exists.
func (m Map[T]) Has(ctx context.Context, r Reader, field string) (bool, error) {
	return result(ctx, r, m.HasOp(field))
}

// HasOp returns the operation of [Map.Has].
func (m Map[T]) HasOp(field string) *Result[bool] { return calling(m.key, mapHas, asBool, text(field)) }

// Len returns the number of fields.
func (m Map[T]) Len(ctx context.Context, r Reader) (int, error) { return result(ctx, r, m.LenOp()) }

// LenOp returns the operation of [Map.Len].
func (m Map[T]) LenOp() *Result[int] { return calling(m.key, mapLen, asInt) }

// All returns all fields.
func (m Map[T]) All(ctx context.Context, r Reader) ([]Field[T], error) {
	return result(ctx, r, m.AllOp())
}

// AllOp returns the operation of [Map.All].
func (m Map[T]) AllOp() *Result[[]Field[T]] { return calling(m.key, mapAll, m.fields) }

// Range returns at most limit fields, from the field from on.
func (m Map[T]) Range(ctx context.Context, r Reader, from string, limit int) ([]Field[T], error) {
	return result(ctx, r, m.RangeOp(from, limit))
}

// RangeOp returns the operation of [Map.Range].
func (m Map[T]) RangeOp(from string, limit int) *Result[[]Field[T]] {
	return calling(m.key, mapRange, m.fields, text(from), number(limit))
}

// SortedSet is a key that holds members, each of them once, in the order of their scores and, where
// these are equal, of their bytes. Scores have at most six decimal places. Ranks count from 0.
type SortedSet[T any] struct{ handle[T] }

// NewSortedSet returns the sorted set of a key. It sends nothing.
func NewSortedSet[T any](key string, c Codec[T]) SortedSet[T] {
	return SortedSet[T]{handle[T]{key, c}}
}

// Add adds a member with a score, or sets its score.
func (s SortedSet[T]) Add(ctx context.Context, w Writer, member T, score float64) error {
	return w.send(ctx, s.AddOp(member, score))
}

// AddOp returns the operation of [SortedSet.Add].
func (s SortedSet[T]) AddOp(member T, score float64) Op {
	return s.command(sortedAdd, these(adt.Float(score)), member)
}

// Increment adds n to the score of a member, which is added if it is not there. Increments commute.
func (s SortedSet[T]) Increment(ctx context.Context, w Writer, member T, n float64) error {
	return w.send(ctx, s.IncrementOp(member, n))
}

// IncrementOp returns the operation of [SortedSet.Increment].
func (s SortedSet[T]) IncrementOp(member T, n float64) Op {
	args, wrong := s.encode(nil, member)
	c := commanding(s.key, sortedIncrement, append(args, adt.Float(n))...)
	c.wrong = wrong
	return c
}

// IncrementGet is Increment that returns the sum.
func (s SortedSet[T]) IncrementGet(ctx context.Context, w Writer, member T, n float64) (float64, error) {
	return result(ctx, w, s.IncrementGetOp(member, n))
}

// IncrementGetOp returns the operation of [SortedSet.IncrementGet].
func (s SortedSet[T]) IncrementGetOp(member T, n float64) *Result[float64] {
	args, wrong := s.encode(nil, member)
	r := calling(s.key, sortedIncrementGet, asFloat, append(args, adt.Float(n))...)
	r.wrong = wrong
	return r
}

// Remove removes members. Without members it does nothing.
func (s SortedSet[T]) Remove(ctx context.Context, w Writer, members ...T) error {
	if len(members) == 0 {
		return nil
	}
	return w.send(ctx, s.RemoveOp(members...))
}

// RemoveOp returns the operation of [SortedSet.Remove]; it needs a member.
func (s SortedSet[T]) RemoveOp(members ...T) Op { return s.command(sortedRemove, nil, members...) }

// Score returns the score of a member; ok reports whether it is there.
func (s SortedSet[T]) Score(ctx context.Context, r Reader, member T) (score float64, ok bool, err error) {
	return get(ctx, r, s.ScoreOp(member))
}

// ScoreOp returns the operation of [SortedSet.Score].
func (s SortedSet[T]) ScoreOp(member T) *Result[float64] {
	return about(s.handle, sortedScore, asFloat, nil, member)
}

// Rank returns the rank of a member, 0 for the lowest score; ok reports whether it is there.
func (s SortedSet[T]) Rank(ctx context.Context, r Reader, member T) (rank int, ok bool, err error) {
	return get(ctx, r, s.RankOp(member))
}

// RankOp returns the operation of [SortedSet.Rank].
func (s SortedSet[T]) RankOp(member T) *Result[int] {
	return about(s.handle, sortedRank, asInt, nil, member)
}

// RevRank is Rank with 0 for the highest score.
func (s SortedSet[T]) RevRank(ctx context.Context, r Reader, member T) (rank int, ok bool, err error) {
	return get(ctx, r, s.RevRankOp(member))
}

// RevRankOp returns the operation of [SortedSet.RevRank].
func (s SortedSet[T]) RevRankOp(member T) *Result[int] {
	return about(s.handle, sortedRevRank, asInt, nil, member)
}

// RangeByRank returns the members with the ranks first to last, both included. Negative ranks count
// from the end: the highest score has -1.
func (s SortedSet[T]) RangeByRank(ctx context.Context, r Reader, first, last int) ([]Scored[T], error) {
	return result(ctx, r, s.RangeByRankOp(first, last))
}

// RangeByRankOp returns the operation of [SortedSet.RangeByRank].
func (s SortedSet[T]) RangeByRankOp(first, last int) *Result[[]Scored[T]] {
	return calling(s.key, sortedRangeByRank, s.scored, number(first), number(last))
}

// RangeByRevRank is RangeByRank with the ranks of [SortedSet.RevRank], the highest score first.
func (s SortedSet[T]) RangeByRevRank(ctx context.Context, r Reader, first, last int) ([]Scored[T], error) {
	return result(ctx, r, s.RangeByRevRankOp(first, last))
}

// RangeByRevRankOp returns the operation of [SortedSet.RangeByRevRank].
func (s SortedSet[T]) RangeByRevRankOp(first, last int) *Result[[]Scored[T]] {
	return calling(s.key, sortedRangeByRevRank, s.scored, number(first), number(last))
}

// RangeByScore returns at most limit members with scores from least to greatest, both included, the
// lowest first. A limit of 0 is no bound.
func (s SortedSet[T]) RangeByScore(ctx context.Context, r Reader, least, greatest float64, limit int) ([]Scored[T],
	error) {
	return result(ctx, r, s.RangeByScoreOp(least, greatest, limit))
}

// RangeByScoreOp returns the operation of [SortedSet.RangeByScore].
func (s SortedSet[T]) RangeByScoreOp(least, greatest float64, limit int) *Result[[]Scored[T]] {
	args := []msg.Datum{adt.Float(least), adt.Float(greatest)}
	if limit != 0 {
		args = append(args, number(limit))
	}
	return calling(s.key, sortedRangeByScore, s.scored, args...)
}

// Len returns the number of members.
func (s SortedSet[T]) Len(ctx context.Context, r Reader) (int, error) {
	return result(ctx, r, s.LenOp())
}

// LenOp returns the operation of [SortedSet.Len].
func (s SortedSet[T]) LenOp() *Result[int] { return calling(s.key, sortedLen, asInt) }
