package hotshard

// Made is a move that has taken place.
type Made struct {
	Move
	// At is when, as Owned or Left was told.
	At int64
}

// keptMoves is how many moves are remembered. Somewhat arbitrary: more than fit on
// a page.
const keptMoves = 64

// note remembers a move for the operator. A key that was there when the planner
// began has not been moved.
func (p *Planner) note(k *plannedKey, m Move) {
	if m.To == p.opt.Hot && k.move == nil && k.fails == 0 {
		return
	}
	if len(p.made) == keptMoves {
		p.made = append(p.made[:0], p.made[1:]...)
	}
	p.made = append(p.made, Made{m, p.now})
}

// Moves lists the last moves that have taken place, newest first, as far as this
// planner has seen them.
func (p *Planner) Moves() []Made {
	out := make([]Made, len(p.made))
	for i := range out {
		out[i] = p.made[len(p.made)-1-i]
	}
	return out
}
