// A client in TypeScript, on what buf makes of proto/linchpin/v1/linchpin.proto.
//
//     npm start -- URL      https://HOST:PORT with the token in LINCHPIN_TOKEN, or http:// without TLS
//
// docs/languages.md tells how to run it, and docs/api.md what the calls do.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  type BeginStepSchema,
  type ErrorDetail,
  ErrorDetailSchema,
  type ExecuteResponse,
  KV,
  type OpSchema,
  type Result,
  type TransactRequest,
  TransactRequestSchema,
  type TransactResponse,
} from "./gen/linchpin/v1/linchpin_pb.js";

type Op = MessageInitShape<typeof OpSchema>;
type Step = NonNullable<MessageInitShape<typeof TransactRequestSchema>["step"]>;

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (b: Uint8Array) => new TextDecoder().decode(b);

// connect gives a client, of which a program needs one.
function connect(url: string): Client<typeof KV> {
  const token = process.env.LINCHPIN_TOKEN;
  const authorize: Interceptor = (next) => (request) => {
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createClient(KV, createGrpcTransport({ baseUrl: url, interceptors: [authorize] }));
}

// Failed is a transaction that has not committed, unless the kind is OutcomeUnknown.
class Failed extends Error {
  constructor(readonly detail: ErrorDetail) {
    super(`${detail.kind}: ${detail.message}`);
  }
}

// execute runs a transaction that is known beforehand: one message each way.
async function execute(kv: Client<typeof KV>, ...ops: Op[]): Promise<Result[]> {
  try {
    return (await kv.execute({ ops }, { timeoutMs: 10_000 })).results;
  } catch (error) {
    const [detail] = ConnectError.from(error).findDetails(ErrorDetailSchema);
    throw detail === undefined ? error : new Failed(detail); // without a detail it is not linchpin's
  }
}

// Transaction is interactive transactions, one after the other on one stream.
class Transaction {
  private steps: TransactRequest[] = [];
  private wake = () => {};
  private closed = false;
  private responses: AsyncIterator<TransactResponse>;

  constructor(kv: Client<typeof KV>) {
    this.responses = kv.transact(this.requests(), { timeoutMs: 60_000 })[Symbol.asyncIterator]();
  }

  private async *requests() {
    while (!this.closed) {
      yield* this.steps.splice(0);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        if (this.closed || this.steps.length > 0) resolve();
      });
    }
  }

  async step(step: Step): Promise<TransactResponse["response"]> {
    this.steps.push(create(TransactRequestSchema, { step }));
    this.wake();
    const next = await this.responses.next();
    if (next.done) throw new Error("the stream has ended");
    const response = next.value.response;
    if (response.case === "failed") throw new Failed(response.value);
    return response;
  }

  async execute(...ops: Op[]): Promise<Result[]> {
    const response = await this.step({ case: "execute", value: { ops } });
    return response.case === "executed" ? response.value.results : [];
  }

  async close() {
    this.closed = true;
    this.wake();
    while (!(await this.responses.next()).done); // the answer to the end, which stops the call's clock
  }
}

// update runs a function in a transaction, and again when that has lost against others. A
// retry has the same id: it keeps its age, and the oldest one wins.
async function update(kv: Client<typeof KV>, run: (tx: Transaction) => Promise<void>): Promise<ExecuteResponse> {
  const tx = new Transaction(kv);
  let begin: MessageInitShape<typeof BeginStepSchema> = {};
  try {
    for (;;) {
      const begun = await tx.step({ case: "begin", value: begin });
      if (begun.case !== "begun") throw new Error(`not begun: ${begun.case}`);
      try {
        await run(tx);
        const committed = await tx.step({ case: "commit", value: {} });
        if (committed.case !== "committed") throw new Error(`not committed: ${committed.case}`);
        return committed.value;
      } catch (error) {
        if (!(error instanceof Failed && error.detail.retryable)) throw error;
        begin = { txnId: begun.value.txnId, attempt: begun.value.attempt + 1 };
      }
    }
  } finally {
    await tx.close();
  }
}

const get = (key: string, forUpdate = false): Op => ({ op: { case: "get", value: { key: bytes(key), forUpdate } } });
const add = (key: string, delta: bigint, returnValue = false): Op => ({
  op: { case: "add", value: { key: bytes(key), delta, returnValue } },
});
const put = (key: string, value: string): Op => ({ op: { case: "put", value: { key: bytes(key), value: bytes(value) } } });
const putIfAbsent = (key: string, value: string): Op => ({
  op: { case: "put", value: { key: bytes(key), value: bytes(value), condition: { case: "ifAbsent", value: true } } },
});

// transfer takes 7 from Alice and gives them to Bob, if she has them.
async function transfer(tx: Transaction) {
  const [alice] = await tx.execute(get("bank/alice", true));
  if (alice.number < 7n) throw new Error("not enough money"); // the stream ends, and with it the transaction
  await tx.execute(add("bank/alice", -7n), add("bank/bob", 7n));
}

const kv = connect(process.argv[2]);
const results = await execute(kv, put("motto", "hello"), add("bank/alice", 100n, true));
console.log("alice has", Number(results[1].number));
try {
  await execute(kv, putIfAbsent("motto", "goodbye"));
} catch (error) {
  if (!(error instanceof Failed)) throw error;
  console.log(`${error.detail.kind}: the motto is ${text(error.detail.current!.value)}`);
}
await update(kv, transfer);
for await (const page of kv.scan({ start: bytes("bank/"), end: bytes("bank0") }, { timeoutMs: 10_000 })) {
  for (const entry of page.entries) console.log(text(entry.key), Number(entry.number));
}
