// Elements and text nodes: the page never turns data into markup.

const svgNS = "http://www.w3.org/2000/svg";

// el creates an element. Properties that start with "on" are event handlers, all others
// attributes; a property of null is omitted.
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(svgNS, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

// text sets an element's text if it differs, so that a selection is kept.
export function text(node, value = "") {
  const s = String(value);
  if (node.textContent !== s) node.textContent = s;
}

export function attr(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

// keyed shows items in a container, in order, and reuses the element of each key.
// make(item) returns an element with a method update(item).
export function keyed(container, items, key, make) {
  const known = container.keyedItems ?? (container.keyedItems = new Map());
  const seen = new Set();
  let next = container.firstElementChild;
  for (const item of items) {
    let k = key(item);
    while (seen.has(k)) k += "'";
    seen.add(k);
    let node = known.get(k);
    if (!node) {
      node = make(item);
      known.set(k, node);
    }
    node.update(item);
    if (node === next) next = next.nextElementSibling;
    else container.insertBefore(node, next);
  }
  for (const [k, node] of known) {
    if (seen.has(k)) continue;
    node.remove();
    known.delete(k);
  }
}

export const byID = (id) => document.getElementById(id);
