package cli

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// printer writes results as tables or as JSON.
type printer struct {
	out  io.Writer
	json bool
	hex  bool
	// columns is how wide tables can be; nil for any width.
	columns func() int
}

// text shows bytes unambiguously: as they are if they are printable UTF-8 that neither begins with a
// double quote nor has a space at an end, and else as a quoted Go string. With --hex all are hexadecimal.
func (p *printer) text(s string) string {
	if p.hex {
		return hex.EncodeToString([]byte(s))
	}
	return kv.Format([]byte(s))
}

// value shows what a key holds: of data types with methods only the name.
func (p *printer) value(t client.Type, value []byte, number int64) string {
	switch t {
	case client.TypeCounter:
		return strconv.FormatInt(number, 10)
	case client.TypeValue:
		return p.text(string(value))
	}
	return "(" + string(t) + ")"
}

func (p *printer) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.out, format, args...)
	return err
}

// none reports an empty result to people: on standard error, so that a pipe stays empty.
func (s *session) none(what string) {
	if !s.json {
		s.cmd.PrintErrln(what)
	}
}

// object writes one JSON object on a line.
func (p *printer) object(v any) error {
	e := json.NewEncoder(p.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// objects writes an object for each of all.
func objects[T any](p *printer, all []T, object func(*T) any) error {
	for i := range all {
		if err := p.object(object(&all[i])); err != nil {
			return err
		}
	}
	return nil
}

// item is a key and what it holds, as JSON. Bytes that are no valid UTF-8
// stand in hexadecimal in the fields that end in _hex.
type item struct {
	Key      *string `json:"key,omitempty"`
	KeyHex   *string `json:"key_hex,omitempty"`
	Found    *bool   `json:"found,omitempty"`
	Type     string  `json:"type,omitempty"`
	Value    *string `json:"value,omitempty"`
	ValueHex *string `json:"value_hex,omitempty"`
	Number   *int64  `json:"number,omitempty"`
	Version  string  `json:"version,omitempty"`
	// TTL is the time to live in milliseconds, of a key that expires.
	TTL *int64 `json:"ttl_ms,omitempty"`
	// The receipt, of a result that is one item.
	receiptAnswer
}

// jsonBytes returns s for one of two fields.
func (p *printer) jsonBytes(s string) (text, inHex *string) {
	if p.hex || !utf8.ValidString(s) {
		s = hex.EncodeToString([]byte(s))
		return nil, &s
	}
	return &s, nil
}

func (p *printer) keyItem(key string) (it item) {
	it.Key, it.KeyHex = p.jsonBytes(key)
	return it
}

// holding adds what the key holds.
func (it item) holding(p *printer, t client.Type, value []byte, number int64, v version) item {
	switch it.Type = string(t); t {
	case client.TypeCounter:
		it.Number = &number
	case client.TypeValue:
		it.Value, it.ValueHex = p.jsonBytes(string(value))
	}
	it.Version = shownVersion(v)
	return it
}

// version is a kv.Version or a client.Version.
type version interface {
	IsZero() bool
	String() string
}

// shownVersion is empty for a write that has no version yet: an addition gets its version when it
// becomes visible, which may be after its response.
func shownVersion(v version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

// entryItem is an entry of a scan as JSON.
func (p *printer) entryItem(e *client.Entry) item {
	return p.keyItem(e.Key).holding(p, e.Type, e.Value, e.Number, e.Version)
}
