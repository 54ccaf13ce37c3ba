package metrics

import "github.com/prometheus/client_golang/prometheus"

// Operation is something that transactions do: a method, of a data type or of
// any.
type Operation struct{ Type, Method string }

// Operations makes counters of operations, one for each that is given, in that
// order. It is called once, with all there are: their names become labels.
func (m *Node) Operations(ops []Operation) ([]prometheus.Counter, error) {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_operations_total",
		Help: "Operations that clients asked for, by the data type they are for and by method, repeated requests included."}, []string{"type", "method"})
	out := make([]prometheus.Counter, len(ops))
	for i, o := range ops {
		out[i] = vec.WithLabelValues(o.Type, o.Method)
	}
	return out, m.registry.Register(vec)
}
