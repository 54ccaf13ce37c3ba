package msg

// ReadSetOf makes a read set, nil if there is nothing in it.
func ReadSetOf(grants []Grant, seen []Seen) *ReadSet {
	if len(grants)+len(seen) == 0 {
		return nil
	}
	return &ReadSet{Grants: grants, Seen: seen}
}

// Grants are the locks that the piece relies on.
func (p *Piece) Grants() []Grant {
	if p.ReadSet == nil {
		return nil
	}
	return p.ReadSet.Grants
}

// Seen are the versions that the piece relies on.
func (p *Piece) Seen() []Seen {
	if p.ReadSet == nil {
		return nil
	}
	return p.ReadSet.Seen
}
