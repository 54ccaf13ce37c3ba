package node

import "time"

const (
	// stepTime is how long a step should take at most: what it answers leaves the shard
	// when it ends, and who waits for that should not wait for others' large requests.
	// A single message takes as long as it takes.
	stepTime = 5 * time.Millisecond
	// maxPortion is how much one step takes. Somewhat arbitrary: whole steps of that many
	// ordinary messages take longer.
	maxPortion = 4096
)

// portion is how much of the inbox one step takes: all of it, unless steps have taken long.
type portion struct {
	// limit is how many messages, and how many answers to reads; 0 for maxPortion.
	limit int
	// left: there is more of the inbox than the last step has taken. What comes meanwhile
	// has to wait for that: messages of one sender stay in order. It is guarded by shardLoop.mu.
	left bool
}

func (p *portion) size() int {
	if p.limit == 0 {
		return maxPortion
	}
	return p.limit
}

// took adapts the size to how long a step with n messages and answers has taken.
func (p *portion) took(n int, took time.Duration) {
	switch {
	case took > stepTime:
		p.limit = max(int(int64(n)*int64(stepTime)/int64(took)), 1)
	case took < stepTime/2 && n >= p.size():
		p.limit = min(2*p.size(), maxPortion)
	}
}
