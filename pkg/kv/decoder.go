package kv

import "encoding/binary"

// Decoder decodes varints and bytes from the start of Rest. After the first invalid field Failed is set and Rest is
// empty; all further fields are zero. So a caller checks once, at the end.
//
//	d := kv.Decoder{Rest: b}
//	id, name := d.Uint(), d.Bytes()
//	if d.Failed || len(d.Rest) > 0 {
//		return errDamaged
//	}
type Decoder struct {
	Rest   []byte
	Failed bool
}

// Take returns the next n bytes. They share the memory of Rest, but not its capacity.
func (d *Decoder) Take(n uint64) []byte {
	if n > uint64(len(d.Rest)) {
		d.Rest, d.Failed = nil, true
		return nil
	}
	out := d.Rest[:n:n]
	d.Rest = d.Rest[n:]
	return out
}

// Byte returns the next byte.
func (d *Decoder) Byte() byte {
	if b := d.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint decodes an unsigned varint.
func (d *Decoder) Uint() uint64 {
	x, n := binary.Uvarint(d.Rest)
	d.skip(n)
	return x
}

// Int decodes a signed varint.
func (d *Decoder) Int() int64 {
	x, n := binary.Varint(d.Rest)
	d.skip(n)
	return x
}

// skip skips a varint of n bytes; 0 or less is the error of package binary.
func (d *Decoder) skip(n int) {
	if n <= 0 {
		d.Rest, d.Failed = nil, true
		return
	}
	d.Rest = d.Rest[n:]
}

// Bytes decodes bytes after their length, as Take returns them.
func (d *Decoder) Bytes() []byte { return d.Take(d.Uint()) }
