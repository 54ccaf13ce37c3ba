// The stream of documents. It is read with fetch, since an EventSource does not tell
// why a node has refused it, nor notices a node that has gone without a word.

// patience is for how long nothing may come, in milliseconds. A document comes each
// second or two.
const patience = 8000;

// Refused is what a node answers instead of a stream.
export class Refused extends Error {}

// follow takes documents until the stream ends or fails, nothing comes any more, or
// signal is aborted.
export async function follow(url, signal, take) {
  const silence = new AbortController();
  let timer = 0;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), patience);
  };
  heard();
  try {
    const answer = await fetch(url, { cache: "no-store", signal: AbortSignal.any([signal, silence.signal]) });
    if (!answer.ok) throw new Refused((await answer.text()).trim().slice(0, 200) || `the node answers ${answer.status}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      rest += value;
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const event = rest.slice(0, end);
        rest = rest.slice(end + 2);
        take(JSON.parse(event.slice("data: ".length)));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}
