// The seconds of all documents.

const span = 300;

export class Series {
  constructor() {
    this.seconds = new Map();
    this.now = 0;
  }

  // take adds the seconds of a document. now is the last complete second.
  take(doc) {
    if (doc.whole) this.seconds.clear();
    this.now = Math.floor(doc.time_ms / 1000) - 2;
    for (const s of doc.seconds) this.seconds.set(s.time_s, s.classes);
    for (const t of this.seconds.keys()) if (t <= this.now - span) this.seconds.delete(t);
  }

  // points are one per second since the first known second. In a second without
  // transactions the rates are 0 and the latencies null.
  points(kind) {
    const out = [];
    const first = Math.min(...this.seconds.keys());
    if (!Number.isFinite(first)) return out;
    for (let t = Math.max(first, this.now - span + 1); t <= this.now; t++) {
      const c = this.seconds.get(t)?.[kind];
      out.push({ t, committed: c?.committed ?? 0, retried: c?.retried ?? 0, failed: c?.failed ?? 0, p50: c ? c.p50_us : null, p99: c ? c.p99_us : null });
    }
    return out;
  }

  kinds() {
    const out = new Set();
    for (const classes of this.seconds.values()) for (const k of Object.keys(classes)) out.add(k);
    return out;
  }
}
