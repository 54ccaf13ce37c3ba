package flow

const (
	// maxSpare bounds the one-shots that are kept for reuse.
	maxSpare = 256
	// maxOver bounds the room for those that are over. Somewhat arbitrary: where more end at
	// once it does not matter to make it anew.
	maxFinished = 4096
)

// Pool keeps one-shots for reuse: over are those that become spare with the next Flush, when
// nothing refers to them any more.
type Pool struct {
	spare, finished []*OneShot
}

// Get gives an empty one.
func (p *Pool) Get() *OneShot {
	n := len(p.spare)
	if n == 0 {
		return &OneShot{}
	}
	o := p.spare[n-1]
	p.spare = p.spare[:n-1]
	return o
}

// Put takes one that is over. It may be referred to until Recycle.
func (p *Pool) Put(o *OneShot) { p.finished = append(p.finished, o) }

// Recycle has those that are over be used again.
func (p *Pool) Recycle() {
	for _, o := range p.finished {
		*o = OneShot{}
		if len(p.spare) < maxSpare {
			p.spare = append(p.spare, o)
		}
	}
	clear(p.finished)
	p.finished = p.finished[:0]
	if cap(p.finished) > maxFinished {
		p.finished = nil
	}
}
