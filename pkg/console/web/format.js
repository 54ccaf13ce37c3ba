// How numbers are written: short, and as wide as before where they change.

const trim = (n, digits) => n.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: 0 });

// three is a number with three digits or so.
const three = (n) => trim(n, n < 10 ? 2 : n < 100 ? 1 : 0);

// duration writes microseconds.
export function duration(us) {
  if (us < 1) return "0 ms";
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${three(us / 1e3)} ms`;
  if (us < 120e6) return `${three(us / 1e6)} s`;
  return long(us / 1e3);
}

// long writes milliseconds of minutes and more.
export function long(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

export const ago = (then, now) => (now - then < 1500 ? "now" : `${long(now - then)} ago`);

export function count(n) {
  if (n < 10 && !Number.isInteger(n)) return trim(n, 1);
  if (n < 10000) return trim(n, 0);
  if (n < 1e6) return `${three(n / 1e3)} k`;
  return `${three(n / 1e6)} M`;
}

export function bytes(n) {
  if (n < 1 << 20) return `${Math.ceil(n / 1024)} KiB`;
  if (n < 1 << 30) return `${three(n / (1 << 20))} MiB`;
  return `${three(n / (1 << 30))} GiB`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

// cut keeps the ends of what is too long: keys differ there.
export function cut(s, most) {
  if (s.length <= most) return s;
  const tail = Math.floor((most - 1) / 3);
  return `${s.slice(0, most - 1 - tail)}…${s.slice(s.length - tail)}`;
}

// short is enough of a transaction's id to tell those apart that are on the page.
export const short = (id) => `…${id.slice(-8)}`;

export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
