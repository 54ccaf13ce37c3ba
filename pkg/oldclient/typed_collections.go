package client

// Set is a key that holds members, each of them once, in the order of their
// bytes.
type Set[T any] struct{ typed[T] }

// NewSet is the set at a key; nothing is done yet.
func NewSet[T any](key string, c Codec[T]) *Set[T] { return &Set[T]{typed[T]{key, "set", c}} }

// Add adds members. Those who add do not wait for each other.
func (s *Set[T]) Add(d Doer, members ...T) error { return s.tellOf(d, "add", members) }

// Remove removes members.
func (s *Set[T]) Remove(d Doer, members ...T) error { return s.tellOf(d, "remove", members) }

// AddCount adds members, at least one, and tells how many of them were new.
func (s *Set[T]) AddCount(d Doer, members ...T) (int64, error) {
	return s.countOf(d, "add-count", members)
}

// RemoveCount removes members, at least one, and tells how many were there.
func (s *Set[T]) RemoveCount(d Doer, members ...T) (int64, error) {
	return s.countOf(d, "remove-count", members)
}

// Contains tells whether a member is there.
func (s *Set[T]) Contains(d Doer, member T) (bool, error) {
	op, err := s.with("contains", nil, member)
	if err != nil {
		return false, err
	}
	return askBool(d, op)
}

// Size tells how many members there are. It waits for those who add or remove
// any, and they for it.
func (s *Set[T]) Size(d Doer) (int64, error) { return askInt(d, s.call("len")) }

// Members gives all members.
func (s *Set[T]) Members(d Doer) ([]T, error) { return s.listed(d, "members") }

// Dict is a key that holds fields with values, in the order of the fields'
// bytes. Transactions on different fields do not wait for each other.
type Dict[T any] struct{ typed[T] }

// Field is a field of a dict with its value.
type Field[T any] struct {
	Name  string
	Value T
}

// NewDict is the dict at a key; nothing is done yet.
func NewDict[T any](key string, c Codec[T]) *Dict[T] { return &Dict[T]{typed[T]{key, "map", c}} }

// Set sets a field.
func (h *Dict[T]) Set(d Doer, field string, value T) error {
	op, err := h.with("set", []any{field}, value)
	if err != nil {
		return err
	}
	return tell(d, op)
}

// SetNew sets a field that is not there, and tells whether it has.
func (h *Dict[T]) SetNew(d Doer, field string, value T) (bool, error) {
	op, err := h.with("set-if-absent", []any{field}, value)
	if err != nil {
		return false, err
	}
	return askBool(d, op)
}

// Delete removes fields.
func (h *Dict[T]) Delete(d Doer, fields ...string) error {
	if len(fields) == 0 {
		return nil
	}
	return tell(d, h.call("delete", anys(fields)...))
}

// Get gives the value of a field; ok is false if it is not there.
func (h *Dict[T]) Get(d Doer, field string) (value T, ok bool, err error) {
	return h.one(d, h.call("get", field))
}

// GetMany gives those of the fields that are there.
func (h *Dict[T]) GetMany(d Doer, fields ...string) (map[string]T, error) {
	out := make(map[string]T, len(fields))
	if len(fields) == 0 {
		return out, nil
	}
	a, err := ask(d, h.call("get-many", anys(fields)...), len(fields))
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		if a[i].IsNil() {
			continue
		}
		out[f], err = h.element(a[i])
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Has tells whether a field is there.
func (h *Dict[T]) Has(d Doer, field string) (bool, error) { return askBool(d, h.call("has", field)) }

// Increment adds to a field that is a whole number in decimal, 0 if it is not
// there. Those who increment do not wait for each other.
func (h *Dict[T]) Increment(d Doer, field string, delta int64) error {
	return tell(d, h.call("increment", field, delta))
}

// IncrementGet is Increment which gives the sum.
func (h *Dict[T]) IncrementGet(d Doer, field string, delta int64) (int64, error) {
	return askInt(d, h.call("increment-get", field, delta))
}

// Size tells how many fields there are.
func (h *Dict[T]) Size(d Doer) (int64, error) { return askInt(d, h.call("len")) }

// All gives all fields.
func (h *Dict[T]) All(d Doer) ([]Field[T], error) { return h.pairs(d, h.call("all")) }

// Scan gives at most limit fields, from one on.
func (h *Dict[T]) Scan(d Doer, from string, limit int) ([]Field[T], error) {
	return h.pairs(d, h.call("range", from, limit))
}

func (h *Dict[T]) pairs(d Doer, op Op) ([]Field[T], error) {
	a, err := ask(d, op, 0)
	if err != nil {
		return nil, err
	}
	out := make([]Field[T], len(a)/2)
	for i := range out {
		out[i].Name = a[2*i].String()
		out[i].Value, err = h.element(a[2*i+1])
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// List is a key that holds values in the order in which they were appended.
type List[T any] struct{ typed[T] }

// NewList is the list at a key; nothing is done yet.
func NewList[T any](key string, c Codec[T]) *List[T] { return &List[T]{typed[T]{key, "list", c}} }

// Append appends values.
func (l *List[T]) Append(d Doer, values ...T) error { return l.tellOf(d, "append", values) }

// AppendLength appends values, at least one, and tells how long the list is then.
func (l *List[T]) AppendLength(d Doer, values ...T) (int64, error) {
	return l.countOf(d, "append-len", values)
}

// Range gives the values from first to last, both included; negative numbers
// count from the end, which is -1.
func (l *List[T]) Range(d Doer, first, last int) ([]T, error) {
	return l.listed(d, "range", first, last)
}

// Trim removes all values but those that Range would give.
func (l *List[T]) Trim(d Doer, first, last int) error { return tell(d, l.call("trim", first, last)) }

// Length tells how many values there are.
func (l *List[T]) Length(d Doer) (int64, error) { return askInt(d, l.call("len")) }

// Get gives one value; ok is false if there is none. A negative index counts from
// the end.
func (l *List[T]) Get(d Doer, index int) (value T, ok bool, err error) {
	return l.one(d, l.call("get", index))
}

// one calls a method that answers an element or nothing.
func (h *typed[T]) one(d Doer, op Op) (value T, ok bool, err error) {
	a, err := ask(d, op, 1)
	if err != nil || a[0].IsNil() {
		return value, false, err
	}
	value, err = h.element(a[0])
	return value, err == nil, err
}

func anys(ss []string) []any {
	out := make([]any, len(ss))
	for i, s := range ss {
		out[i] = s
	}
	return out
}
