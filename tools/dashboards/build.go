package main

import (
	"strings"
)

// board is a dashboard as it is written down here: rows of graphs, which are laid
// out from left to right.
type board struct {
	uid, title, about string
	// oneNode: the node is chosen, one of them; else any number, at first all.
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
	// about tells what is to be seen, what is normal, and what to do if it is not.
	about string
	kind  kind
	// unit is one of Grafana's.
	unit    string
	queries []query
	// width is of 24; 0 is 8 for time series and 4 for single numbers.
	width int
	// stacked: the series are parts of a whole.
	stacked bool
	// most is the upper end of the axis, 0 if it is free. The lower one is 0.
	most float64
	// warn and bad colour what is at or above them; if bad is below warn, what is
	// below. 0 and 0 is no colours.
	warn, bad float64
	// columns name those of a table, by label.
	columns map[string]string
}

type query struct {
	// expr is PromQL, in which {@...} selects the nodes that are chosen, and
	// {#...} all of the cluster, each with what else stands there.
	expr   string
	legend string
}

type kind int

const (
	lines kind = iota
	number
	table
	heat
	// word is one number whose legend is shown.
	word
)

// q makes the one query of a graph.
func q(expr, legend string) []query { return []query{{expr, legend}} }

const (
	uidPrefix = "linchpin-"
	tag       = "linchpin"
)

var (
	source   = &datasource{Type: "prometheus", UID: "${datasource}"}
	selected = strings.NewReplacer("{@,", `{job="$job",instance=~"$instance",`, "{@}", `{job="$job",instance=~"$instance"}`,
		"{#,", `{job="$job",`, "{#}", `{job="$job"}`)
)

// build makes Grafana's model of a board.
func (b *board) build() *dashboard {
	d := &dashboard{UID: uidPrefix + b.uid, Title: "linchpin / " + b.title, Description: b.about, Tags: []string{tag}, SchemaVersion: schemaVersion,
		Editable: true, GraphTooltip: 1, Refresh: "30s", Time: timeRange{"now-1h", "now"}, Timezone: "browser",
		Links:       []link{{Title: "linchpin", Type: "dashboards", Tags: []string{tag}, Icon: "external link", Tooltip: "The other dashboards of linchpin", IncludeVars: true, KeepTime: true}},
		Annotations: templating{List: []any{}}}
	for _, v := range b.variables() {
		d.Templating.List = append(d.Templating.List, v)
	}
	y, open := 0, false
	for i := range b.rows {
		r := &b.rows[i]
		d.Panels = append(d.Panels, &panel{Type: "row", Title: r.title, GridPos: gridPos{H: 1, W: 24, Y: y}, Collapsed: &open, Panels: &[]*panel{}})
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

// variables are the choices at the top: which Prometheus, which cluster, which
// nodes.
func (b *board) variables() []*variable {
	values := func(name, label, about, expr string) *variable {
		return &variable{Name: name, Label: label, Description: about, Type: "query", Datasource: source, Definition: expr, Query: variableQuery{expr, "A"},
			Refresh: 2, Sort: 7}
	}
	job := values("job", "Cluster", "The job of Prometheus that scrapes the cluster", "label_values(linchpin_node_info, job)")
	node := values("instance", "Node", "host:port of the node's --http", `label_values(linchpin_node_info{job="$job"}, instance)`)
	if !b.oneNode {
		node.Multi, node.IncludeAll, node.AllValue = true, true, ".*"
		node.Current = map[string]any{"text": []string{"All"}, "value": []string{"$__all"}}
	}
	return []*variable{{Name: "datasource", Label: "Prometheus", Description: "The Prometheus that scrapes the cluster", Type: "datasource", Query: "prometheus",
		Refresh: 1}, job, node}
}

func (g *graph) build() *panel {
	p := &panel{Title: g.title, Description: g.about, Datasource: source, FieldConfig: &fieldConfig{Defaults: g.defaults(), Overrides: []fieldOverride{}}}
	for i, q := range g.queries {
		t := target{RefID: string(rune('A' + i)), Datasource: source, Expr: selected.Replace(q.expr), LegendFormat: q.legend, Format: "time_series", EditorMode: "code"}
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

// show says how a kind of panel shows its numbers.
func (g *graph) show(p *panel) {
	switch g.kind {
	case lines:
		p.Type, p.GridPos.W, p.GridPos.H = "timeseries", 8, 8
		p.Options = map[string]any{"legend": map[string]any{"displayMode": "table", "placement": "bottom", "calcs": []string{"lastNotNull", "max"}, "showLegend": true},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"}}
	case number, word:
		p.Type, p.GridPos.W, p.GridPos.H = "stat", 4, 4
		p.Options = map[string]any{"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
			"colorMode": "value", "graphMode": "none", "textMode": "auto", "justifyMode": "auto", "orientation": "auto"}
		if g.kind == word {
			p.Options["textMode"] = "name"
		}
	case table:
		p.Type, p.GridPos.W, p.GridPos.H = "table", 12, 9
		p.Options = map[string]any{"showHeader": true, "cellHeight": "sm", "sortBy": []any{map[string]any{"displayName": g.columns["Value"], "desc": true}}}
		p.Transformations = []transformation{{"organize", map[string]any{"excludeByName": map[string]bool{"Time": true, "job": true, "instance": g.columns["instance"] == ""},
			"renameByName": g.columns, "indexByName": map[string]int{}}}}
	case heat:
		p.Type, p.GridPos.W, p.GridPos.H = "heatmap", 8, 8
		p.Options = map[string]any{"calculate": false, "yAxis": map[string]any{"unit": g.unit, "axisPlacement": "left"}, "cellGap": 1,
			"color":   map[string]any{"mode": "scheme", "scheme": "Oranges", "fill": "dark-orange", "reverse": false, "steps": 64, "exponent": 0.5},
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
		d.Custom = map[string]any{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "spanNulls": false,
			"stacking": map[string]any{"mode": "none", "group": "A"}, "thresholdsStyle": map[string]any{"mode": "off"}}
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
	case g.bad < g.warn: // little is bad
		t.Steps = []step{{Color: "red"}, {"orange", &g.bad}, {"green", &g.warn}}
	case g.bad > g.warn:
		t.Steps = append(t.Steps, step{"orange", &g.warn}, step{"red", &g.bad})
	default:
		t.Steps = append(t.Steps, step{"red", &g.bad})
	}
	return t
}
