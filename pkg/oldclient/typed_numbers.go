package client

import "github.com/linchpindb/linchpin/pkg/kv"

// Counter is a key that holds a whole number, 0 where there is none:
//
//	client.Counter("likes").Add(tx, 1)
type Counter string

// Add adds n. Additions do not wait for each other.
func (c Counter) Add(d Doer, n int64) error { return tell(d, Add([]byte(c), n)) }

// Get gives the number.
func (c Counter) Get(d Doer) (int64, error) { return askInt(d, Call([]byte(c), "counter", "get")) }

// AddGet adds n and gives the sum. Those who do this wait for each other.
func (c Counter) AddGet(d Doer, n int64) (int64, error) {
	return askInt(d, Call([]byte(c), "counter", "add-get", n))
}

// BoundedCounter is a key that holds a whole number which stays between a floor
// and a ceiling, such as a stock. What leaves room for all that others may yet do
// does not wait for them.
type BoundedCounter string

func (c BoundedCounter) call(method string, args ...any) Op {
	return Call([]byte(c), "bounded-counter", method, args...)
}

// Create makes the counter. Adding to or subtracting from a counter that does not exist
// fails the transaction with kv.KindNotFound.
func (c BoundedCounter) Create(d Doer, floor, ceiling, start int64) error {
	return tell(d, c.call("create", floor, ceiling, start))
}

// Add adds n, which is positive. If that would leave the bounds, the transaction
// fails with kv.KindOutOfRange.
func (c BoundedCounter) Add(d Doer, n int64) error { return tell(d, c.call("add", n)) }

// Subtract is Add the other way.
func (c BoundedCounter) Subtract(d Doer, n int64) error { return tell(d, c.call("subtract", n)) }

// TryAdd adds n, which is positive, unless that would leave the bounds, and tells
// whether it has.
func (c BoundedCounter) TryAdd(d Doer, n int64) (bool, error) {
	return askBool(d, c.call("try-add", n))
}

// TrySubtract is TryAdd the other way.
func (c BoundedCounter) TrySubtract(d Doer, n int64) (bool, error) {
	return askBool(d, c.call("try-subtract", n))
}

// Get gives the number; ok is false if there is no counter.
func (c BoundedCounter) Get(d Doer) (n int64, ok bool, err error) { return askPlace(d, c.call("get")) }

// Bounds gives the floor and the ceiling; ok is false if there is no counter.
func (c BoundedCounter) Bounds(d Doer) (floor, ceiling int64, ok bool, err error) {
	a, err := ask(d, c.call("bounds"), 1)
	if err != nil || len(a) < 2 || a[0].IsNil() {
		return 0, 0, false, err
	}
	return a[0].Int(), a[1].Int(), true, nil
}

// Bag is a key that holds the summary of numbers: how many, their sum, and so on.
// They have at most six decimal places, and are added exactly.
type Bag string

// Summary is what is known of a bag's numbers. Of none, all is 0.
type Summary struct {
	Count                         int64
	Sum, Mean, Min, Max, Variance float64
}

func (b Bag) call(method string, args ...any) Op { return Call([]byte(b), "summary", method, args...) }

// Add puts numbers into the bag. Additions do not wait for each other.
func (b Bag) Add(d Doer, numbers ...float64) error {
	if len(numbers) == 0 {
		return nil
	}
	args := make([]any, len(numbers))
	for i, x := range numbers {
		args[i] = x
	}
	return tell(d, b.call("add", args...))
}

// Count gives how many numbers there are.
func (b Bag) Count(d Doer) (int64, error) { return askInt(d, b.call("count")) }

// Sum gives their sum.
func (b Bag) Sum(d Doer) (float64, error) {
	x, _, err := askFloat(d, b.call("sum"))
	return x, err
}

// Mean gives their mean; ok is false if there are none.
func (b Bag) Mean(d Doer) (x float64, ok bool, err error) { return askFloat(d, b.call("mean")) }

// Min gives the least; ok is false if there are none.
func (b Bag) Min(d Doer) (x float64, ok bool, err error) { return askFloat(d, b.call("min")) }

// Max gives the greatest; ok is false if there are none.
func (b Bag) Max(d Doer) (x float64, ok bool, err error) { return askFloat(d, b.call("max")) }

// Variance gives the mean of the squares of how far they are from the mean; ok is
// false if there are none.
func (b Bag) Variance(d Doer) (x float64, ok bool, err error) { return askFloat(d, b.call("variance")) }

// Summary gives all of it at once.
func (b Bag) Summary(d Doer) (s Summary, err error) {
	a, err := ask(d, b.call("stats"), 6)
	if err != nil {
		return s, err
	}
	return Summary{Count: a[0].Int(), Sum: a[1].Float(), Mean: a[2].Float(), Min: a[3].Float(), Max: a[4].Float(), Variance: a[5].Float()}, nil
}

// IDs is a key that gives ids which no other call of any transaction gets. They
// are not in sequence, and nobody waits for anybody.
type IDs string

// Next gives an id.
func (i IDs) Next(d Doer) (id [16]byte, err error) {
	all, err := i.NextN(d, 1)
	if err == nil {
		id = all[0]
	}
	return id, err
}

// NextN gives n ids.
func (i IDs) NextN(d Doer, n int) ([][16]byte, error) {
	a, err := ask(d, Call([]byte(i), "ids", "next", n), n)
	if err != nil {
		return nil, err
	}
	out := make([][16]byte, len(a))
	for j := range a {
		if copy(out[j][:], a[j].Bytes()) != len(out[j]) {
			return nil, errorf(kv.KindInternal, nil, "the server answered with an id of %d bytes", len(a[j].Bytes()))
		}
	}
	return out, nil
}
