package dashboards

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/linchpindb/linchpin/pkg/metrics"
)

// Types holds the labels of all series.
type Types struct {
	series map[string]Labels
}

// Labels are the names of the labels that a series or a result may have.
type Labels []string

// scraped are the labels that Prometheus adds to what it scrapes.
var scraped = Labels{"job", "instance"}

// made are the series that Prometheus itself creates.
var made = map[string]Labels{
	"up": scraped, "scrape_duration_seconds": scraped,
	"ALERTS": {"alertname", "alertstate", "severity"},
}

// NewTypes returns the types of the metrics of the program, of the Go runtime, of the process
// and of the recording rules. It fails if a rule uses a name that does not exist.
func NewTypes(rules []*Rule) (*Types, error) {
	t := &Types{series: map[string]Labels{}}
	for name, ls := range made {
		t.series[name] = ls
	}
	own, err := metrics.Catalog()
	if err != nil {
		return nil, err
	}
	for i := range own {
		t.add(&own[i])
	}
	if err := t.addRuntime(); err != nil {
		return nil, err
	}
	for _, r := range rules {
		if r.Record == "" {
			continue
		}
		ls, err := t.Of(r.Expr)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", r.File, r.Record, err)
		}
		t.series[r.Record] = ls
	}
	return t, nil
}

func (t *Types) add(m *metrics.Metric) {
	ls := slices.Concat(scraped, m.Labels)
	if m.Type != "histogram" {
		t.series[m.Name] = ls
		return
	}
	t.series[m.Name+"_sum"], t.series[m.Name+"_count"] = ls, ls
	t.series[m.Name+"_bucket"] = append(slices.Clone(ls), "le")
}

// addRuntime adds the metrics of the Go runtime and the process.
func (t *Types) addRuntime() error {
	m, err := metrics.New(metrics.Options{Node: 1})
	if err != nil {
		return err
	}
	families, err := m.Registry().Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "linchpin_") {
			t.series[f.GetName()] = append(slices.Clone(scraped), "quantile") // of summaries
		}
	}
	return nil
}

// Of returns the labels that the result of an expression may have. It fails if the
// expression is invalid, or uses a series or label that does not exist.
func (t *Types) Of(expr string) (Labels, error) {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	return t.of(e)
}

func (t *Types) of(e parser.Expr) (Labels, error) {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return t.selector(e)
	case *parser.MatrixSelector:
		return t.of(e.VectorSelector)
	case *parser.ParenExpr:
		return t.of(e.Expr)
	case *parser.UnaryExpr:
		return t.of(e.Expr)
	case *parser.SubqueryExpr:
		return t.of(e.Expr)
	case *parser.Call:
		return t.call(e)
	case *parser.AggregateExpr:
		return t.aggregate(e)
	case *parser.BinaryExpr:
		return t.binary(e)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return nil, nil
	}
	return nil, fmt.Errorf("%v: the labels of a %T are not implemented", e, e)
}

func (t *Types) selector(e *parser.VectorSelector) (Labels, error) {
	ls, known := t.series[e.Name]
	if !known {
		return nil, fmt.Errorf("there is no series %q", e.Name)
	}
	for _, m := range e.LabelMatchers {
		if m.Name != labels.MetricName && !slices.Contains(ls, m.Name) {
			return nil, fmt.Errorf("%s has no label %q; it has %q", e.Name, m.Name, ls)
		}
	}
	return ls, nil
}

// call: the result of a function has the labels of its vector argument.
func (t *Types) call(e *parser.Call) (ls Labels, err error) {
	for _, a := range e.Args {
		of, err := t.of(a)
		if err != nil {
			return nil, err
		}
		if a.Type() == parser.ValueTypeVector || a.Type() == parser.ValueTypeMatrix {
			ls = of
		}
	}
	if e.Func.Name == "histogram_quantile" {
		if !slices.Contains(ls, "le") {
			return nil, fmt.Errorf("%v: no buckets are left to it", e)
		}
		ls = without(ls, "le")
	}
	return ls, nil
}

func (t *Types) aggregate(e *parser.AggregateExpr) (Labels, error) {
	ls, err := t.of(e.Expr)
	if err != nil {
		return nil, err
	}
	if err := ls.has(e, e.Grouping); err != nil {
		return nil, err
	}
	switch {
	case e.Op == parser.TOPK || e.Op == parser.BOTTOMK:
		return ls, nil
	case e.Without:
		return without(ls, e.Grouping...), nil
	}
	return e.Grouping, nil
}

func (t *Types) binary(e *parser.BinaryExpr) (Labels, error) {
	left, err := t.of(e.LHS)
	if err != nil {
		return nil, err
	}
	right, err := t.of(e.RHS)
	if err != nil {
		return nil, err
	}
	m := e.VectorMatching
	switch {
	case e.LHS.Type() != parser.ValueTypeVector:
		return right, nil
	case e.RHS.Type() != parser.ValueTypeVector:
		return left, nil
	case m.On || len(m.MatchingLabels) > 0:
		if err := left.has(e, m.MatchingLabels); err != nil {
			return nil, err
		}
		if err := right.has(e, m.MatchingLabels); err != nil {
			return nil, err
		}
	case e.Op != parser.LOR && !sameLabels(left, right):
		return nil, fmt.Errorf("%v: the sides have different labels, and match nothing: %q and %q", e, left, right)
	}
	if m.Card == parser.CardOneToOne && m.On {
		return m.MatchingLabels, nil
	}
	return left, nil
}

func (ls Labels) has(e parser.Expr, names []string) error {
	for _, n := range names {
		if !slices.Contains(ls, n) {
			return fmt.Errorf("%v: there is no label %q any more; there are %q", e, n, ls)
		}
	}
	return nil
}

func without(ls Labels, names ...string) Labels {
	return slices.DeleteFunc(slices.Clone(ls), func(n string) bool { return slices.Contains(names, n) })
}

func sameLabels(a, b Labels) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// Sides returns the expressions that an alert compares. They have a value whether or not the
// alert fires.
func Sides(expr string) ([]string, error) {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	return sides(e), nil
}

func sides(e parser.Expr) []string {
	if e.Type() == parser.ValueTypeScalar {
		return nil // a limit
	}
	switch e := e.(type) {
	case *parser.ParenExpr:
		return sides(e.Expr)
	case *parser.BinaryExpr:
		if e.Op.IsSetOperator() || e.Op.IsComparisonOperator() {
			return append(sides(e.LHS), sides(e.RHS)...)
		}
	}
	return []string{e.String()}
}
