package echo

import (
	"encoding/binary"
	"errors"
)

// frame is one request or answer: who waits for it, and that many bytes.
type frame struct {
	caller uint32
	size   uint32
}

const header = 8

// batch is the message of both directions: frames one after the other. It
// implements codec.Message.
type batch struct {
	frames []frame
	// payload is what the frames are filled with.
	payload []byte
}

// Size is the encoded size in bytes.
func (b *batch) Size() int {
	n := 0
	for _, f := range b.frames {
		n += header + int(f.size)
	}
	return n
}

// MarshalToSizedBuffer encodes into all of out.
func (b *batch) MarshalToSizedBuffer(out []byte) (int, error) {
	at := 0
	for _, f := range b.frames {
		binary.LittleEndian.PutUint32(out[at:], f.caller)
		binary.LittleEndian.PutUint32(out[at+4:], f.size)
		at += header
		at += copy(out[at:at+int(f.size)], b.payload)
	}
	return at, nil
}

var errCut = errors.New("echo: a batch is cut off")

// Unmarshal adds the frames that in has.
func (b *batch) Unmarshal(in []byte) error {
	for len(in) > 0 {
		if len(in) < header {
			return errCut
		}
		f := frame{caller: binary.LittleEndian.Uint32(in), size: binary.LittleEndian.Uint32(in[4:])}
		in = in[header:]
		if len(in) < int(f.size) {
			return errCut
		}
		in = in[f.size:]
		b.frames = append(b.frames, f)
	}
	return nil
}
