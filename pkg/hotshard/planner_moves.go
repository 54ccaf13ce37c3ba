package hotshard

// CompletedMove is a move that has happened.
type CompletedMove struct {
	Move
	// At is when KeyArrived or KeyLeft reported it.
	At int64
}

// maxCompletedMoves is the number of moves that are remembered: more than fit on a page of the console.
const maxCompletedMoves = 64

// recordMove adds a move to the list for the operator. A key that was already on the hot shard when the
// planner started has not been moved.
func (p *Planner) recordMove(k *plannedKey, m Move) {
	if m.To == p.opt.Hot && k.move == nil && k.fails == 0 {
		return
	}
	if len(p.completed) == maxCompletedMoves {
		p.completed = append(p.completed[:0], p.completed[1:]...)
	}
	p.completed = append(p.completed, CompletedMove{m, p.now})
}

// Moves returns the last moves that have happened in the lifetime of this planner, newest first.
func (p *Planner) Moves() []CompletedMove {
	out := make([]CompletedMove, len(p.completed))
	for i := range out {
		out[i] = p.completed[len(p.completed)-1-i]
	}
	return out
}
