package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Value is a key that holds one T, read and written as a whole.
type Value[T any] struct{ handle[T] }

// NewValue returns the value of a key. It sends nothing.
func NewValue[T any](key string, c Codec[T]) Value[T] { return Value[T]{handle[T]{key, c}} }

// Put writes the value. See [PutOp] for the options.
func (v Value[T]) Put(ctx context.Context, w Writer, value T, opts ...PutOption) error {
	return w.send(ctx, v.PutOp(value, opts...))
}

// PutOp returns the operation of [Value.Put]. Its result is the version of the write.
func (v Value[T]) PutOp(value T, opts ...PutOption) *Result[Version] {
	args, wrong := v.encode(nil, value)
	if wrong != nil {
		r := PutOp(v.key, nil)
		r.wrong = wrong
		return r
	}
	return PutOp(v.key, args[0].Bytes, opts...)
}

// CompareAndSet replaces old by new, compared as bytes. If the key does not hold old, the error is of
// [KindConditionFailed].
func (v Value[T]) CompareAndSet(ctx context.Context, w Writer, old, new T) error {
	return w.send(ctx, v.CompareAndSetOp(old, new))
}

// CompareAndSetOp returns the operation of [Value.CompareAndSet]. Its result is the version of the
// write.
func (v Value[T]) CompareAndSetOp(old, new T) *Result[Version] {
	args, wrong := v.encode(nil, old, new)
	if wrong != nil {
		r := PutOp(v.key, nil)
		r.wrong = wrong
		return r
	}
	return PutOp(v.key, args[1].Bytes, IfValue(args[0].Bytes))
}

// Get returns the value; ok reports whether the key exists.
func (v Value[T]) Get(ctx context.Context, r Reader) (value T, ok bool, err error) {
	return get(ctx, r, v.GetOp())
}

// GetOp returns the operation of [Value.Get].
func (v Value[T]) GetOp() *Result[T] {
	return &Result[T]{operation: keyed(v.key, msg.OpGet), decode: v.read}
}

// GetForUpdate is Get that takes the lock of a later write; see [Tx.GetForUpdate].
func (v Value[T]) GetForUpdate(ctx context.Context, tx *Tx) (value T, ok bool, err error) {
	return get(ctx, tx, v.GetForUpdateOp())
}

// GetForUpdateOp returns the operation of [Value.GetForUpdate].
func (v Value[T]) GetForUpdateOp() *Result[T] {
	r := v.GetOp()
	r.op.ForUpdate = true
	return r
}

func (v Value[T]) read(r *Result[T], p *pb.Result) (err error) {
	switch {
	case !p.Found:
		return nil
	case p.Type != pb.DataType_VALUE:
		return wrongType(&r.operation, typeOf(p.Type, p.TypeName), "a value")
	}
	r.found = true
	r.value, err = v.codec.Decode(written(p.Type, p.Value))
	if err != nil {
		return undecodable(&r.operation, err)
	}
	return nil
}

// Set is a key that holds members, each of them once, in the order of their bytes. Operations on
// different members commute.
type Set[T any] struct{ handle[T] }

// NewSet returns the set of a key. It sends nothing.
func NewSet[T any](key string, c Codec[T]) Set[T] { return Set[T]{handle[T]{key, c}} }

// Add adds members. Additions commute. Without members it does nothing.
func (s Set[T]) Add(ctx context.Context, w Writer, members ...T) error {
	if len(members) == 0 {
		return nil
	}
	return w.send(ctx, s.AddOp(members...))
}

// AddOp returns the operation of [Set.Add]; it needs a member.
func (s Set[T]) AddOp(members ...T) Op { return s.command(setAdd, nil, members...) }

// Remove removes members. Removals commute. Without members it does nothing.
func (s Set[T]) Remove(ctx context.Context, w Writer, members ...T) error {
	if len(members) == 0 {
		return nil
	}
	return w.send(ctx, s.RemoveOp(members...))
}

// RemoveOp returns the operation of [Set.Remove]; it needs a member.
func (s Set[T]) RemoveOp(members ...T) Op { return s.command(setRemove, nil, members...) }

// AddCount adds members and returns how many of them are new.
func (s Set[T]) AddCount(ctx context.Context, w Writer, members ...T) (int, error) {
	if len(members) == 0 {
		return 0, nil
	}
	return result(ctx, w, s.AddCountOp(members...))
}

// AddCountOp returns the operation of [Set.AddCount]; it needs a member.
func (s Set[T]) AddCountOp(members ...T) *Result[int] {
	return about(s.handle, setAddCount, asInt, nil, members...)
}

// RemoveCount removes members and returns how many of them there were.
func (s Set[T]) RemoveCount(ctx context.Context, w Writer, members ...T) (int, error) {
	if len(members) == 0 {
		return 0, nil
	}
	return result(ctx, w, s.RemoveCountOp(members...))
}

// RemoveCountOp returns the operation of [Set.RemoveCount]; it needs a member.
func (s Set[T]) RemoveCountOp(members ...T) *Result[int] {
	return about(s.handle, setRemoveCount, asInt, nil, members...)
}

// Contains reports whether a member is in the set.
func (s Set[T]) Contains(ctx context.Context, r Reader, member T) (bool, error) {
	return result(ctx, r, s.ContainsOp(member))
}

// ContainsOp returns the operation of [Set.Contains].
func (s Set[T]) ContainsOp(member T) *Result[bool] {
	return about(s.handle, setContains, asBool, nil, member)
}

// Len returns the number of members. It excludes additions and removals.
func (s Set[T]) Len(ctx context.Context, r Reader) (int, error) { return result(ctx, r, s.LenOp()) }

// LenOp returns the operation of [Set.Len].
func (s Set[T]) LenOp() *Result[int] { return calling(s.key, setLen, asInt) }

// Members returns all members. It excludes additions and removals.
func (s Set[T]) Members(ctx context.Context, r Reader) ([]T, error) {
	return result(ctx, r, s.MembersOp())
}

// MembersOp returns the operation of [Set.Members].
func (s Set[T]) MembersOp() *Result[[]T] { return calling(s.key, setMembers, s.elements) }

// List is a key that holds elements in the order in which they were appended. Negative indexes count
// from the end: the last element has the index -1.
type List[T any] struct{ handle[T] }

// NewList returns the list of a key. It sends nothing.
func NewList[T any](key string, c Codec[T]) List[T] { return List[T]{handle[T]{key, c}} }

// Append appends elements. Without elements it does nothing.
func (l List[T]) Append(ctx context.Context, w Writer, elements ...T) error {
	if len(elements) == 0 {
		return nil
	}
	return w.send(ctx, l.AppendOp(elements...))
}

// AppendOp returns the operation of [List.Append]; it needs an element.
func (l List[T]) AppendOp(elements ...T) Op { return l.command(listAppend, nil, elements...) }

// AppendLen appends elements, at least one, and returns the length of the list after that.
func (l List[T]) AppendLen(ctx context.Context, w Writer, elements ...T) (int, error) {
	return result(ctx, w, l.AppendLenOp(elements...))
}

// AppendLenOp returns the operation of [List.AppendLen].
func (l List[T]) AppendLenOp(elements ...T) *Result[int] {
	return about(l.handle, listAppendLen, asInt, nil, elements...)
}

// Trim removes all elements except those from first to last, both included.
func (l List[T]) Trim(ctx context.Context, w Writer, first, last int) error {
	return w.send(ctx, l.TrimOp(first, last))
}

// TrimOp returns the operation of [List.Trim].
func (l List[T]) TrimOp(first, last int) Op {
	return commanding(l.key, listTrim, number(first), number(last))
}

// Get returns one element; ok reports whether there is one with the index.
func (l List[T]) Get(ctx context.Context, r Reader, index int) (element T, ok bool, err error) {
	return get(ctx, r, l.GetOp(index))
}

// GetOp returns the operation of [List.Get].
func (l List[T]) GetOp(index int) *Result[T] {
	return calling(l.key, listGet, l.element, number(index))
}

// Range returns the elements from first to last, both included.
func (l List[T]) Range(ctx context.Context, r Reader, first, last int) ([]T, error) {
	return result(ctx, r, l.RangeOp(first, last))
}

// RangeOp returns the operation of [List.Range].
func (l List[T]) RangeOp(first, last int) *Result[[]T] {
	return calling(l.key, listRange, l.elements, number(first), number(last))
}

// Len returns the number of elements.
func (l List[T]) Len(ctx context.Context, r Reader) (int, error) { return result(ctx, r, l.LenOp()) }

// LenOp returns the operation of [List.Len].
func (l List[T]) LenOp() *Result[int] { return calling(l.key, listLen, asInt) }

// TopK is a key that holds the members with the highest scores, at most 100, each with the highest
// score that it was ever added with. Additions commute.
type TopK[T any] struct{ handle[T] }

// NewTopK returns the top-k of a key. It sends nothing.
func NewTopK[T any](key string, c Codec[T]) TopK[T] { return TopK[T]{handle[T]{key, c}} }

// Add adds a member with a score.
func (k TopK[T]) Add(ctx context.Context, w Writer, member T, score float64) error {
	return w.send(ctx, k.AddOp(member, score))
}

// AddOp returns the operation of [TopK.Add].
func (k TopK[T]) AddOp(member T, score float64) Op {
	return k.command(topAdd, these(adt.Float(score)), member)
}

// Top returns the n members with the highest scores, the highest first.
func (k TopK[T]) Top(ctx context.Context, r Reader, n int) ([]Scored[T], error) {
	return result(ctx, r, k.TopOp(n))
}

// TopOp returns the operation of [TopK.Top].
func (k TopK[T]) TopOp(n int) *Result[[]Scored[T]] {
	return calling(k.key, topTop, k.scored, number(n))
}

// Max returns the member with the highest score; ok reports whether there is one.
func (k TopK[T]) Max(ctx context.Context, r Reader) (best Scored[T], ok bool, err error) {
	return get(ctx, r, k.MaxOp())
}

// MaxOp returns the operation of [TopK.Max].
func (k TopK[T]) MaxOp() *Result[Scored[T]] {
	return calling(k.key, topMax, func(r *Result[Scored[T]], a []Datum) (err error) {
		if len(a) < 2 || a[0].IsNil() {
			return nil
		}
		r.found, r.value.Score = true, a[1].Float()
		r.value.Member, err = k.decode(&r.operation, a[0])
		return err
	})
}
