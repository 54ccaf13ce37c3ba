package cli

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
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
func (p *printer) text(b []byte) string {
	if p.hex {
		return hex.EncodeToString(b)
	}
	return kv.Shown(b)
}

// value shows what a key holds: of data types with methods only the name.
func (p *printer) value(t client.Type, name string, value []byte, number int64) string {
	switch t {
	case client.TypeCounter:
		return strconv.FormatInt(number, 10)
	case client.TypeRegister:
		return p.text(value)
	}
	return "(" + name + ")"
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

// jsonBytes returns b for one of two fields.
func (p *printer) jsonBytes(b []byte) (text, inHex *string) {
	s := string(b)
	if p.hex || !utf8.ValidString(s) {
		s = hex.EncodeToString(b)
		return nil, &s
	}
	return &s, nil
}

func (p *printer) keyItem(key []byte) (it item) {
	it.Key, it.KeyHex = p.jsonBytes(key)
	return it
}

// holding adds what the key holds.
func (it item) holding(p *printer, t client.Type, name string, value []byte, number int64, v kv.Version) item {
	switch it.Type = name; t {
	case client.TypeCounter:
		it.Number = &number
	case client.TypeRegister:
		it.Value, it.ValueHex = p.jsonBytes(value)
	}
	it.Version = shownVersion(v)
	return it
}

// shownVersion is empty for a write that has no version yet: an addition gets its version when it
// becomes visible, which may be after its response.
func shownVersion(v kv.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

func (p *printer) pairItem(pr *client.Pair) item {
	return p.keyItem(pr.Key).holding(p, pr.Type, pr.TypeName, pr.Value, pr.Number, pr.Version)
}
