package hotornot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Theme is what a figure is drawn with: on a page with dark letters on white, or the reverse.
type Theme struct {
	Name                    string
	paper, ink, grid        color.Color
	baseline, linchpinColor color.Color
}

// Themes are GitHub's light and dark pages.
var Themes = []Theme{
	{"light", rgb(0xffffff), rgb(0x1f2328), rgb(0xd8dee4), rgb(0x656d76), rgb(0xc2410c)},
	{"dark", rgb(0x0d1117), rgb(0xe6edf3), rgb(0x30363d), rgb(0x9198a1), rgb(0xf0883e)},
}

func rgb(x uint32) color.Color {
	return color.RGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 0xff}
}

// curves are the two lines of the figure: two-phase commit, and linchpin as it is by itself.
var curves = []struct {
	mode  Mode
	label string
}{{Mode{TwoPhaseCommit: true}, "two-phase commit"}, {Mode{Auto: true}, "linchpin"}}

// figureHigh is less than the height of the page's pictures: a figure has no legend.
const figureHigh = 8.5 * vg.Centimeter

// WriteFigure draws the median latency of two-phase commit and of linchpin against the skew, for a
// page of the theme. Both must have been measured at two skews or more.
func (r *Result) WriteFigure(w io.Writer, t Theme) error {
	p := plot.New()
	sans(p)
	p.BackgroundColor = t.paper
	p.X.Label.Text, p.Y.Label.Text = "skew (exponent of the Zipf distribution)", "median latency, ms"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(ticks)
	p.X.Tick.Marker = plot.ConstantTicks(r.skews())
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color, a.Label.TextStyle.Color, a.Tick.Label.Color = t.ink, t.ink, t.ink, t.ink
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = t.grid, t.grid
	p.Add(grid)
	low, top := 0.0, 0.0
	for i, c := range curves {
		line := r.line(c.mode)
		if len(line) < 2 {
			return fmt.Errorf("the figure needs %s at two skews or more, and has it at %d", c.label, len(line))
		}
		shade := []color.Color{t.baseline, t.linchpinColor}[i]
		if err := addCurve(p, line, c.label, shade); err != nil {
			return err
		}
		for _, pt := range line {
			if low == 0 || pt.Y < low {
				low = pt.Y
			}
			top = max(top, pt.Y)
		}
	}
	p.X.Min, p.X.Max = r.span()
	p.Y.Min, p.Y.Max = below(low), above(top)
	return writeFigure(w, p, t)
}

// line is the median latency of a mode against the skew.
func (r *Result) line(m Mode) (line plotter.XYs) {
	for _, pt := range r.Measured() {
		if pt.Mode == m && pt.Median.P50 > 0 {
			line = append(line, plotter.XY{X: pt.Skew, Y: pt.Median.P50})
		}
	}
	return line
}

// addCurve draws a line with its name and its last value beside the last point.
func addCurve(p *plot.Plot, line plotter.XYs, label string, shade color.Color) error {
	l, s, err := plotter.NewLinePoints(line)
	if err != nil {
		return err
	}
	l.Color, l.Width = shade, vg.Points(2.5)
	s.Color, s.Shape, s.Radius = shade, draw.CircleGlyph{}, vg.Points(3.5)
	p.Add(l, s, end{line[len(line)-1], label, shade})
	return nil
}

// end is what stands to the right of a line's last point: its name and its value there.
type end struct {
	at    plotter.XY
	label string
	shade color.Color
}

// Plot writes the text, which reaches into the margin.
func (e end) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := p.X.Label.TextStyle
	style.Color, style.Font.Size, style.XAlign, style.YAlign = e.shade, vg.Points(12), draw.XLeft, draw.YCenter
	c.FillText(style, vg.Point{X: x(e.at.X) + vg.Points(9), Y: y(e.at.Y)}, fmt.Sprintf("%s\n%.3g ms", e.label, e.at.Y))
}

// writeFigure writes a plot with its paper under all of it, and fonts that other systems have.
func writeFigure(w io.Writer, p *plot.Plot, t Theme) error {
	c := vgsvg.New(wide, figureHigh)
	all := draw.New(c)
	c.SetColor(t.paper)
	c.Fill(all.Rectangle.Path())
	p.Draw(draw.Crop(all, margin, -beside, margin, -margin))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, portable(b.String()))
	return err
}

// portable names fonts that are there where Liberation Sans is not.
func portable(svg string) string {
	return strings.ReplaceAll(svg, "font-family:Liberation Sans;",
		"font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
}
