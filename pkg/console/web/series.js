// The seconds that have been told, put together over events.

const span = 300;

export class Series {
  constructor() {
    this.seconds = new Map();
    this.now = 0;
  }

  // take adds the seconds of a document. now is the last that is over.
  take(doc) {
    if (doc.whole) this.seconds.clear();
    this.now = Math.floor(doc.time_ms / 1000) - 2;
    for (const s of doc.seconds) this.seconds.set(s.time_s, s.classes);
    for (const t of this.seconds.keys()) if (t <= this.now - span) this.seconds.delete(t);
  }

  // points are one a second, since something was first known: where nothing ended
  // the rate is 0, and there is no latency.
  points(kind) {
    const out = [];
    const first = Math.min(...this.seconds.keys());
    if (!Number.isFinite(first)) return out;
    for (let t = Math.max(first, this.now - span + 1); t <= this.now; t++) {
      const c = this.seconds.get(t)?.[kind];
      out.push({ t, rate: c?.ended ?? 0, failed: c?.failed ?? 0, p50: c ? c.p50_us : null, p99: c ? c.p99_us : null });
    }
    return out;
  }

  kinds() {
    const out = new Set();
    for (const classes of this.seconds.values()) for (const k of Object.keys(classes)) out.add(k);
    return out;
  }
}
