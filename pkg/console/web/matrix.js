// The matrix of conflicts: a row for each waiting operation, a column for each holding one.

import { el } from "./dom.js";
import { count, duration, plural } from "./format.js";

const most = 8;

// cellID identifies a cell.
export const cellID = (c) => JSON.stringify([c.operations, c.holder_operations]);

const none = { operations: "", holder_operations: "", waits: 0, waited_us: 0, aborts: 0, advice: "" };

// drawMatrix returns a table, and its cells by cellID. read(conflict) is called for the cell
// under the pointer or with the focus. all are messages KeyConflict.
export function drawMatrix(all, read) {
  const conflicts = all.map((c) => ({ ...none, ...c }));
  const rows = leading(conflicts, (c) => c.operations);
  const columns = leading(conflicts, (c) => c.holder_operations);
  const cells = new Map();
  for (const c of conflicts) {
    const r = rows.includes(c.operations) ? c.operations : other;
    const k = columns.includes(c.holder_operations) ? c.holder_operations : other;
    const id = cellID({ operations: r, holder_operations: k });
    const cell = cells.get(id) ?? { ...none, operations: r, holder_operations: k };
    cell.waits += c.waits;
    cell.waited_us += c.waited_us;
    cell.aborts += c.aborts;
    if (r !== other && k !== other) cell.advice = c.advice;
    cells.set(id, cell);
  }
  const top = Math.max(...[...cells.values()].map((c) => c.waited_us), 1);
  const head = el("tr", {}, el("td", { class: "corner" }, el("span", {}, "waits ↓  for →")),
    ...columns.map((c) => el("th", { scope: "col" }, el("span", { title: c || unknown }, c || unknown))));
  const body = rows.map((r) => el("tr", {}, el("th", { scope: "row", title: r || unknown }, r || unknown),
    ...columns.map((c) => drawCell(cells.get(cellID({ operations: r, holder_operations: c })), top, read))));
  return { table: el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, ...body)), cells };
}

const other = "others";
const unknown = "unknown";

// leading returns the names with the longest waits, and "others" if there are more.
function leading(conflicts, name) {
  const sums = new Map();
  for (const c of conflicts) sums.set(name(c), (sums.get(name(c)) ?? 0) + c.waited_us + c.aborts);
  const all = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
  return all.length > most ? [...all.slice(0, most - 1), other] : all;
}

function drawCell(c, top, read) {
  if (!c) return el("td", { class: "none" });
  const show = () => read(c);
  const td = el("td", {}, el("button", { type: "button", onclick: show, onfocus: show, onpointerenter: show, "aria-label": conflictText(c) },
    el("span", {}, c.waited_us ? duration(c.waited_us) : "–"), el("small", {}, c.waits ? `${count(c.waits)}×` : plural(c.aborts, "abort", "aborts"))));
  td.style.setProperty("--heat", (0.08 + 0.72 * Math.sqrt(c.waited_us / top)).toFixed(3));
  return td;
}

export function conflictText(c) {
  const pair = `${c.operations || unknown} against ${c.holder_operations || unknown}`;
  const waits = c.waits ? `${plural(c.waits, "wait", "waits")}, ${duration(c.waited_us)} in total` : "no waits";
  const aborts = c.aborts ? `, ${plural(c.aborts, "aborted attempt", "aborted attempts")}` : "";
  return `${pair}: ${waits}${aborts}. ${c.advice ?? ""}`.trim();
}
