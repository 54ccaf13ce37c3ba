package metrics

import (
	"io"

	"github.com/prometheus/common/expfmt"
)

// WriteText writes all metrics in the text format of Prometheus. It passes each value of
// the label "key", which is a user's key, through key.
func (m *Node) WriteText(w io.Writer, key func(string) string) error {
	families, err := m.registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		for _, one := range f.Metric {
			for _, l := range one.Label {
				if l.GetName() == "key" {
					redacted := key(l.GetValue())
					l.Value = &redacted
				}
			}
		}
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}
