package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// outcome is a transaction that has committed.
type outcome struct {
	client.Report
	// Results has one element per operation, in order.
	Results []pb.Result
	// ResultsLost: the response was lost, and the store does not keep results of that size.
	ResultsLost bool
}

// execute runs a transaction on the present state, or on that of a past, which may be nil.
func (s *session) execute(ctx context.Context, p *past, ops ...client.Op) (*outcome, error) {
	out := new(outcome)
	r, err := p.reader(s, &out.Report)
	if err != nil {
		return nil, err
	}
	out.Results, err = Results(ctx, r, ops)
	out.ResultsLost = client.KindOf(err) == client.KindResultsLost
	if err != nil && !out.ResultsLost {
		return nil, p.gone(err)
	}
	if slices.ContainsFunc(ops, func(op client.Op) bool { return !op.ReadOnly() }) {
		s.changed(out.TxID)
	}
	s.printPast(&out.Report)
	return out, nil
}

// Results runs operations, and returns all that the node returns of each: more than an operation has as
// its value, and of a key of any type.
func Results(ctx context.Context, r client.Reader, ops []client.Op) ([]pb.Result, error) {
	whole := make([]client.Op, len(ops))
	for i, op := range ops {
		whole[i] = clientlink.Whole(op).(client.Op)
	}
	if err := r.Execute(ctx, whole...); err != nil {
		return nil, err
	}
	results := make([]pb.Result, len(ops))
	for i, op := range whole {
		results[i] = op.(*client.Result[pb.Result]).Value()
	}
	return results, nil
}

// typeOf is the type of a result or an entry. Types of the cluster's own have a name beside the number.
func typeOf(t pb.DataType, name string) client.Type {
	return client.Type(cmp.Or(name, strings.ReplaceAll(strings.ToLower(t.String()), "_", "-")))
}

// held shows what a key holds, which an operation has read.
func (p *printer) held(r *pb.Result) string {
	return p.value(typeOf(r.Type, r.TypeName), r.Value, r.Number)
}

// heldItem adds the same to the key as JSON.
func (p *printer) heldItem(it item, r *pb.Result) item {
	return it.holding(p, typeOf(r.Type, r.TypeName), r.Value, r.Number, r.Version)
}

// ttlText is the time to live of a key, in words.
func ttlText(r *pb.Result) string {
	switch {
	case !r.Found:
		return "(absent)"
	case r.ExpiresAtMs == 0:
		return "never"
	}
	return (time.Duration(r.TtlMs) * time.Millisecond).String()
}

// ttlMillis is the same as a number, nil if the key does not expire.
func ttlMillis(r *pb.Result) *int64 {
	if r.ExpiresAtMs == 0 {
		return nil
	}
	return &r.TtlMs
}

// datum returns an element of what a method returns: a string, int64, float64 or bool, or nil.
func datum(d *pb.Datum) any {
	switch x := d.Datum.(type) {
	case *pb.Datum_Bytes:
		return string(x.Bytes)
	case *pb.Datum_Int:
		return x.Int
	case *pb.Datum_Float:
		return x.Float
	case *pb.Datum_Bool:
		return x.Bool
	}
	return nil
}

// datum shows an element of what a method returns.
func (p *printer) datum(d *pb.Datum) string {
	switch x := datum(d).(type) {
	case string:
		return p.text(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(x)
	}
	return "(absent)"
}

// jsonHex is an element that is not valid UTF-8.
type jsonHex struct {
	Hex string `json:"hex"`
}

// jsonData are the elements as JSON.
func (p *printer) jsonData(ds []pb.Datum) []any {
	out := make([]any, len(ds))
	for i := range ds {
		out[i] = datum(&ds[i])
		if s, ok := out[i].(string); ok && (p.hex || !utf8.ValidString(s)) {
			out[i] = jsonHex{hex.EncodeToString([]byte(s))}
		}
	}
	return out
}
