package history

import (
	"encoding/binary"
	"hash/crc32"
)

// The file format: the magic with its version, then records. A record is the length of its payload (uvarint), the
// payload, and the payload's CRC-32C (4 bytes, little-endian). A payload begins with its type. The first record is the
// metadata; the last one is the end with the number of transactions. A file without the end is truncated.
var magic = []byte("linchpin history 1\n")

const (
	recordMeta = 1
	recordTxn  = 2
	recordEnd  = 3

	// maxRecordBytes rejects corrupt lengths. It is more than a scan of the greatest size in a transaction of the greatest
	// size.
	maxRecordBytes = 256 << 20

	flagInitialUnknown = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendRecord(b, payload []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(payload)))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func encodeMeta(b []byte, m Meta) []byte {
	var flags uint64
	if m.InitialUnknown {
		flags |= flagInitialUnknown
	}
	b = append(b, recordMeta)
	b = binary.AppendUvarint(b, flags)
	return appendBytes(b, m.Note)
}

func encodeEnd(b []byte, count uint64) []byte {
	return binary.AppendUvarint(append(b, recordEnd), count)
}

func encodeTxnHead(b []byte, client int, id []byte, start, end int64, o Outcome, ops int) []byte {
	b = append(b, recordTxn, byte(o))
	b = binary.AppendVarint(b, int64(client))
	b = appendBytes(b, id)
	b = binary.AppendVarint(b, start)
	if o != Unknown {
		b = binary.AppendVarint(b, end-start)
	}
	return binary.AppendUvarint(b, uint64(ops))
}

// fields appends the fields of one operation in the order of its kind.
type fields struct{ p *Pending }

func (p *Pending) op(k OpKind, s Saw) fields {
	p.ops = append(p.ops, byte(k), byte(s))
	p.count++
	return fields{p}
}

func (f fields) key(k []byte) fields {
	f.p.ops = appendBytes(f.p.ops, k)
	return f
}

func (f fields) value(v []byte) fields {
	f.p.ops = appendIdentity(f.p.ops, v)
	return f
}

func (f fields) number(n int64) fields {
	f.p.ops = binary.AppendVarint(f.p.ops, n)
	return f
}

func (f fields) unsigned(n uint64) fields {
	f.p.ops = binary.AppendUvarint(f.p.ops, n)
	return f
}

func (f fields) pairs(ps []Pair) {
	f.unsigned(uint64(len(ps)))
	for _, q := range ps {
		f.p.ops = append(f.p.ops, byte(q.Saw))
		f.p.ops = appendBytes(f.p.ops, q.Key)
		if q.Saw == SawNumber {
			f.number(q.Number)
		} else {
			f.p.ops = appendIdentity(f.p.ops, []byte(q.Value))
		}
	}
}

// appendIdentity is appendBytes of Identity(v), without its allocation.
func appendIdentity(b, v []byte) []byte {
	if len(v) <= verbatimBytes {
		return appendBytes(b, v)
	}
	var d [digestBytes]byte
	putDigest(&d, v)
	return appendBytes(b, d[:])
}
