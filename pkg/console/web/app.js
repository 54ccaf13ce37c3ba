// The page: shows each document of the stream.

import { Chart } from "./chart.js";
import { attr, byID, el, keyed, text } from "./dom.js";
import { modes } from "./enums.js";
import { clock, count, duration, percent, shard } from "./format.js";
import { drawGraph } from "./graph.js";
import { keyRow, ledShards, moveRow, nodeCard, nodesNote, prepare, receiptRow, snapshotRow } from "./lists.js";
import { cellID, conflictText, drawMatrix } from "./matrix.js";
import { Series } from "./series.js";
import { follow, Rejected } from "./stream.js";

const series = new Series();
const kinds = [["all", "All"], ["one_shot", "Writes"], ["one_shot_read", "Reads"], ["interactive", "Interactive"], ["interactive_read", "Interactive reads"], ["scan", "Scans"]];
const firstKeys = 6;
let kind = "all";
let allKeys = false;
let last = null;
let shownGraph = "";
let shownMatrix = "";
let chosenCell = "";

const rate = new Chart(byID("rate"), "Transactions per second", [
  { name: "committed", class: "first", value: (p) => p.committed },
  { name: "retried", class: "retried", value: (p) => p.retried || null },
  { name: "failed", class: "bad", value: (p) => p.failed || null },
], count, { area: true }, (p) => text(byID("rate-read"), p ? `${clock(p.t * 1000)}  ${rates(p)}` : ""));

function rates(p) {
  return [`${count(p.committed)} committed`, p.retried ? `${count(p.retried)} retried` : "", p.failed ? `${count(p.failed)} failed` : ""].filter(Boolean).join(", ");
}

const latency = new Chart(byID("latency"), "Latency of transactions", [
  { name: "p50", class: "first", value: (p) => p.p50 },
  { name: "p99", class: "second", value: (p) => p.p99 },
], duration, { log: true }, (p) => text(byID("latency-read"), p ? `${clock(p.t * 1000)}  ${p.p50 === null ? "no transactions" : `p50 ${duration(p.p50)}, p99 ${duration(p.p99)}`}` : ""));

// show draws a document.
function show(doc) {
  last = doc;
  series.take(doc);
  prepare(doc);
  text(byID("cluster"), doc.status.cluster_id);
  attr(byID("cluster"), "title", `cluster ${doc.status.cluster_id}`);
  showProblems(doc);
  showFigures(doc);
  showLoad();
  showKeys(doc);
  showWaits(doc);
  showConflicts(doc);
  showReceipts(doc);
  text(byID("moves-empty"), doc.hot ? "No moves" : "Not available: the hot shard did not respond");
  list("moves", doc.hot?.moves ?? [], (m) => `${m.time_ns} ${m.key}`, moveRow);
  text(byID("moves-note"), doc.hot ? `mode ${modes[doc.hot.mode ?? 0]}` : "");
  text(byID("snapshots-empty"), doc.snapshots ? "No snapshots" : "Not available: snapshots could not be listed");
  list("snapshots", doc.snapshots?.snapshots ?? [], (s) => s.id, snapshotRow);
  keyed(byID("nodes"), doc.status.members, (m) => m.node_id, nodeCard);
  text(byID("nodes-note"), nodesNote());
  document.body.dataset.state = "live";
  text(byID("state-text"), "Live"); // a screen reader reads changes of this text, but not of the time
  text(byID("state-time"), clock(doc.time_ms));
}

function list(id, items, key, make) {
  keyed(byID(id), items, key, make);
  byID(`${id}-empty`).hidden = items.length > 0;
}

function showProblems(doc) {
  const ul = byID("problems");
  ul.hidden = doc.problems.length === 0;
  keyed(ul, doc.problems, (p) => p, (p) => {
    const li = el("li", {}, p);
    li.update = () => {};
    return li;
  });
}

function showFigures(doc) {
  const points = series.points("all").slice(-5);
  const mean = points.length ? points.reduce((sum, p) => sum + p.committed, 0) / points.length : 0;
  const median = (pick) => { const all = points.map(pick).filter((v) => v !== null).sort((a, b) => a - b); return all.length ? duration(all[Math.floor(all.length / 2)]) : "–"; };
  text(byID("figure-rate"), count(Math.round(mean)));
  text(byID("figure-p50"), median((p) => p.p50));
  text(byID("figure-p99"), median((p) => p.p99));
  text(byID("figure-waiting"), count(doc.nodes.flatMap(ledShards).reduce((sum, s) => sum + (s.lock_waiters ?? 0), 0)));
}

function showLoad() {
  const points = series.points(kind);
  rate.show(points, series.now);
  latency.show(points, series.now);
  const there = series.kinds();
  for (const b of byID("classes").children) attr(b, "disabled", b.dataset.kind !== "all" && !there.has(b.dataset.kind));
}

// showKeys shows the first keys, or all of them.
function showKeys(doc) {
  const more = byID("keys-more");
  list("keys", allKeys ? doc.keys : doc.keys.slice(0, firstKeys), (k) => k.key, keyRow);
  text(byID("keys-note"), hotNote(doc));
  more.hidden = doc.keys.length <= firstKeys;
  text(more, allKeys ? "Show fewer" : `Show ${doc.keys.length - firstKeys} more`);
  attr(more, "aria-expanded", allKeys);
}

byID("keys-more").addEventListener("click", () => {
  allKeys = !allKeys;
  showKeys(last);
});

// hotNote is the utilization of the hot shard. If its keys are waited for although it is
// idle, transactions hold the locks while their clients work.
function hotNote(doc) {
  if (!doc.hot) return "";
  const { utilization = 0 } = doc.hot;
  const note = `hot shard ${shard(doc.status.hot_shard)} ${percent(utilization)} busy`;
  const waiting = doc.keys.reduce((sum, k) => sum + (k.hot.shard === doc.status.hot_shard ? k.hot.wait_us_per_s ?? 0 : 0), 0);
  return utilization < 0.5 && waiting >= 1e6 ? `${note}: keys wait for open transactions, not for the shard` : note;
}

function showWaits(doc) {
  const pane = byID("waits");
  text(byID("waits-note"), doc.waits.length === 20 ? "the 20 longest waits" : doc.waits.length ? `${doc.waits.length} waiting` : "");
  // The graph is not redrawn while an element in it has the focus.
  const state = JSON.stringify([doc.waits, pane.clientWidth]);
  if (state === shownGraph || pane.matches(":focus-within:not(:focus)")) return;
  shownGraph = state;
  pane.replaceChildren(doc.waits.length ? drawGraph(doc.waits, pane.clientWidth - 12) : el("p", { class: "empty" }, "No transaction is waiting"));
}

function showConflicts(doc) {
  const pane = byID("conflicts");
  const state = JSON.stringify(doc.conflicts);
  // The matrix is not redrawn while the pointer or the keyboard focus is on it. A cell
  // that was touched or clicked does not pause it, but its text stays.
  const reads = (matchMedia("(hover: hover)").matches && pane.matches(":hover")) || pane.querySelector("button:focus-visible") !== null;
  text(byID("conflicts-note"), reads && state !== shownMatrix ? "paused" : "last 5 min");
  if (state === shownMatrix || reads) return;
  shownMatrix = state;
  if (!doc.conflicts.length) {
    pane.replaceChildren(el("p", { class: "empty" }, "No conflicts"));
    text(byID("conflicts-read"), "");
    return;
  }
  const read = (c) => {
    chosenCell = cellID(c);
    text(byID("conflicts-read"), conflictText(c));
  };
  const { table, cells } = drawMatrix(doc.conflicts, read);
  pane.replaceChildren(table);
  text(byID("conflicts-read"), conflictText(cells.get(chosenCell) ?? doc.conflicts[0]));
}

// showReceipts does not redraw the list while it is in use.
function showReceipts(doc) {
  const ul = byID("receipts");
  const reads = ul.querySelector("details[open]") !== null || (matchMedia("(hover: hover)").matches && ul.matches(":hover")) || ul.contains(document.activeElement);
  text(byID("receipts-note"), reads ? "paused" : "the longest waits of each second");
  if (reads && ul.childElementCount) return;
  list("receipts", doc.receipts, (r) => `${r.txn_id} ${r.time_ns}`, receiptRow);
}

for (const [id, name] of kinds) {
  byID("classes").append(el("button", { type: "button", "data-kind": id, "aria-pressed": String(id === kind), onclick: (e) => {
    kind = id;
    for (const b of byID("classes").children) attr(b, "aria-pressed", b === e.currentTarget);
    if (last) showLoad();
  } }, name));
}

// The stream. It is closed while the page is hidden.
let stream = null;
let retry = 0;
let pause = 1000;

async function connect() {
  clearTimeout(retry);
  if (stream || document.hidden) return;
  const mine = stream = new AbortController();
  let why = null;
  try {
    await follow("api/v1/events", mine.signal, (doc) => {
      pause = 1000;
      // An error in drawing must not end the stream.
      try { show(doc); } catch (e) { reportError(e); }
    });
  } catch (e) {
    why = e;
  }
  if (stream !== mine) return; // the page is hidden, or there is a new stream
  stream = null;
  lost(why);
  retry = setTimeout(connect, pause);
  pause = Math.min(2 * pause, 8000);
}

function disconnect() {
  stream?.abort();
  stream = null;
}

function lost(why) {
  document.body.dataset.state = last ? "lost" : "failed";
  const said = why instanceof Rejected ? `Rejected: ${why.message}` : last ? `No response since ${clock(last.time_ms)}` : "No response";
  text(byID("state-text"), `${said}; retrying`);
  text(byID("state-time"), "");
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(retry);
    disconnect();
  } else connect();
});
connect();

// The theme: that of the system, unless the user selects one.
const themes = ["auto", "light", "dark"];

function showTheme() {
  text(byID("theme"), `Theme: ${document.documentElement.dataset.theme ?? "auto"}`);
}

byID("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const next = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  try {
    if (next === "auto") localStorage.removeItem("linchpin-theme");
    else localStorage.setItem("linchpin-theme", next);
  } catch { /* no storage: the selection lasts as long as the page */ }
  showTheme();
});
showTheme();
