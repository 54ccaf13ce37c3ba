package msg

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ReadSetOf returns a read set, nil if it is empty.
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

// Seen are the reads without locks that the piece relies on.
func (p *Piece) Seen() []Seen {
	if p.ReadSet == nil {
		return nil
	}
	return p.ReadSet.Seen
}

// Digest returns a hash of the result of a read, to compare two executions. It is never 0. The remaining time to live
// is not included.
func (r *Result) Digest() uint64 {
	x := *r
	x.Seq, x.TtlMillis = 0, 0
	b, err := x.Marshal()
	if err != nil {
		panic("msg: a result cannot be encoded: " + err.Error()) // none of its fields can fail
	}
	return max(uint64(crc32.Checksum(b, castagnoli))<<32|uint64(crc32.ChecksumIEEE(b)), 1)
}
