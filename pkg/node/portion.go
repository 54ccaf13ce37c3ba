package node

import "time"

const (
	// stepTime is the target for the maximum duration of a step. Responses leave the shard when the step ends,
	// so small requests should not wait for the large requests of others. A single message is never divided.
	stepTime = 5 * time.Millisecond
	// maxPortion bounds the messages of one step.
	maxPortion = 4096
)

// portion is how much of the inbox one step takes: all of it, unless steps take long.
type portion struct {
	// limit bounds the messages, and the read results, of a step; 0 means maxPortion.
	limit int
	// hasRest: the last step has not taken the whole inbox. New messages must wait for the rest, since
	// messages of one sender stay in order. It is guarded by shardLoop.mu.
	hasRest bool
}

func (p *portion) size() int {
	if p.limit == 0 {
		return maxPortion
	}
	return p.limit
}

// adapt adjusts the size to the duration of a step with n messages and read results.
func (p *portion) adapt(n int, duration time.Duration) {
	switch {
	case duration > stepTime:
		p.limit = max(int(int64(n)*int64(stepTime)/int64(duration)), 1)
	case duration < stepTime/2 && n >= p.size():
		p.limit = min(2*p.size(), maxPortion)
	}
}
