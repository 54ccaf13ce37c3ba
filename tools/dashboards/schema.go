package main

// The part of the dashboard model of Grafana 11 and 12 that these dashboards use. Fields have
// the names of Grafana; for omitted fields Grafana uses its defaults.

// schemaVersion is that of Grafana 12.0; Grafana 11 reads it as well.
const schemaVersion = 41

type dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	GraphTooltip  int        `json:"graphTooltip"` // 1: one crosshair for all panels
	Refresh       string     `json:"refresh"`
	Time          timeRange  `json:"time"`
	Timezone      string     `json:"timezone"`
	Links         []link     `json:"links"`
	Templating    templating `json:"templating"`
	Annotations   templating `json:"annotations"`
	Panels        []*panel   `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type"`
	Tags        []string `json:"tags"`
	URL         string   `json:"url"`
	Icon        string   `json:"icon"`
	Tooltip     string   `json:"tooltip"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
	TargetBlank bool     `json:"targetBlank"`
}

type templating struct {
	List []any `json:"list"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// variable is a selection at the top of a dashboard.
type variable struct {
	Name        string         `json:"name"`
	Label       string         `json:"label"`
	Description string         `json:"description"`
	Type        string         `json:"type"`
	Query       any            `json:"query"`
	Definition  string         `json:"definition,omitempty"`
	Datasource  *datasource    `json:"datasource,omitempty"`
	Current     map[string]any `json:"current,omitempty"`
	Hide        int            `json:"hide"`
	Multi       bool           `json:"multi"`
	IncludeAll  bool           `json:"includeAll"`
	AllValue    string         `json:"allValue,omitempty"`
	Refresh     int            `json:"refresh"` // 2: when the time range changes
	Regex       string         `json:"regex"`
	Sort        int            `json:"sort"` // 7: natural order
}

type variableQuery struct {
	Query string `json:"query"`
	RefID string `json:"refId"`
}

type gridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type panel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description,omitempty"`
	GridPos         gridPos          `json:"gridPos"`
	Datasource      *datasource      `json:"datasource,omitempty"`
	Targets         []target         `json:"targets,omitempty"`
	FieldConfig     *fieldConfig     `json:"fieldConfig,omitempty"`
	Options         map[string]any   `json:"options,omitempty"`
	Transformations []transformation `json:"transformations,omitempty"`
	Collapsed       *bool            `json:"collapsed,omitempty"` // of rows
	Panels          *[]*panel        `json:"panels,omitempty"`    // of rows that are collapsed
}

type target struct {
	RefID        string      `json:"refId"`
	Datasource   *datasource `json:"datasource"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat"`
	Format       string      `json:"format"` // time_series, table or heatmap
	EditorMode   string      `json:"editorMode"`
	Range        bool        `json:"range"`
	Instant      bool        `json:"instant"`
}

type fieldConfig struct {
	Defaults  fieldDefaults   `json:"defaults"`
	Overrides []fieldOverride `json:"overrides"`
}

type fieldDefaults struct {
	Unit       string         `json:"unit"`
	Decimals   *int           `json:"decimals,omitempty"`
	Min        *float64       `json:"min,omitempty"`
	Max        *float64       `json:"max,omitempty"`
	Color      map[string]any `json:"color"`
	Thresholds thresholds     `json:"thresholds"`
	Custom     map[string]any `json:"custom,omitempty"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

// step is the colour of values at or above its value; the first has no value.
type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

type fieldOverride struct {
	Matcher    map[string]any   `json:"matcher"`
	Properties []map[string]any `json:"properties"`
}

type transformation struct {
	ID      string         `json:"id"`
	Options map[string]any `json:"options"`
}
