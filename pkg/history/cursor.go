package history

import "encoding/binary"

// cursor decodes a payload. The strings that it returns share the payload's memory. After the first field that cannot
// be decoded, bad is set and all further fields are zero.
type cursor struct {
	b   string
	bad bool
}

func (c *cursor) remaining() int { return len(c.b) }

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.bad = true
		return 0
	}
	x := c.b[0]
	c.b = c.b[1:]
	return x
}

func (c *cursor) uvarint() uint64 {
	var x uint64
	for i := 0; i < binary.MaxVarintLen64; i++ {
		y := c.byte()
		if c.bad || i == binary.MaxVarintLen64-1 && y > 1 {
			break
		}
		x |= uint64(y&0x7f) << (7 * i)
		if y < 0x80 {
			return x
		}
	}
	c.bad = true
	return 0
}

func (c *cursor) varint() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (c *cursor) str() string {
	n := c.uvarint()
	if c.bad || n > uint64(len(c.b)) {
		c.bad = true
		return ""
	}
	s := c.b[:n]
	c.b = c.b[n:]
	return s
}

// length decodes the number of items that follow, each of at least least bytes.
func (c *cursor) length(least int) int {
	n := c.uvarint()
	if c.bad || n > uint64(len(c.b)/least) {
		c.bad = true
		return 0
	}
	return int(n)
}

func (c *cursor) txn(t *Txn) bool {
	t.Outcome = Outcome(c.byte())
	t.Client = int(c.varint())
	t.ID = c.str()
	t.Start, t.End = c.varint(), Never
	if t.Outcome != Unknown {
		t.End = t.Start + c.varint()
	}
	if t.Outcome < Committed || t.Outcome > Unknown || t.End < t.Start {
		return false
	}
	t.Ops = make([]Op, c.length(3))
	for i := range t.Ops {
		if !c.op(&t.Ops[i]) {
			return false
		}
	}
	return !c.bad && c.remaining() == 0
}

func (c *cursor) op(o *Op) bool {
	o.Kind, o.Saw = OpKind(c.byte()), Saw(c.byte())
	if !o.valid() {
		return false
	}
	o.Key = c.str()
	switch o.Kind {
	case Read:
		switch o.Saw {
		case SawValue:
			o.Value = c.str()
		case SawNumber:
			o.Number = c.varint()
		}
	case Write:
		o.Value = c.str()
	case Add:
		o.Delta = c.varint()
		if o.Saw == SawNumber {
			o.Number = c.varint()
		}
	case Scan:
		return c.scan(o)
	case DeleteRange:
		o.End = c.str()
		if o.Saw == SawNumber {
			o.Number = c.varint()
		}
	}
	return !c.bad
}

// valid reports whether an operation of this kind can have this observation.
func (o *Op) valid() bool {
	switch o.Kind {
	case Read:
		return o.Saw > SawNothing && o.Saw < sawEnd
	case Write, Scan:
		return o.Saw == SawNothing
	case Delete:
		return o.Saw == SawNothing || o.Saw == SawAbsent || o.Saw == SawExists
	case Add, DeleteRange:
		return o.Saw == SawNothing || o.Saw == SawNumber
	}
	return false
}

func (c *cursor) scan(o *Op) bool {
	o.End = c.str()
	limit := c.uvarint()
	if limit > 1<<31 {
		return false
	}
	o.Limit = int(limit)
	if n := c.length(3); n > 0 {
		o.Pairs = make([]Pair, n)
	}
	for i := range o.Pairs {
		p := &o.Pairs[i]
		p.Saw, p.Key = Saw(c.byte()), c.str()
		switch p.Saw {
		case SawValue:
			p.Value = c.str()
		case SawNumber:
			p.Number = c.varint()
		default:
			return false
		}
	}
	return !c.bad
}
