// A line chart of the last five minutes, redrawn each second. The pointer or the arrow keys
// select a second.

import { svg, attr } from "./dom.js";

const span = 300;
const height = 168;
const pad = { left: 62, right: 10, top: 10, bottom: 22 };

export class Chart {
  // lines: [{name, class, value(point) -> number or null}]; format(value); log: a
  // logarithmic axis. read is called with the selected point, or null.
  constructor(box, label, lines, format, { log = false, area = false } = {}, read = () => {}) {
    Object.assign(this, { box, label, lines, format, log, area, read, points: [], now: 0, at: null });
    this.svg = svg("svg", { role: "img", tabindex: 0, height });
    box.append(this.svg);
    this.svg.addEventListener("pointermove", (e) => this.point(e.offsetX));
    this.svg.addEventListener("pointerleave", () => this.choose(null));
    this.svg.addEventListener("blur", () => this.choose(null));
    this.svg.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // show draws points {t, ...}, one per second up to now; times are in seconds since 1970.
  show(points, now) {
    if (this.at !== null) this.at = Math.max(this.at, now - span);
    this.points = points;
    this.now = now;
    this.draw();
  }

  get width() { return Math.max(this.box.clientWidth, 200); }
  x(t) { return pad.left + ((t - this.now + span) / span) * (this.width - pad.left - pad.right); }

  // scale returns the ticks of the axis, and the position of a value on it.
  scale() {
    let top = 0;
    let bottom = Infinity;
    for (const p of this.points) {
      for (const l of this.lines) {
        const v = l.value(p);
        if (v === null || v <= 0) continue;
        top = Math.max(top, v);
        bottom = Math.min(bottom, v);
      }
    }
    const inner = height - pad.top - pad.bottom;
    if (this.log) {
      const from = Math.floor(Math.log10(bottom === Infinity ? 100 : bottom));
      const to = Math.max(Math.ceil(Math.log10(top || 100_000)), from + 2);
      const ticks = [];
      for (let e = from; e <= to; e += Math.ceil((to - from) / 4)) ticks.push(10 ** e);
      return { ticks, y: (v) => pad.top + inner * (1 - (Math.log10(Math.max(v, 10 ** from)) - from) / (to - from)) };
    }
    const step = nice((top || 10) / 3);
    const to = step * Math.max(Math.ceil(top / step), 1);
    const ticks = [];
    for (let v = 0; v <= to + step / 2; v += step) ticks.push(v);
    return { ticks, y: (v) => pad.top + inner * (1 - v / to) };
  }

  draw() {
    if (!this.now) return;
    const { ticks, y } = this.scale();
    const parts = [];
    for (const m of ticks) {
      parts.push(svg("line", { class: "grid", x1: pad.left, x2: this.width - pad.right, y1: y(m), y2: y(m) }));
      parts.push(svg("text", { class: "tick", x: pad.left - 8, y: y(m) + 3.5, "text-anchor": "end" }, this.format(m)));
    }
    for (let min = 0; min <= 5; min++) {
      const label = min === 0 ? "now" : `−${min} min`;
      if (this.width < 420 && min % 2 === 1) continue;
      parts.push(svg("text", { class: "tick", x: this.x(this.now - 60 * min), y: height - 6, "text-anchor": min === 0 ? "end" : min === 5 ? "start" : "middle" }, label));
    }
    for (const line of this.lines) parts.push(...this.path(line, y));
    const p = this.at === null ? null : this.points.find((q) => q.t === this.at) ?? null;
    if (p) {
      parts.push(svg("line", { class: "hair", x1: this.x(p.t), x2: this.x(p.t), y1: pad.top, y2: height - pad.bottom }));
      for (const l of this.lines) {
        const v = l.value(p);
        if (v !== null) parts.push(svg("circle", { class: `spot ${l.class}`, cx: this.x(p.t), cy: y(v), r: 3 }));
      }
    }
    attr(this.svg, "width", this.width);
    attr(this.svg, "viewBox", `0 0 ${this.width} ${height}`);
    this.svg.replaceChildren(...parts);
    const last = this.points.at(-1);
    attr(this.svg, "aria-label", `${this.label}, last 5 min. ${last ? this.describe(last) : "No data yet."}`);
    this.read(p);
  }

  describe(p) {
    return this.lines.map((l) => { const v = l.value(p); return `${l.name} ${v === null ? "–" : this.format(v)}`; }).join(", ");
  }

  // path draws a line, with gaps where the value is null.
  path(line, y) {
    const runs = [];
    let run = null;
    for (const p of this.points) {
      const v = line.value(p);
      if (v === null) { run = null; continue; }
      if (!run) runs.push(run = []);
      run.push([this.x(p.t), y(v)]);
    }
    const out = [];
    for (const r of runs) {
      const d = r.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join("L");
      const floor = height - pad.bottom;
      if (this.area && line === this.lines[0]) {
        out.push(svg("path", { class: `area ${line.class}`, d: `M${r[0][0].toFixed(1)},${floor}L${d}L${r.at(-1)[0].toFixed(1)},${floor}Z` }));
      }
      out.push(svg("path", { class: `line ${line.class}`, d: r.length === 1 ? `M${d}h0.1` : `M${d}` }));
    }
    return out;
  }

  point(offset) {
    if (!this.points.length) return;
    const t = Math.round(this.now - span + ((offset - pad.left) / (this.width - pad.left - pad.right)) * span);
    this.choose(Math.min(Math.max(t, this.points[0].t), this.points.at(-1).t));
  }

  key(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[e.key];
    if (!step || !this.points.length) return;
    e.preventDefault();
    const at = (this.at ?? this.points.at(-1).t + 1) + step;
    this.choose(Math.min(Math.max(at, this.points[0].t), this.points.at(-1).t));
  }

  choose(t) {
    if (t === this.at) return;
    this.at = t;
    this.draw();
  }
}

// nice is the next higher round number: 1, 2 or 5 times a power of ten.
function nice(v) {
  const unit = 10 ** Math.floor(Math.log10(v));
  return unit * ([1, 2, 5].find((m) => m * unit >= v) ?? 10);
}

