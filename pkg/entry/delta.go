package entry

import "github.com/linchpindb/linchpin/pkg/msg"

// IsDelta reports whether a row of the version table is a change of the value in
// the row before it, and no whole value. Such rows and the whole value that they
// begin with are a chain.
func IsDelta(b []byte) bool { return len(b) > 0 && b[0] == deltaFormat }

// DeltaSize is the length of the stored form of calls: header, calls.
func DeltaSize(calls []msg.Call) int {
	d := Delta{Calls: calls}
	return valueHeader + d.Size()
}

// EncodeDelta writes the stored form of the calls that made v to b, which has
// the length that DeltaSize says.
func EncodeDelta(b []byte, v *Value, calls []msg.Call) {
	b[0], b[1] = deltaFormat, byte(v.Type)
	if _, err := v.Version.MarshalTo(b[2:]); err != nil {
		panic(err) // a fixed-size encoding into enough room
	}
	d := Delta{Calls: calls}
	if _, err := d.MarshalToSizedBuffer(b[valueHeader:]); err != nil {
		panic(err) // generated code, into the room that it asked for
	}
}

// DecodeDelta reads what EncodeDelta wrote: the calls, and the type and identity
// of the value that they make.
func DecodeDelta(b []byte) (Value, []msg.Call, error) {
	v, delta, err := DecodeHead(b)
	if err != nil {
		return v, nil, err
	}
	var d Delta
	if !delta {
		return v, nil, corrupt("", "a stored row is a whole value, where a change should be")
	}
	if err := d.Unmarshal(b[valueHeader:]); err != nil {
		return v, nil, corrupt("", "a stored change cannot be read: %v", err)
	}
	if len(d.Calls) == 0 {
		return v, nil, corrupt("", "a stored change changes nothing")
	}
	return v, d.Calls, nil
}
