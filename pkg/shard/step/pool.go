package step

// Pool keeps values for reuse. A value that is returned in a step is reused from the next step on, since the
// rest of the step may still refer to it.
type Pool[T any] struct{ spare, returned []*T }

// maxPooled bounds the values that are kept. The value is somewhat arbitrary.
const maxPooled = 256

// Get returns a zero value, new or reused.
func (p *Pool[T]) Get() *T {
	n := len(p.spare)
	if n == 0 {
		return new(T)
	}
	x := p.spare[n-1]
	p.spare[n-1], p.spare = nil, p.spare[:n-1] // the value may never be returned
	return x
}

// Put returns a value to which nothing refers after the step.
func (p *Pool[T]) Put(x *T) { p.returned = append(p.returned, x) }

// EndStep makes the returned values available.
func (p *Pool[T]) EndStep() {
	var zero T
	for _, x := range p.returned {
		*x = zero
		if len(p.spare) < maxPooled {
			p.spare = append(p.spare, x)
		}
	}
	p.returned = Emptied(p.returned)
}
