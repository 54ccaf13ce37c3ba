package flow

const (
	// maxSpare bounds the one-shots that are kept for reuse.
	maxSpare = 256
	// maxFinished bounds the capacity of the list of finished one-shots. Somewhat arbitrary: if more
	// finish between two flushes, an allocation does not matter.
	maxFinished = 4096
)

// Pool reuses one-shots. A finished one may still be referred to by the response that has been
// queued, so it becomes spare at the next Flush.
type Pool struct {
	spare, finished []*OneShot
}

// Get returns an empty one-shot.
func (p *Pool) Get() *OneShot {
	n := len(p.spare)
	if n == 0 {
		return &OneShot{}
	}
	o := p.spare[n-1]
	p.spare = p.spare[:n-1]
	return o
}

// Put adds a finished one-shot. It is valid until Recycle.
func (p *Pool) Put(o *OneShot) { p.finished = append(p.finished, o) }

// Recycle makes finished one-shots available to Get.
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
