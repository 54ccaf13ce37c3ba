package entry

import "github.com/linchpindb/linchpin/pkg/msg"

// IsDelta reports whether a row of the version table is a change of the value of the preceding row. Such rows and the
// whole value before them are a chain.
func IsDelta(b []byte) bool { return formatOf(b) == deltaFormat || formatOf(b) == patchFormat }

// DeltaSize is the length of the stored form of the calls that made v.
func DeltaSize(v *Value, calls []msg.Call) int {
	d := Delta{Calls: calls}
	return v.header() + d.Size()
}

// EncodeDelta writes the stored form of the calls that made v to b, which has the length of DeltaSize.
func EncodeDelta(b []byte, v *Value, calls []msg.Call) {
	v.encodeHeader(b, deltaFormat)
	d := Delta{Calls: calls}
	if _, err := d.MarshalToSizedBuffer(b[v.header():]); err != nil {
		panic(err) // b has the size that the generated code computes
	}
}

// DecodeDelta decodes the output of EncodeDelta: the calls, and the type and version of the resulting value.
func DecodeDelta(b []byte) (Value, []msg.Call, error) {
	v, _, err := DecodeHead(b)
	if err != nil {
		return v, nil, err
	}
	var d Delta
	if formatOf(b) == patchFormat {
		return v, nil, corrupt("", "a stored row is a change of a value in pages, not a change by calls")
	}
	if formatOf(b) != deltaFormat {
		return v, nil, corrupt("", "a stored row is a whole value, not a change")
	}
	if err := d.Unmarshal(afterHeader(b)); err != nil {
		return v, nil, corrupt("", "a stored change cannot be decoded: %v", err)
	}
	if len(d.Calls) == 0 {
		return v, nil, corrupt("", "a stored change is empty")
	}
	return v, d.Calls, nil
}
