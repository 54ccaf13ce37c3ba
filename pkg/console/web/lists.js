// The lists of the page. Each function returns an element with a method update(item), for
// keyed() in dom.js.

import { attr, el, text } from "./dom.js";
import { policies, rejections } from "./enums.js";
import { age, ago, bytes, clock, count, duration, millis, percent, plural, shard, version, waiting } from "./format.js";

let doc = null;
let most = 1; // waiting time of the first key, the length of a full bar
let advised = new Map(); // the first key with each piece of advice

// prepare must be called before the lists of a document are drawn.
export function prepare(d) {
  doc = d;
  most = Math.max(...d.keys.map(weight), 1);
  advised = new Map();
  for (const { key, conflict } of d.keys) if (conflict.advice && !advised.has(conflict.advice)) advised.set(conflict.advice, key);
}

const weight = (k) => k.hot.wait_us_per_s ?? 0;

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
    text(advice, advised.get(k.conflict.advice) === k.key ? k.conflict.advice : "");
    text(facts, keyFacts(k));
  };
  return li;
}

function keyWait(k) {
  if (weight(k)) return waiting(weight(k));
  if (k.hot.waiters) return `${count(k.hot.waiters)} waiting now`;
  return k.conflict.waited_us ? `${duration(k.conflict.waited_us)} of waits in 5 min` : "";
}

// keyWhy names the conflicting operations.
function keyWhy({ conflict }) {
  if (!conflict.operations && !conflict.holder_operations) return "";
  const mine = conflict.operations ?? "unknown operation";
  const theirs = conflict.holder_operations ?? "unknown operation";
  return conflict.waits ? `${mine} waits for ${theirs}` : `${mine} is aborted by ${theirs}`;
}

function keyFacts(k) {
  const out = [];
  const { hot, conflict: c } = k;
  const first = advised.get(c.advice);
  if (first && first !== k.key) out.push(`same advice as ${first}`);
  if (c.since_ns) out.push(`contended for ${age(doc.time_ms - millis(c.since_ns))}`);
  if (hot.waiters && weight(k)) out.push(`${count(hot.waiters)} waiting now`);
  if (c.waits) out.push(`${plural(c.waits, "wait", "waits")} of ${duration((c.waited_us ?? 0) / c.waits)} in 5 min`);
  if (c.aborts) out.push(plural(c.aborts, "aborted attempt", "aborted attempts"));
  const causes = [["locks", hot.lock_wait_us_per_s], ["held by readers", hot.held_us_per_s], ["readers", hot.read_wait_us_per_s], ["retries", hot.retry_us_per_s]]
    .map(([what, us]) => [what, us / weight(k)]).filter(([, share]) => share >= 0.01);
  if (causes.length > 1) out.push(causes.map(([what, share]) => `${what} ${percent(share)}`).join(", "));
  if (k.known) out.push(keyPlace(hot));
  return out.join(" · ");
}

// keyPlace is the shard of the key, and why it is not on the hot shard. The list of moves
// has the reasons of the keys that are.
function keyPlace(k) {
  const rule = k.policy ? `, ${policies[k.policy]}` : "";
  if (k.shard !== doc.status.hot_shard || k.moving) return `on shard ${shard(k.shard)}${rule}${k.reason ? `: ${k.reason}` : ""}`;
  return `on the hot shard ${shard(k.shard)}${k.moved_ns ? ` for ${age(doc.time_ms - millis(k.moved_ns))}` : ""}${rule}`;
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
    const { wait, abort, waited_us, aborted, sentence: said = "" } = r.receipt ?? {};
    text(time, clock(millis(r.time_ns)));
    attr(time, "datetime", new Date(millis(r.time_ns)).toISOString());
    text(waited, waited_us ? duration(waited_us) : plural(aborted, "abort", "aborts"));
    text(key, (wait ?? abort)?.key);
    attr(key, "title", (wait ?? abort)?.key);
    text(tag, outcome(r));
    text(sentence, said);
    text(gist, waited_us ? said.replace(/^(Waited|Was still waiting)[^:]*: /, "") : said);
    text(facts, `transaction ${r.txn_id} · ${r.kind.replaceAll("_", " ")} through n${r.node_id} · took ${duration(r.duration_us)} · ${outcome(r) || "committed"}`);
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
    text(time, ago(millis(m.time_ns), doc.time_ms));
    text(key, m.key);
    attr(key, "title", m.key);
    text(way, `${shard(m.from_shard)} → ${shard(m.to_shard)}, ${m.to_hot ? "hot" : "home"}`);
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
    text(old, `${age(doc.time_ms - millis(s.time_ns))} old`);
    text(facts, `${s.id} · created ${new Date(millis(s.time_ns)).toLocaleString("en-GB")}${s.expires_ns ? ` · expires in ${age(millis(s.expires_ns) - doc.time_ms)}` : ""}`);
  };
  return li;
}

// nodesNote is the number of nodes, and their version if all have the same.
export function nodesNote() {
  const answered = doc.nodes.filter(Boolean);
  const up = `${answered.length} of ${doc.nodes.length} nodes up`;
  return sameVersion() ? `${up} · ${version(answered[0].version)}` : up;
}

const sameVersion = () => new Set(doc.nodes.filter(Boolean).map((n) => n.version)).size === 1;

// ledShards are the shards of a node that has responded: with replicas those that it leads.
export const ledShards = (n) => n?.shards?.filter((s) => s.node_id === n.node_id) ?? [];

export function nodeCard() {
  const name = el("strong");
  const address = el("span", { class: "mono address" });
  const state = el("span", { class: "tag" });
  const facts = el("p", { class: "facts" });
  const shards = el("p", { class: "shards" });
  const li = el("li", {}, el("div", { class: "node-head" }, el("span", { class: "dot", "aria-hidden": "true" }), name, address, state), facts, shards);
  li.update = (m) => {
    const n = doc.nodes[doc.status.members.indexOf(m)];
    const led = ledShards(n);
    const rejects = rejections[n?.disk.rejects ?? 0];
    text(name, `n${m.node_id}`);
    text(address, m.address);
    attr(li, "class", rejects ? "silent" : n ? "up" : m.up ? "silent" : "down");
    text(state, rejects ? `rejects ${rejects}` : n ? (m.self ? "serves this page" : "") : m.up ? "no response" : "down");
    const lost = doc.lost[m.node_id];
    text(facts, n ? nodeFacts(n, led) : lost ? `unavailable: ${lost}` : "");
    if (shards.childElementCount !== led.length) shards.replaceChildren(...led.map(() => el("span", { class: "chip" })));
    led.forEach((s, i) => {
      const chip = shards.children[i];
      text(chip, [shard(s.shard), s.missing ? `${s.missing} missing` : "", s.lock_waiters ? `${count(s.lock_waiters)} waiting` : ""].filter(Boolean).join(" · "));
      attr(chip, "class", s.hot ? "chip hot" : "chip");
      attr(chip, "title", `${s.hot ? "hot shard; " : ""}${plural(s.keys_in_memory, "key", "keys")} in memory, ${plural(s.intents, "prepared transaction", "prepared transactions")}${replicas(s)}`);
    });
  };
  return li;
}

// replicas is the group of a shard that the node leads, empty without replicas.
const replicas = (s) => (s.term ? `; leader in term ${s.term}, replicas on ${(s.replicas ?? []).map((r) => `n${r.node_id}`).join(", ")}` : "");

function nodeFacts(n, led) {
  const leads = led.some((s) => s.term) ? `leads ${plural(led.length, "shard", "shards")}` : "";
  return [sameVersion() ? "" : version(n.version), `up ${age(n.uptime_ms)}`, leads, `${bytes(n.store_bytes)} on disk`,
    n.disk.size_bytes ? `${bytes(n.disk.free_bytes)} free` : "", `${plural(n.in_flight, "transaction", "transactions")} in flight`].filter(Boolean).join(" · ");
}
