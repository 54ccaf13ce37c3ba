// The lists of the page. Each function returns an element with a method update(item), for
// keyed() in dom.js.

import { attr, el, text } from "./dom.js";
import { age, ago, bytes, clock, count, duration, percent, plural, version, waiting } from "./format.js";

let doc = null;
let most = 1; // waiting time of the first key, the length of a full bar
let advised = new Map(); // the first key with each piece of advice

// prepare must be called before the lists of a document are drawn.
export function prepare(d) {
  doc = d;
  most = Math.max(...d.keys.map(weight), 1);
  advised = new Map();
  for (const k of d.keys) if (k.advice && !advised.has(k.advice)) advised.set(k.advice, k.key);
}

const weight = (k) => (k.known && k.waiting_us_per_s) || 0;

// keyRow is a contended key: the conflicting operations, advice, and facts.
export function keyRow() {
  const name = el("span", { class: "key-name" });
  const wait = el("span", { class: "key-wait" });
  const bar = el("span", { class: "bar-fill" });
  const facts = el("p", { class: "facts" });
  const why = el("p", { class: "why" });
  const advice = el("p", { class: "advice" });
  const li = el("li", {}, el("div", {}, el("div", { class: "key-head" }, name, wait), el("div", { class: "meter", "aria-hidden": "true" }, bar)),
    el("div", {}, why, advice, facts));
  li.update = (k) => {
    text(name, k.key);
    attr(name, "title", k.key);
    text(wait, keyWait(k));
    bar.style.setProperty("--share", (weight(k) / most).toFixed(3));
    text(why, keyWhy(k));
    text(advice, advised.get(k.advice) === k.key ? k.advice : "");
    text(facts, keyFacts(k));
  };
  return li;
}

function keyWait(k) {
  if (weight(k)) return waiting(k.waiting_us_per_s);
  if (k.queue) return `${count(k.queue)} waiting now`;
  return k.waited_us ? `${duration(k.waited_us)} of waits in 5 min` : "";
}

// keyWhy names the conflicting operations.
function keyWhy(k) {
  if (!k.operations && !k.holder_operations) return "";
  const mine = k.operations || "unknown operation";
  const theirs = k.holder_operations || "unknown operation";
  return k.waits ? `${mine} waits for ${theirs}` : `${mine} is aborted by ${theirs}`;
}

function keyFacts(k) {
  const out = [];
  const first = k.advice && advised.get(k.advice);
  if (first && first !== k.key) out.push(`same advice as ${first}`);
  if (k.since_ms) out.push(`contended for ${age(doc.time_ms - k.since_ms)}`);
  if (k.queue && weight(k)) out.push(`${count(k.queue)} waiting now`);
  if (k.waits) out.push(`${plural(k.waits, "wait", "waits")} of ${duration(k.waited_us / k.waits)} in 5 min`);
  if (k.aborts) out.push(plural(k.aborts, "aborted attempt", "aborted attempts"));
  const causes = [["locks", k.lock_us_per_s], ["held by readers", k.held_us_per_s], ["readers", k.read_us_per_s], ["retries", k.retry_us_per_s]]
    .map(([what, us]) => [what, us / k.waiting_us_per_s]).filter(([, share]) => share >= 0.01);
  if (causes.length > 1) out.push(causes.map(([what, share]) => `${what} ${percent(share)}`).join(", "));
  if (k.known) out.push(keyPlace(k));
  return out.join(" · ");
}

// keyPlace is the shard of the key, and why it is not on the hot shard. The list of moves
// has the reasons of the keys that are.
function keyPlace(k) {
  const rule = k.rule ? `, ${k.rule}` : "";
  if (k.shard !== doc.hot.shard || k.moving) return `on shard s${k.shard}${rule}${k.placement ? `: ${k.placement}` : ""}`;
  return `on the hot shard s${k.shard}${k.moved_ms ? ` for ${age(doc.time_ms - k.moved_ms)}` : ""}${rule}`;
}

// receiptRow is a contention receipt, which opens to its whole text.
export function receiptRow() {
  const time = el("time");
  const waited = el("span", { class: "amount" });
  const key = el("span", { class: "mono receipt-key" });
  const gist = el("span", { class: "gist grow" });
  const tag = el("span", { class: "tag" });
  const sentence = el("p");
  const facts = el("p", { class: "facts" });
  const li = el("li", {}, el("details", {}, el("summary", {}, time, waited, key, gist, tag), sentence, facts));
  li.update = (r) => {
    text(time, clock(r.time_ms));
    attr(time, "datetime", new Date(r.time_ms).toISOString());
    text(waited, r.waited_us ? duration(r.waited_us) : plural(r.aborted, "abort", "aborts"));
    text(key, r.key);
    attr(key, "title", r.key);
    text(tag, outcome(r));
    text(sentence, r.sentence);
    text(gist, r.waited_us ? r.sentence.replace(/^(Waited|Was still waiting)[^:]*: /, "") : r.sentence);
    text(facts, `transaction ${r.txn} · ${r.kind.replaceAll("_", " ")} through n${r.node} · took ${duration(r.duration_us)} · ${outcome(r) || "committed"}`);
  };
  return li;
}

// outcome is empty for a committed transaction. An aborted attempt is retried by its client.
const outcome = (r) => (r.outcome === "OK" ? "" : r.outcome === "Aborted" ? "retried" : r.outcome);

export function moveRow() {
  const time = el("time");
  const key = el("span", { class: "mono grow" });
  const way = el("span", { class: "tag" });
  const why = el("p", { class: "facts" });
  const li = el("li", { class: "two" }, el("div", {}, time, key, way), why);
  li.update = (m) => {
    text(time, ago(m.time_ms, doc.time_ms));
    text(key, m.key);
    attr(key, "title", m.key);
    text(way, m.to_hot ? `s${m.from} → s${m.to}, hot` : `s${m.from} → s${m.to}, home`);
    attr(way, "class", m.to_hot ? "tag warm" : "tag");
    text(why, m.reason);
  };
  return li;
}

export function snapshotRow() {
  const name = el("span", { class: "mono grow" });
  const old = el("span", { class: "amount" });
  const facts = el("p", { class: "facts" });
  const li = el("li", { class: "two" }, el("div", {}, name, old), facts);
  li.update = (s) => {
    text(name, s.name);
    attr(name, "title", s.name);
    text(old, `${age(doc.time_ms - s.time_ms)} old`);
    text(facts, `${s.id} · created ${new Date(s.time_ms).toLocaleString("en-GB")}${s.expires_ms ? ` · expires in ${age(s.expires_ms - doc.time_ms)}` : ""}`);
  };
  return li;
}

// nodesNote is the number of nodes, and their version if all have the same.
export function nodesNote() {
  const answered = doc.nodes.filter((n) => n.answered);
  const up = `${answered.length} of ${doc.nodes.length} nodes up`;
  return sameVersion() ? `${up} · ${version(answered[0].version)}` : up;
}

function sameVersion() {
  const versions = new Set(doc.nodes.filter((n) => n.answered).map((n) => n.version));
  return versions.size === 1;
}

export function nodeCard() {
  const name = el("strong");
  const address = el("span", { class: "mono address" });
  const state = el("span", { class: "tag" });
  const facts = el("p", { class: "facts" });
  const shards = el("p", { class: "shards" });
  const li = el("li", {}, el("div", { class: "node-head" }, el("span", { class: "dot", "aria-hidden": "true" }), name, address, state), facts, shards);
  li.update = (n) => {
    text(name, `n${n.node}`);
    text(address, n.address);
    attr(li, "class", n.rejects ? "silent" : n.answered ? "up" : n.up ? "silent" : "down");
    text(state, n.rejects ? `rejects ${n.rejects}` : n.answered ? (n.node === doc.node ? "serves this page" : "") : n.up ? "no response" : "down");
    text(facts, n.answered ? nodeFacts(n) : n.lost ? `unavailable: ${n.lost}` : "");
    if (shards.childElementCount !== n.shards.length) shards.replaceChildren(...n.shards.map(() => el("span", { class: "chip" })));
    n.shards.forEach((s, i) => {
      const chip = shards.children[i];
      text(chip, [`s${s.shard}`, s.missing ? `${s.missing} missing` : "", s.waiting ? `${count(s.waiting)} waiting` : ""].filter(Boolean).join(" · "));
      attr(chip, "class", s.hot ? "chip hot" : "chip");
      attr(chip, "title", `${s.hot ? "hot shard; " : ""}${plural(s.keys_in_memory, "key", "keys")} in memory, ${plural(s.prepared, "prepared transaction", "prepared transactions")}${replicas(s)}`);
    });
  };
  return li;
}

// replicas is the group of a shard that the node leads, empty without replicas.
const replicas = (s) => (s.term ? `; leader in term ${s.term}, replicas on ${s.replicas.map((r) => `n${r}`).join(", ")}` : "");

function nodeFacts(n) {
  const leads = n.shards.some((s) => s.term) ? `leads ${plural(n.shards.length, "shard", "shards")}` : "";
  return [sameVersion() ? "" : version(n.version), `up ${age(n.uptime_ms)}`, leads, `${bytes(n.disk_bytes)} on disk`,
    n.size_bytes ? `${bytes(n.free_bytes)} free` : "", `${plural(n.in_flight, "transaction", "transactions")} in flight`].filter(Boolean).join(" · ");
}
