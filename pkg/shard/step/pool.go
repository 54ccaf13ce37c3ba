package step

// Pool keeps values for reuse. What is given back in a step is reused from the next one on, since
// the rest of the step may still refer to it.
type Pool[T any] struct{ spare, over []*T }

// maxSpare bounds the values that are kept. Somewhat arbitrary.
const maxSpare = 256

// Get makes a value, or takes a spare one, which is zero.
func (p *Pool[T]) Get() *T {
	n := len(p.spare)
	if n == 0 {
		return new(T)
	}
	x := p.spare[n-1]
	p.spare[n-1], p.spare = nil, p.spare[:n-1] // it may never come back
	return x
}

// Put gives a value back to which nothing refers after the step.
func (p *Pool[T]) Put(x *T) { p.over = append(p.over, x) }

// EndStep makes spare what was given back.
func (p *Pool[T]) EndStep() {
	var zero T
	for _, x := range p.over {
		*x = zero
		if len(p.spare) < maxSpare {
			p.spare = append(p.spare, x)
		}
	}
	p.over = Emptied(p.over)
}
