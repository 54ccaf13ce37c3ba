package msg

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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

// Seen are the versions, and the results of its first operations, that the piece relies on.
func (p *Piece) Seen() []Seen {
	if p.ReadSet == nil {
		return nil
	}
	return p.ReadSet.Seen
}

// Digest tells the result of a read from others: two with the same one have shown the same. It is
// never 0. How long a key has still to live does not count.
func (r *Result) Digest() uint64 {
	x := *r
	x.Seq, x.TtlMillis = 0, 0
	b, err := x.Marshal()
	if err != nil {
		panic("msg: a result cannot be encoded: " + err.Error()) // no field of it can fail
	}
	return max(uint64(crc32.Checksum(b, castagnoli))<<32|uint64(crc32.ChecksumIEEE(b)), 1)
}
