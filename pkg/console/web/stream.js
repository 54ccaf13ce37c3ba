// The stream of documents. It is read with fetch, because an EventSource neither reports
// why a node rejects it nor detects a node that stops responding.

// timeout bounds the time without a document, in milliseconds. A document arrives every
// second or two.
const timeout = 8000;

// Rejected is an error response of the node.
export class Rejected extends Error {}

// follow passes documents to take until the stream ends, fails or times out, or signal is
// aborted.
export async function follow(url, signal, take) {
  const silence = new AbortController();
  let timer = 0;
  const extend = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), timeout);
  };
  extend();
  try {
    const response = await fetch(url, { cache: "no-store", signal: AbortSignal.any([signal, silence.signal]) });
    if (!response.ok) throw new Rejected(await reason(response));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      extend();
      rest += value;
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const event = rest.slice(0, end);
        rest = rest.slice(end + 2);
        take(JSON.parse(event.slice("data: ".length), decode));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

// decode decodes the keys in a document: UTF-8 in base64.
function decode(name, value) {
  return name === "key" ? new TextDecoder().decode(Uint8Array.from(atob(value), (c) => c.charCodeAt(0))) : value;
}

async function reason(response) {
  const text = (await response.text()).trim().slice(0, 200) || `status ${response.status}`;
  return response.status === 401 ? `${text}. Reload the page to sign in` : text;
}
