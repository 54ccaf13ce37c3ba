package hotornot

import (
	"bytes"
	"html/template"
	"io"
	"strings"
)

// page is a whole page that needs nothing else: no script, no other file.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hot or Not: latency by skew</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; font-size: 85%; font-variant-numeric: tabular-nums }
th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid #ddd }
svg { max-width: 100%; height: auto }
code { background: #f4f4f4; overflow-wrap: anywhere }
div { overflow-x: auto }
</style>
</head>
<body>
<h1>Hot or Not: latency by skew</h1>
<p>{{.Summary}}.</p>
<p>Each transaction accesses ten keys, drawn from a Zipf distribution; nine of ten transactions read, one writes.
<em>2pc</em>: two-phase commit with locking readers and no hot shard. A number: that many of the hottest keys are
placed on the hot shard before the run. <em>auto</em>: linchpin moves hot keys to the hot shard during the run.</p>
{{range .Pictures}}<h2>{{.Title}}</h2>
<div>{{.SVG}}</div>
{{end}}<h2>Numbers</h2>
<div><table>
<thead><tr>{{range .Header}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table></div>
<p>Measured on {{.Host.CPUs}} CPUs ({{.Host.OS}}, {{.Host.Arch}}, {{.Host.Go}}), clients and nodes in one process,
started {{.Started.Format "2006-01-02 15:04"}} UTC.{{if .Command}} Repeat it with <code>{{.Command}}</code>{{end}}</p>
</body>
</html>
`))

// picture is a drawing for the page.
type picture struct {
	Title string
	SVG   template.HTML
}

// WriteHTML writes a page with the pictures and the table.
func (r *Result) WriteHTML(w io.Writer) error {
	data := struct {
		*Result
		Pictures []picture
		Header   []string
		Rows     [][]string
	}{Result: r, Header: header}
	for _, d := range drawings {
		svg, err := r.inline(d)
		if err != nil {
			return err
		}
		data.Pictures = append(data.Pictures, picture{d.Title, svg})
	}
	for _, p := range r.Measured() {
		data.Rows = append(data.Rows, p.cells())
	}
	return page.Execute(w, data)
}

// inline is a drawing without what only a file of its own begins with. It is
// made here, of numbers and fixed texts.
func (r *Result) inline(d drawing) (template.HTML, error) {
	var b bytes.Buffer
	if err := r.draw(&b, d); err != nil {
		return "", err
	}
	svg := b.String()
	return template.HTML(svg[max(strings.Index(svg, "<svg"), 0):]), nil
}
