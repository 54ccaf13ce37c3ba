package metrics

import "github.com/prometheus/client_golang/prometheus"

// Operation is a method of a data type.
type Operation struct{ Type, Method string }

// Operations returns one counter for each operation, in the order given. It must be
// called once, with all operations: their names become labels.
func (m *Node) Operations(ops []Operation) ([]prometheus.Counter, error) {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_operations_total",
		Help: "Operations received, by type and method; retries count again."},
		[]string{"type", "method"})
	out := make([]prometheus.Counter, len(ops))
	for i, o := range ops {
		out[i] = vec.WithLabelValues(o.Type, o.Method)
	}
	return out, m.registry.Register(vec)
}
