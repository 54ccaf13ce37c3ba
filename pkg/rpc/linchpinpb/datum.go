package linchpinpb

import "github.com/linchpindb/linchpin/pkg/msg"

// Inside is the datum as the store has it. Text is bytes, and what is of no kind
// is nothing.
func (d *Datum) Inside() msg.Datum {
	switch x := d.Datum.(type) {
	case *Datum_Bytes:
		return bytesDatum(x.Bytes)
	case *Datum_Text:
		return bytesDatum([]byte(x.Text))
	case *Datum_Int:
		return msg.Datum{Kind: msg.DatumInt, Int: x.Int}
	case *Datum_Float:
		return msg.Datum{Kind: msg.DatumFloat, Float: x.Float}
	case *Datum_Bool:
		out := msg.Datum{Kind: msg.DatumBool}
		if x.Bool {
			out.Int = 1
		}
		return out
	}
	return msg.Datum{}
}

// bytesDatum has nil for no bytes, so that there is one form of them.
func bytesDatum(b []byte) msg.Datum {
	if len(b) == 0 {
		b = nil
	}
	return msg.Datum{Kind: msg.DatumBytes, Bytes: b}
}

// DatumOf is a datum of the store for clients.
func DatumOf(d *msg.Datum) Datum {
	switch d.Kind {
	case msg.DatumBytes:
		return Datum{Datum: &Datum_Bytes{d.Bytes}}
	case msg.DatumInt:
		return Datum{Datum: &Datum_Int{d.Int}}
	case msg.DatumFloat:
		return Datum{Datum: &Datum_Float{d.Float}}
	case msg.DatumBool:
		return Datum{Datum: &Datum_Bool{d.Int != 0}}
	}
	return Datum{Datum: &Datum_Nil{true}}
}

// InsideAll is Inside of each.
func InsideAll(ds []Datum) []msg.Datum {
	if len(ds) == 0 {
		return nil
	}
	out := make([]msg.Datum, len(ds))
	for i := range ds {
		out[i] = ds[i].Inside()
	}
	return out
}

// DataOf is DatumOf of each.
func DataOf(ds []msg.Datum) []Datum {
	if len(ds) == 0 {
		return nil
	}
	out := make([]Datum, len(ds))
	for i := range ds {
		out[i] = DatumOf(&ds[i])
	}
	return out
}
