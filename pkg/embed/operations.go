package embed

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
)

// operations counts what clients do, by data type and method. There are as many
// counters as the program has methods, whatever clients send.
type operations struct {
	// plain are by kind of operation, and methods by type and method.
	plain   [msg.OpExpire + 1]prometheus.Counter
	methods [256][]prometheus.Counter
}

// plainOperations are the operations that do not call a method. Those that go for
// whatever a key holds are of the type "any".
var plainOperations = map[msg.OpKind]metrics.Operation{
	msg.OpGet: {Type: "any", Method: "get"}, msg.OpRequire: {Type: "any", Method: "require"},
	msg.OpDelete: {Type: "any", Method: "delete"},
	msg.OpScan:   {Type: "any", Method: "scan"}, msg.OpDeleteRange: {Type: "any", Method: "delete-range"},
	msg.OpExpire: {Type: "any", Method: "expire"},
	msg.OpPut:    {Type: "value", Method: "put"}, msg.OpAdd: {Type: "counter", Method: "add"},
	msg.OpAddGet: {Type: "counter", Method: "add-get"},
}

// countOperations is nil without metrics.
func countOperations(m *metrics.Node) (*operations, error) {
	if m == nil {
		return nil, nil
	}
	var names []metrics.Operation
	var places []*prometheus.Counter
	o := new(operations)
	for kind := range o.plain {
		if name, ok := plainOperations[msg.OpKind(kind)]; ok {
			names, places = append(names, name), append(places, &o.plain[kind])
		}
	}
	for _, t := range adt.Types() {
		o.methods[t.ID] = make([]prometheus.Counter, len(t.Methods))
		for i, method := range t.Methods {
			names = append(names, metrics.Operation{Type: t.Name, Method: method.Name})
			places = append(places, &o.methods[t.ID][i])
		}
	}
	counters, err := m.Operations(names)
	for i, c := range counters {
		*places[i] = c
	}
	return o, err
}

func (o *operations) count(ops []msg.Op) {
	if o == nil {
		return
	}
	for i := range ops {
		if c := o.of(&ops[i]); c != nil {
			c.Inc()
		}
	}
}

// of is nil for what is not counted.
func (o *operations) of(op *msg.Op) prometheus.Counter {
	switch {
	case !op.IsCall() && int(op.Kind) < len(o.plain):
		return o.plain[op.Kind]
	case op.IsCall() && op.Type < 256 && op.Method > 0 && int(op.Method) <= len(o.methods[op.Type]):
		return o.methods[op.Type][op.Method-1]
	}
	return nil
}

// countedTx counts what an interactive transaction does.
type countedTx struct {
	server.Tx
	operations *operations
}

func (t *countedTx) Do(ctx context.Context, ops []msg.Op) ([]msg.Result, error) {
	t.operations.count(ops)
	return t.Tx.Do(ctx, ops)
}
