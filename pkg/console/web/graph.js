// The wait-for graph: transactions in columns, an arrow from the waiting transaction to the
// holder, with the key above its start.

import { svg } from "./dom.js";
import { causes } from "./enums.js";
import { cut, duration, plural, short } from "./format.js";

const box = { height: 40, gap: 14, min: 104, max: 200, between: 96, char: 6.3 };

// drawGraph returns an SVG element for waits (messages CurrentWait), for a pane of a width.
export function drawGraph(waits, width) {
  const { nodes, edges } = arrange(waits);
  const columns = Math.max(...nodes.map((n) => n.column)) + 1;
  const w = Math.min(box.max, Math.max(box.min, (width - (columns - 1) * box.between) / columns));
  const total = Math.max(columns * w + (columns - 1) * box.between, Math.min(width, columns * w + (columns - 1) * box.between));
  const gap = columns > 1 ? Math.max(box.between, Math.min((width - columns * w) / (columns - 1), 220)) : 0;
  const rows = Array(columns).fill(0);
  for (const n of nodes) rows[n.column]++;
  const tall = Math.max(...rows) * (box.height + box.gap);
  const used = Array(columns).fill(0);
  for (const n of nodes) {
    const room = tall - rows[n.column] * (box.height + box.gap);
    n.x = n.column * (w + gap);
    n.y = room / 2 + used[n.column]++ * (box.height + box.gap) + box.gap;
    n.w = w;
  }
  const full = Math.max(total, columns * w + (columns - 1) * gap);
  const out = svg("svg", { class: "graph", width: full, height: tall + box.gap, viewBox: `0 0 ${full} ${tall + box.gap}`, role: "img", "aria-label": describe(waits) });
  out.append(svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0.5,0.5L7.5,4L0.5,7.5", class: "tip" }))));
  for (const e of edges) out.append(...drawEdge(e));
  for (const n of nodes) out.append(drawNode(n));
  return out;
}

// arrange returns the nodes and edges. Transactions with the same operations that wait for
// the same holder and key are one node, unless another transaction waits for them.
function arrange(waits) {
  const waitedFor = new Set(waits.map((w) => w.wait?.holder).filter(Boolean));
  const nodes = new Map();
  const edges = [];
  const node = (id, make) => { if (!nodes.has(id)) nodes.set(id, { id, targets: [], ...make() }); return nodes.get(id); };
  for (const { txn_id, wait = {}, waited_us = 0, operations = "", holder_operations = "" } of waits) {
    const { holder, key = "" } = wait;
    const cause = causes[wait.cause ?? 0];
    const target = holder || cause;
    const alone = waitedFor.has(txn_id);
    const from = node(alone ? txn_id : JSON.stringify([target, key, operations]), () => ({ members: [], does: operations, longest: 0 }));
    from.members.push(txn_id);
    from.longest = Math.max(from.longest, waited_us);
    from.does = operations;
    const to = node(target, () => ({ members: holder ? [holder] : [], name: holder ? "" : cause === "readers" ? "readers" : cause === "recovery" ? "an earlier incarnation" : "unknown", does: holder_operations, longest: 0 }));
    if (!to.does) to.does = holder_operations;
    if (!from.targets.includes(to)) {
      from.targets.push(to);
      edges.push({ from, to, key });
    }
  }
  const depth = new Map();
  const depthOf = (n, path) => {
    if (depth.has(n)) return depth.get(n);
    if (path.has(n)) return 0; // a cycle, which will be broken
    const d = n.targets.length ? 1 + Math.max(...n.targets.map((t) => depthOf(t, new Set(path).add(n)))) : 0;
    depth.set(n, d);
    return d;
  };
  const all = [...nodes.values()];
  const deepest = Math.max(...all.map((n) => depthOf(n, new Set())));
  for (const n of all) n.column = deepest - depth.get(n);
  // Each column is ordered by the holders in the columns to the right.
  const place = new Map();
  for (let c = deepest; c >= 0; c--) {
    const rank = (n) => (n.targets.length ? n.targets.reduce((sum, t) => sum + (place.get(t) ?? 0), 0) / n.targets.length : 0);
    const column = all.filter((n) => n.column === c).sort((a, b) => rank(a) - rank(b) || b.longest - a.longest || (a.id < b.id ? -1 : 1));
    column.forEach((n, i) => place.set(n, i));
  }
  all.sort((a, b) => a.column - b.column || place.get(a) - place.get(b));
  return { nodes: all, edges };
}

function drawNode(n) {
  const most = Math.floor((n.w - 16) / box.char);
  const name = n.name || (n.members.length === 1 ? short(n.members[0]) : plural(n.members.length, "transaction", "transactions"));
  const does = n.longest ? `${duration(n.longest)} · ${n.does}` : n.does;
  return svg("g", { class: n.targets.length ? "node waits" : "node holds", transform: `translate(${n.x},${n.y})` },
    svg("title", {}, [n.members.join("\n"), n.does].filter(Boolean).join("\n")),
    svg("rect", { width: n.w, height: box.height, rx: 6 }),
    svg("text", { x: 9, y: 17, class: n.members.length === 1 ? "id" : "name" }, cut(name, most)),
    svg("text", { x: 9, y: 32, class: "does" }, head(does || "unknown", most)));
}

const head = (s, most) => (s.length > most ? `${s.slice(0, most - 1)}…` : s);

function drawEdge({ from, to, key }) {
  const x1 = from.x + from.w;
  const y1 = from.y + box.height / 2;
  const x2 = to.x - 3;
  const y2 = to.y + box.height / 2;
  const bend = Math.max((x2 - x1) / 2, 20);
  const most = Math.floor(Math.max(x2 - x1 - 14, 40) / box.char);
  return [
    svg("path", { class: "edge", d: `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`, "marker-end": "url(#tip)" }),
    svg("text", { class: "key", x: x1 + 6, y: y1 - 5 }, svg("title", {}, key), cut(key || "any key", most)),
  ];
}

// describe is the text of the graph for screen readers.
function describe(waits) {
  return waits.map(({ txn_id, waited_us, wait = {} }) => `${short(txn_id)} has waited ${duration(waited_us)} for key ${wait.key ?? ""}${wait.holder ? `, held by ${short(wait.holder)}` : `, because of ${causes[wait.cause ?? 0]}`}.`).join(" ");
}
