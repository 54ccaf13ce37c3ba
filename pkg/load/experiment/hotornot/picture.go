package hotornot

import (
	"bytes"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// drawing is a picture of one number against the skew, a line for each mode.
type drawing struct {
	Title, unit string
	of          func(m *Measured) float64
}

// drawings are those of the page; the first is the picture of the paper.
var drawings = []drawing{
	{"p50 latency by skew", "p50, ms", func(m *Measured) float64 { return m.P50 }},
	{"p99 latency by skew", "p99, ms", func(m *Measured) float64 { return m.P99 }},
	{"Throughput by skew", "transactions per second", func(m *Measured) float64 { return m.PerSecond }},
}

// The size of a picture, of which the legend has a part beside the lines, so that it
// covers none, and what is drawn with. The colours are safe for colour-blind readers
// (Okabe and Ito), and the marks differ as well.
const (
	wide   = 19 * vg.Centimeter
	high   = 10 * vg.Centimeter
	beside = 4.2 * vg.Centimeter
	// margin is for the half of the last tick's label that is right of the axis.
	margin = 0.4 * vg.Centimeter
)

var (
	// strong is the colour of what linchpin does by itself, plain that of what it is
	// compared with; the others have what is left.
	strong  = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	plain   = color.RGBA{0x77, 0x77, 0x77, 0xff}
	colours = []color.Color{
		color.RGBA{0x56, 0xb4, 0xe9, 0xff}, color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff},
		color.RGBA{0xcc, 0x79, 0xa7, 0xff}, color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x00, 0x00, 0x00, 0xff},
	}
	marks = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.BoxGlyph{},
		draw.RingGlyph{},
		draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}}
	faint = color.Gray{0xe0}
)

// WriteSVG draws the median latency against the skew.
func (r *Result) WriteSVG(w io.Writer) error { return r.draw(w, drawings[0]) }

func (r *Result) draw(w io.Writer, d drawing) error {
	p, legend, err := r.plot(d)
	if err != nil {
		return err
	}
	c := vgsvg.New(wide, high)
	all := draw.New(c)
	p.Draw(draw.Crop(all, 0, -beside-margin, 0, 0))
	legend.Draw(draw.Crop(all, wide-beside, 0, 0, -vg.Centimeter))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err = io.WriteString(w, portable(b.String()))
	return err
}

// style is how the line of a mode is drawn, the i-th of those in between.
func (m Mode) style(i int) (c color.Color, width vg.Length) {
	switch {
	case m.Auto:
		return strong, vg.Points(2.5)
	case m.TwoPhaseCommit:
		return plain, vg.Points(1.5)
	}
	return colours[i%len(colours)], vg.Points(1)
}

// plot lays one of the pictures out, and the legend beside it. What is 0 was not
// measured and is left out.
func (r *Result) plot(d drawing) (*plot.Plot, *plot.Legend, error) {
	p, legend := plot.New(), plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(4)
	legend.TextStyle.Font.Variant = "Sans"
	sans(p)
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = d.Title, "skew", d.unit
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(ticks)
	p.X.Tick.Marker = plot.ConstantTicks(r.skews())
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	low, top := math.Inf(1), 0.0
	for i, m := range r.Modes() {
		var line plotter.XYs
		for _, pt := range r.Measured() {
			if y := d.of(&pt.Median); pt.Mode == m && y > 0 {
				line = append(line, plotter.XY{X: pt.Skew, Y: y})
				low, top = min(low, y), max(top, y)
			}
		}
		if len(line) == 0 {
			continue
		}
		l, s, err := plotter.NewLinePoints(line)
		if err != nil {
			return nil, nil, err
		}
		l.Color, l.Width = m.style(i)
		s.Color, s.Shape, s.Radius = l.Color, marks[i%len(marks)], vg.Points(3)
		p.Add(l, s)
		legend.Add(m.label(), l, s)
	}
	if top == 0 {
		low, top = 1, 1 // an empty picture
	}
	p.Y.Min, p.Y.Max = below(low), above(top)
	p.X.Min, p.X.Max = r.span()
	return p, &legend, nil
}

// sans sets all texts without serifs.
func sans(p *plot.Plot) {
	for _, s := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label} {
		s.Font.Variant = "Sans"
	}
}

// skews are the ticks of the x axis: what was measured, and nothing else.
func (r *Result) skews() (all []plot.Tick) {
	for i, p := range r.Points {
		if i == 0 || p.Skew != r.Points[i-1].Skew {
			all = append(all, plot.Tick{Value: p.Skew, Label: strconv.FormatFloat(p.Skew, 'f', -1, 64)})
		}
	}
	return all
}

// span is from the least skew to the greatest; a single one gets some room.
func (r *Result) span() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range r.Points {
		low, high = min(low, p.Skew), max(high, p.Skew)
	}
	if low == high {
		return low - 0.5, high + 0.5
	}
	return low, high
}

// steps are what has a label on a logarithmic axis, of each power of ten.
var steps = []float64{1, 2, 5, 10}

// below is the last step that is not above y, above the first that is above.
func below(y float64) float64 {
	unit, s := math.Pow(10, math.Floor(math.Log10(y))), 0
	for s+1 < len(steps) && steps[s+1]*unit <= y {
		s++
	}
	return steps[s] * unit
}

func above(y float64) float64 {
	b := below(y)
	unit := math.Pow(10, math.Floor(math.Log10(b)+1e-9))
	for _, s := range steps {
		if s*unit > y {
			return s * unit
		}
	}
	return 2 * b
}

// ticks are the steps from one value to another.
func ticks(low, high float64) (all []plot.Tick) {
	const slack = 1e-9
	for unit := math.Pow(10, math.Floor(math.Log10(low))); unit <= high*(1+slack); unit *= 10 {
		for _, s := range steps[:3] {
			if v := s * unit; v >= low*(1-slack) && v <= high*(1+slack) {
				all = append(all, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
			}
		}
	}
	return all
}
