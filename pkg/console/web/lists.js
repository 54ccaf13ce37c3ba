// The lists of the page. Each gives an element with a method update(item, doc), for
// keyed() in dom.js.

import { attr, el, text } from "./dom.js";
import { ago, bytes, clock, count, duration, long, plural } from "./format.js";

let doc = null;
let most = 1; // waiting of the first key, against which the bars are drawn

// before a list is drawn it is told of which document.
export function about(d) {
  doc = d;
  most = Math.max(...d.keys.map(weight), 1);
}

const weight = (k) => (k.known && k.waiting_us_per_s) || 0;

// keyRow is a key, with why it is waited for and since when.
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
    text(wait, k.known ? `${duration(k.waiting_us_per_s)} of waiting per second` : k.waited_us ? `${duration(k.waited_us)} of waiting` : "");
    bar.style.setProperty("--share", (weight(k) / most).toFixed(3));
    text(why, keyWhy(k));
    text(advice, k.commutes);
    text(facts, keyFacts(k));
  };
  return li;
}

// keyWhy says which operation waits for which.
function keyWhy(k) {
  if (!k.operations && !k.holder_operations) return "";
  const mine = k.operations || "Something";
  const theirs = k.holder_operations || "something";
  return k.waits ? `${mine} waits for ${theirs}` : `${mine} gives way to ${theirs}`;
}

function keyFacts(k) {
  const out = [];
  if (k.since_ms) out.push(`waited for since ${clock(k.since_ms)} (${long(doc.time_ms - k.since_ms)})`);
  if (k.queue) out.push(`${plural(k.queue, "waits", "wait")} now`);
  if (k.waits) out.push(`${plural(k.waits, "wait", "waits")} of ${duration(k.waited_us / k.waits)} in 5 minutes`);
  if (k.aborts) out.push(plural(k.aborts, "lost attempt", "lost attempts"));
  const parts = [["locks", k.lock_us_per_s], ["held by readers", k.held_us_per_s], ["readers", k.read_us_per_s], ["retries", k.retry_us_per_s]]
    .filter(([, us]) => us >= 1000).map(([what, us]) => `${what} ${duration(us)}`);
  if (parts.length > 1) out.push(parts.join(", "));
  if (k.known) {
    const where = k.shard === doc.hot.shard ? `on the hot shard s${k.shard}` : `on s${k.shard}`;
    const rule = k.order ? `, ${k.order}` : "";
    out.push(`${where}${rule}${k.why_there ? `: ${k.why_there}` : ""}`);
  }
  return out.join(" · ");
}

// receiptRow is a receipt, which opens to all that it says.
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
    text(waited, r.waited_us ? duration(r.waited_us) : `${count(r.aborted)} lost`);
    text(key, r.key);
    attr(key, "title", r.key);
    text(tag, r.outcome === "OK" ? "" : r.outcome);
    text(sentence, r.sentence);
    text(gist, r.waited_us ? r.sentence.replace(/^(Waited|Was still waiting)[^:]*: /, "") : r.sentence);
    text(facts, `transaction ${r.txn} · ${r.kind.replaceAll("_", " ")} through n${r.node} · took ${duration(r.took_us)} · ${r.outcome}`);
  };
  return li;
}

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
    text(why, m.why);
  };
  return li;
}

export function snapshotRow() {
  const name = el("span", { class: "mono grow" });
  const age = el("span", { class: "amount" });
  const facts = el("p", { class: "facts" });
  const li = el("li", { class: "two" }, el("div", {}, name, age), facts);
  li.update = (s) => {
    text(name, s.name);
    attr(name, "title", s.name);
    text(age, `${long(doc.time_ms - s.time_ms)} old`);
    text(facts, `${s.id} · of ${new Date(s.time_ms).toLocaleString("en-GB")}${s.expires_ms ? ` · kept for ${long(s.expires_ms - doc.time_ms)} more` : ""}`);
  };
  return li;
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
    attr(li, "class", n.refuses ? "silent" : n.answered ? "up" : n.up ? "silent" : "down");
    text(state, n.refuses ? `refuses ${n.refuses}` : n.answered ? (n.node === doc.node ? "serves this page" : "") : n.up ? "has not answered" : "down");
    text(facts, n.answered ? [n.version, `up ${long(n.uptime_ms)}`, `${bytes(n.disk_bytes)} on disk`, n.size_bytes ? `${bytes(n.free_bytes)} free` : "", `${count(n.in_flight)} in flight`].filter(Boolean).join(" · ") : n.lost ? `unavailable: ${n.lost}` : "");
    if (shards.childElementCount !== n.shards.length) shards.replaceChildren(...n.shards.map(() => el("span", { class: "chip" })));
    n.shards.forEach((s, i) => {
      const chip = shards.children[i];
      text(chip, s.waiting ? `s${s.shard} · ${plural(s.waiting, "waits", "wait")}` : `s${s.shard}`);
      attr(chip, "class", s.hot ? "chip hot" : "chip");
      attr(chip, "title", `${s.hot ? "the hot shard; " : ""}${plural(s.keys_in_memory, "key", "keys")} in memory, ${count(s.intents)} prepared`);
    });
  };
  return li;
}

