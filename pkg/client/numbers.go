package client

import (
	"context"
	"encoding/hex"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Counter is a key that holds an int64, 0 if the key does not exist.
type Counter struct{ key string }

// NewCounter returns the counter of a key. It sends nothing.
func NewCounter(key string) Counter { return Counter{key} }

// Key returns the key.
func (c Counter) Key() string { return c.key }

// Add adds n. Additions commute: they never block each other. A sum out of the range of int64 is an
// error of [KindOutOfRange].
func (c Counter) Add(ctx context.Context, w Writer, n int64) error { return w.send(ctx, c.AddOp(n)) }

// AddOp returns the operation of [Counter.Add].
func (c Counter) AddOp(n int64) Op {
	o := &command{keyed(c.key, msg.OpAdd)}
	o.op.Delta, o.returns = n, false
	return o
}

// AddGet adds n and returns the sum. It takes the write lock of the key.
func (c Counter) AddGet(ctx context.Context, w Writer, n int64) (int64, error) {
	return result(ctx, w, c.AddGetOp(n))
}

// AddGetOp returns the operation of [Counter.AddGet].
func (c Counter) AddGetOp(n int64) *Result[int64] {
	r := &Result[int64]{operation: keyed(c.key, msg.OpAddGet), decode: decodeNumber}
	r.op.Delta = n
	return r
}

func decodeNumber(r *Result[int64], p *pb.Result) error {
	r.value, r.found = p.Number, true
	return nil
}

// Get returns the number.
func (c Counter) Get(ctx context.Context, r Reader) (int64, error) { return result(ctx, r, c.GetOp()) }

// GetOp returns the operation of [Counter.Get].
func (c Counter) GetOp() *Result[int64] { return calling(c.key, counterGet, asInt64) }

// BoundedCounter is a key that holds an int64 between a floor and a ceiling, such as a stock. Additions
// and subtractions commute as long as the bounds are far enough away for all of them in flight. An
// update of a counter that was not created fails the transaction with [KindNotFound], one that would
// leave the bounds with [KindOutOfRange].
type BoundedCounter struct{ key string }

// NewBoundedCounter returns the bounded counter of a key. It sends nothing.
func NewBoundedCounter(key string) BoundedCounter { return BoundedCounter{key} }

// Key returns the key.
func (c BoundedCounter) Key() string { return c.key }

// Create creates the counter. It has no effect if the counter exists with these bounds; with others it is
// an error of [KindConditionFailed].
func (c BoundedCounter) Create(ctx context.Context, w Writer, floor, ceiling, start int64) error {
	return w.send(ctx, c.CreateOp(floor, ceiling, start))
}

// CreateOp returns the operation of [BoundedCounter.Create].
func (c BoundedCounter) CreateOp(floor, ceiling, start int64) Op {
	return commanding(c.key, boundedCreate, adt.Int(floor), adt.Int(ceiling), adt.Int(start))
}

// Add adds n, which is not negative.
func (c BoundedCounter) Add(ctx context.Context, w Writer, n int64) error {
	return w.send(ctx, c.AddOp(n))
}

// AddOp returns the operation of [BoundedCounter.Add].
func (c BoundedCounter) AddOp(n int64) Op { return commanding(c.key, boundedAdd, adt.Int(n)) }

// Subtract subtracts n, which is not negative.
func (c BoundedCounter) Subtract(ctx context.Context, w Writer, n int64) error {
	return w.send(ctx, c.SubtractOp(n))
}

// SubtractOp returns the operation of [BoundedCounter.Subtract].
func (c BoundedCounter) SubtractOp(n int64) Op { return commanding(c.key, boundedSubtract, adt.Int(n)) }

// TryAdd adds n unless that would leave the bounds, and reports whether it has.
func (c BoundedCounter) TryAdd(ctx context.Context, w Writer, n int64) (bool, error) {
	return result(ctx, w, c.TryAddOp(n))
}

// TryAddOp returns the operation of [BoundedCounter.TryAdd].
func (c BoundedCounter) TryAddOp(n int64) *Result[bool] {
	return calling(c.key, boundedTryAdd, asBool, adt.Int(n))
}

// TrySubtract subtracts n unless that would leave the bounds, and reports whether it has.
func (c BoundedCounter) TrySubtract(ctx context.Context, w Writer, n int64) (bool, error) {
	return result(ctx, w, c.TrySubtractOp(n))
}

// TrySubtractOp returns the operation of [BoundedCounter.TrySubtract].
func (c BoundedCounter) TrySubtractOp(n int64) *Result[bool] {
	return calling(c.key, boundedTrySubtract, asBool, adt.Int(n))
}

// Get returns the number; ok reports whether the counter exists.
func (c BoundedCounter) Get(ctx context.Context, r Reader) (n int64, ok bool, err error) {
	return get(ctx, r, c.GetOp())
}

// GetOp returns the operation of [BoundedCounter.Get].
func (c BoundedCounter) GetOp() *Result[int64] { return calling(c.key, boundedGet, asInt64) }

// Bounds are those of a [BoundedCounter]. Both are possible numbers.
type Bounds struct{ Floor, Ceiling int64 }

// Bounds returns the bounds; ok reports whether the counter exists.
func (c BoundedCounter) Bounds(ctx context.Context, r Reader) (b Bounds, ok bool, err error) {
	return get(ctx, r, c.BoundsOp())
}

// BoundsOp returns the operation of [BoundedCounter.Bounds].
func (c BoundedCounter) BoundsOp() *Result[Bounds] {
	return calling(c.key, boundedBounds, func(r *Result[Bounds], a []Datum) error {
		r.found = len(a) == 2 && !a[0].IsNil()
		if r.found {
			r.value = Bounds{a[0].Int(), a[1].Int()}
		}
		return nil
	})
}

// Summary is a key that holds statistics of numbers: how many there are, their sum, and so on. The
// numbers have at most six decimal places, and are added exactly.
type Summary struct{ key string }

// Stats are the statistics of a [Summary]. Without numbers all are 0.
type Stats struct {
	Count                         int
	Sum, Mean, Min, Max, Variance float64
}

// NewSummary returns the summary of a key. It sends nothing.
func NewSummary(key string) Summary { return Summary{key} }

// Key returns the key.
func (s Summary) Key() string { return s.key }

// Add adds numbers. Additions commute. Without numbers it does nothing.
func (s Summary) Add(ctx context.Context, w Writer, numbers ...float64) error {
	if len(numbers) == 0 {
		return nil
	}
	return w.send(ctx, s.AddOp(numbers...))
}

// AddOp returns the operation of [Summary.Add]; it needs a number.
func (s Summary) AddOp(numbers ...float64) Op {
	args := make([]msg.Datum, len(numbers))
	for i, x := range numbers {
		args[i] = adt.Float(x)
	}
	return commanding(s.key, summaryAdd, args...)
}

// Count returns how many numbers there are.
func (s Summary) Count(ctx context.Context, r Reader) (int, error) {
	return result(ctx, r, s.CountOp())
}

// CountOp returns the operation of [Summary.Count].
func (s Summary) CountOp() *Result[int] { return calling(s.key, summaryCount, asInt) }

// Sum returns the sum of the numbers.
func (s Summary) Sum(ctx context.Context, r Reader) (float64, error) {
	return result(ctx, r, s.SumOp())
}

// SumOp returns the operation of [Summary.Sum].
func (s Summary) SumOp() *Result[float64] { return calling(s.key, summarySum, asFloat) }

// Mean returns the mean; ok reports whether there are numbers.
func (s Summary) Mean(ctx context.Context, r Reader) (x float64, ok bool, err error) {
	return get(ctx, r, s.MeanOp())
}

// MeanOp returns the operation of [Summary.Mean].
func (s Summary) MeanOp() *Result[float64] { return calling(s.key, summaryMean, asFloat) }

// Min returns the least number; ok reports whether there are numbers.
func (s Summary) Min(ctx context.Context, r Reader) (x float64, ok bool, err error) {
	return get(ctx, r, s.MinOp())
}

// MinOp returns the operation of [Summary.Min].
func (s Summary) MinOp() *Result[float64] { return calling(s.key, summaryMin, asFloat) }

// Max returns the greatest number; ok reports whether there are numbers.
func (s Summary) Max(ctx context.Context, r Reader) (x float64, ok bool, err error) {
	return get(ctx, r, s.MaxOp())
}

// MaxOp returns the operation of [Summary.Max].
func (s Summary) MaxOp() *Result[float64] { return calling(s.key, summaryMax, asFloat) }

// Variance returns the variance of the numbers as a whole population; ok reports whether there are
// numbers.
func (s Summary) Variance(ctx context.Context, r Reader) (x float64, ok bool, err error) {
	return get(ctx, r, s.VarianceOp())
}

// VarianceOp returns the operation of [Summary.Variance].
func (s Summary) VarianceOp() *Result[float64] { return calling(s.key, summaryVariance, asFloat) }

// Stats returns all statistics.
func (s Summary) Stats(ctx context.Context, r Reader) (Stats, error) {
	return result(ctx, r, s.StatsOp())
}

// StatsOp returns the operation of [Summary.Stats].
func (s Summary) StatsOp() *Result[Stats] {
	return calling(s.key, summaryStats, func(r *Result[Stats], a []Datum) error {
		if len(a) < 6 {
			return tooLittle(&r.operation)
		}
		r.value = Stats{Count: int(a[0].Int()), Sum: a[1].Float(), Mean: a[2].Float(), Min: a[3].Float(), Max: a[4].Float(),
			Variance: a[5].Float()}
		r.found = r.value.Count > 0
		return nil
	})
}

// IDs is a key that generates unique ids. They are not in sequence, and calls never block each other.
type IDs struct{ key string }

// ID is an id of [IDs].
type ID [16]byte

// String returns 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// NewIDs returns the generator of a key. It sends nothing.
func NewIDs(key string) IDs { return IDs{key} }

// Key returns the key.
func (i IDs) Key() string { return i.key }

// Next returns an id that no other call of any transaction gets.
func (i IDs) Next(ctx context.Context, r Reader) (ID, error) { return result(ctx, r, i.NextOp()) }

// NextOp returns the operation of [IDs.Next].
func (i IDs) NextOp() *Result[ID] {
	return calling(i.key, idsNext, func(r *Result[ID], a []Datum) error {
		ids, err := idsIn(&r.operation, a, 1)
		if err != nil {
			return err
		}
		r.value, r.found = ids[0], true
		return nil
	}, adt.Int(1))
}

// NextN returns n ids.
func (i IDs) NextN(ctx context.Context, r Reader, n int) ([]ID, error) {
	return result(ctx, r, i.NextNOp(n))
}

// NextNOp returns the operation of [IDs.NextN].
func (i IDs) NextNOp(n int) *Result[[]ID] {
	return calling(i.key, idsNext, func(r *Result[[]ID], a []Datum) (err error) {
		r.value, err = idsIn(&r.operation, a, n)
		r.found = len(r.value) > 0
		return err
	}, number(n))
}

func idsIn(o *operation, a []Datum, n int) ([]ID, error) {
	if len(a) < n {
		return nil, tooLittle(o)
	}
	out := make([]ID, len(a))
	for i := range a {
		if copy(out[i][:], a[i].Bytes()) != len(out[i]) {
			return nil, tooLittle(o)
		}
	}
	return out, nil
}
