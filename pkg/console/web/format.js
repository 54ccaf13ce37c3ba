// Formats of numbers: short, and of constant width where they change often. A number that a
// message omits is 0.

const trim = (n, digits) => n.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: 0 });

// three formats a number with about three digits.
const three = (n) => trim(n, n < 10 ? 2 : n < 100 ? 1 : 0);

// duration formats microseconds: µs below 1 ms, ms below 10 s, s above.
export function duration(us = 0) {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 10e6) return `${three(us / 1e3)} ms`;
  return `${three(us / 1e6)} s`;
}

// age formats milliseconds of ages and lifetimes, in whole seconds or larger units.
export function age(ms = 0) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

export const ago = (then, now) => (now - then < 1500 ? "now" : `${age(now - then)} ago`);

export function count(n = 0) {
  if (n < 10 && !Number.isInteger(n)) return trim(n, 1);
  if (n < 10000) return trim(n, 0);
  if (n < 1e6) return `${three(n / 1e3)} k`;
  return `${three(n / 1e6)} M`;
}

// waiting formats waiting time per second, in microseconds, as the average number of
// waiting transactions.
export function waiting(us) {
  const n = us / 1e6;
  return `${n < 0.1 ? "under 0.1" : trim(n, n < 100 ? 1 : 0)} waiting on average`;
}

export const percent = (share = 0) => `${Math.round(100 * share)} %`;

export function bytes(n = 0) {
  if (n < 1 << 20) return `${Math.ceil(n / 1024)} KiB`;
  if (n < 1 << 30) return `${three(n / (1 << 20))} MiB`;
  return `${three(n / (1 << 30))} GiB`;
}

export const shard = (n = 0) => `s${n}`;

export const millis = (ns = 0) => ns / 1e6;

export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

// version shortens the version of a build without a release to its commit.
export function version(v = "") {
  const m = /^v\d.*-\d{14}-([0-9a-f]{8})[0-9a-f]*(\+dirty)?$/.exec(v);
  return m ? `commit ${m[1]}${m[2] ?? ""}` : v;
}

// cut shortens a key and keeps both ends, where keys differ.
export function cut(s, most) {
  if (s.length <= most) return s;
  const tail = Math.floor((most - 1) / 3);
  return `${s.slice(0, most - 1 - tail)}…${s.slice(s.length - tail)}`;
}

// short is the end of a transaction id, which is unique on the page.
export const short = (id) => `…${id.slice(-8)}`;

export const plural = (n = 0, one, many) => `${count(n)} ${n === 1 ? one : many}`;
