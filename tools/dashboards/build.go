package main

import (
	"strings"
)

// board is the declaration of a dashboard: rows of graphs, laid out from left to right.
type board struct {
	uid, title, about string
	// oneNode: the user selects one node; else any number, by default all.
	oneNode bool
	rows    []row
}

type row struct {
	title  string
	graphs []graph
}

// graph is a panel.
type graph struct {
	title string
	// about says what the graph shows, what is normal, and what to do otherwise.
	about string
	kind  kind
	// unit is a unit of Grafana.
	unit    string
	queries []query
	// width is in 24ths of the page; 0 is 8 for time series and 4 for single numbers.
	width int
	// stacked: the series are parts of a whole.
	stacked bool
	// most is the upper end of the axis, 0 for automatic. The lower end is 0.
	most float64
	// warn and bad are thresholds: values at or above them are coloured; if bad is below
	// warn, values below them. 0 and 0 are no colours.
	warn, bad float64
	// columns are the titles of the columns of a table, by label.
	columns map[string]string
}

type query struct {
	// expr is PromQL with abbreviations: {@...} selects the chosen nodes, {#...} all
	// nodes of the cluster, and [~] is the range [$__rate_interval].
	expr   string
	legend string
}

type kind int

const (
	lines kind = iota
	number
	table
	heat
	// word shows the legend of a series in place of its value.
	word
)

// q returns a single query.
func q(expr, legend string) []query { return []query{{expr, legend}} }

const (
	uidPrefix = "linchpin-"
	tag       = "linchpin"
)

var (
	source   = &datasource{Type: "prometheus", UID: "${datasource}"}
	selected = strings.NewReplacer(
		"{@,", `{job="$job",instance=~"$instance",`, "{@}", `{job="$job",instance=~"$instance"}`,
		"{#,", `{job="$job",`, "{#}", `{job="$job"}`, "[~]", "[$__rate_interval]")
)

// build returns Grafana's model of a board.
func (b *board) build() *dashboard {
	d := &dashboard{UID: uidPrefix + b.uid, Title: "linchpin / " + b.title, Description: b.about, Tags: []string{tag},
		SchemaVersion: schemaVersion, Editable: true, GraphTooltip: 1,
		Refresh: "30s", Time: timeRange{"now-1h", "now"}, Timezone: "browser",
		Links: []link{{Title: "linchpin", Type: "dashboards", Tags: []string{tag}, Icon: "external link",
			Tooltip: "Other dashboards of linchpin", IncludeVars: true, KeepTime: true}},
		Annotations: templating{List: []any{}}}
	for _, v := range b.variables() {
		d.Templating.List = append(d.Templating.List, v)
	}
	y, open := 0, false
	for i := range b.rows {
		r := &b.rows[i]
		head := &panel{Type: "row", Title: r.title, GridPos: gridPos{H: 1, W: 24, Y: y},
			Collapsed: &open, Panels: &[]*panel{}}
		d.Panels = append(d.Panels, head)
		y++
		x, high := 0, 0
		for j := range r.graphs {
			p := r.graphs[j].build()
			if x+p.GridPos.W > 24 {
				x, y, high = 0, y+high, 0
			}
			p.GridPos.X, p.GridPos.Y = x, y
			x, high = x+p.GridPos.W, max(high, p.GridPos.H)
			d.Panels = append(d.Panels, p)
		}
		y += high
	}
	for i, p := range d.Panels {
		p.ID = i + 1
	}
	return d
}

// variables are the selections at the top: Prometheus, cluster, nodes.
func (b *board) variables() []*variable {
	values := func(name, label, about, expr string) *variable {
		return &variable{Name: name, Label: label, Description: about, Type: "query", Datasource: source,
			Definition: expr, Query: variableQuery{expr, "A"}, Refresh: 2, Sort: 7}
	}
	job := values("job", "Cluster", "Prometheus job that scrapes the cluster", "label_values(linchpin_node_info, job)")
	node := values("instance", "Node", "HTTP address of the node (--http)",
		`label_values(linchpin_node_info{job="$job"}, instance)`)
	if !b.oneNode {
		node.Multi, node.IncludeAll, node.AllValue = true, true, ".*"
		node.Current = map[string]any{"text": []string{"All"}, "value": []string{"$__all"}}
	}
	return []*variable{{Name: "datasource", Label: "Prometheus", Description: "Prometheus that scrapes the cluster",
		Type: "datasource", Query: "prometheus", Refresh: 1}, job, node}
}

func (g *graph) build() *panel {
	p := &panel{Title: g.title, Description: g.about, Datasource: source,
		FieldConfig: &fieldConfig{Defaults: g.defaults(), Overrides: []fieldOverride{}}}
	for i, q := range g.queries {
		t := target{RefID: string(rune('A' + i)), Datasource: source, Expr: selected.Replace(q.expr),
			LegendFormat: q.legend, Format: "time_series", EditorMode: "code"}
		t.Instant = g.kind == number || g.kind == word || g.kind == table
		t.Range = !t.Instant
		switch g.kind {
		case table:
			t.Format = "table"
		case heat:
			t.Format = "heatmap"
		}
		p.Targets = append(p.Targets, t)
	}
	g.show(p)
	if g.width > 0 {
		p.GridPos.W = g.width
	}
	return p
}

// show sets the options of the panel for the kind of graph.
func (g *graph) show(p *panel) {
	switch g.kind {
	case lines:
		p.Type, p.GridPos.W, p.GridPos.H = "timeseries", 8, 8
		p.Options = map[string]any{
			"legend": map[string]any{"displayMode": "table", "placement": "bottom", "showLegend": true,
				"calcs": []string{"lastNotNull", "max"}},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"}}
	case number, word:
		p.Type, p.GridPos.W, p.GridPos.H = "stat", 4, 4
		p.Options = map[string]any{
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
			"colorMode":     "value", "graphMode": "none", "textMode": "auto",
			"justifyMode": "auto", "orientation": "auto"}
		if g.kind == word {
			p.Options["textMode"] = "name"
		}
	case table:
		p.Type, p.GridPos.W, p.GridPos.H = "table", 12, 9
		p.Options = map[string]any{"showHeader": true, "cellHeight": "sm",
			"sortBy": []any{map[string]any{"displayName": g.columns["Value"], "desc": true}}}
		hidden := map[string]bool{"Time": true, "job": true, "instance": g.columns["instance"] == ""}
		p.Transformations = []transformation{{"organize", map[string]any{"excludeByName": hidden,
			"renameByName": g.columns, "indexByName": map[string]int{}}}}
	case heat:
		p.Type, p.GridPos.W, p.GridPos.H = "heatmap", 8, 8
		p.Options = map[string]any{"calculate": false, "cellGap": 1,
			"yAxis": map[string]any{"unit": g.unit, "axisPlacement": "left"},
			"color": map[string]any{"mode": "scheme", "scheme": "Oranges", "fill": "dark-orange", "reverse": false,
				"steps": 64, "exponent": 0.5},
			"tooltip": map[string]any{"mode": "single", "yHistogram": false}, "legend": map[string]any{"show": true}}
	}
}

func (g *graph) defaults() fieldDefaults {
	d := fieldDefaults{Unit: g.unit, Color: map[string]any{"mode": "palette-classic"}, Thresholds: g.thresholds()}
	if g.kind == number || g.kind == word {
		d.Color["mode"] = "thresholds"
	}
	if g.kind == lines {
		zero := 0.0
		d.Min = &zero
		d.Custom = map[string]any{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 8, "showPoints": "never",
			"spanNulls": false, "stacking": map[string]any{"mode": "none", "group": "A"},
			"thresholdsStyle": map[string]any{"mode": "off"}}
		if g.stacked {
			d.Custom["stacking"], d.Custom["fillOpacity"] = map[string]any{"mode": "normal", "group": "A"}, 40
		}
		if g.warn != 0 || g.bad != 0 {
			d.Custom["thresholdsStyle"] = map[string]any{"mode": "dashed"}
		}
	}
	if g.most != 0 {
		d.Max = &g.most
	}
	return d
}

func (g *graph) thresholds() thresholds {
	t := thresholds{Mode: "absolute", Steps: []step{{Color: "green"}}}
	switch {
	case g.warn == 0 && g.bad == 0:
		t.Steps[0].Color = "text"
	case g.bad < g.warn: // low values are bad
		t.Steps = []step{{Color: "red"}, {"orange", &g.bad}, {"green", &g.warn}}
	case g.bad > g.warn:
		t.Steps = append(t.Steps, step{"orange", &g.warn}, step{"red", &g.bad})
	default:
		t.Steps = append(t.Steps, step{"red", &g.bad})
	}
	return t
}
