/**
 * Calls under contracts while their agent ends them: steps take as long as they like, calls come again under the same
 * Idempotency-Key, and contracts are revoked or released in between. No step begins under a contract whose end was
 * answered, a key has one effect, and every call has an answer that says which of these it was.
 */
import { channel } from "node:diagnostics_channel";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import { ask, JUDGE, NORA, negotiationFiles, presenting, propose } from "../support/negotiation.ts";

const CALL = { method: String(JUDGE["method"]), path: String(JUDGE["path"]) };

/** A step that has begun, and ends when it is told to. */
interface BegunStep {
  readonly name: "facts" | "verdict";
  /** The subject of its call. */
  readonly subject: string;
  end(): void;
}

const BEGUN = channel("test:contract-step");
const HANDLERS = `
import { channel } from "node:diagnostics_channel";
const begun = channel("${String(BEGUN.name)}");
const step = (name, subject, body) =>
  new Promise((resolve) => begun.publish({ name, subject, end: () => resolve({ body }) }));
export const facts = ({ input: { subject } }) =>
  step("facts", subject, { facts: [subject], about: subject });
export const verdict = ({ input: { facts: [subject] } }) =>
  step("verdict", subject, { verdict: "of " + subject });
export const place = () => ({ body: {} });
`;

type Step =
  | { readonly kind: "propose" }
  /** From the last contract, or step, back. */
  | { readonly kind: "call"; readonly index: number; readonly key: string | undefined }
  | { readonly kind: "end-step"; readonly index: number }
  | {
      readonly kind: "end-contract";
      readonly index: number;
      readonly method: "REVOKE" | "SUSPEND";
    };

const index = fc.constantFrom(0, 0, 0, 1, 2);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("propose" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: fc.constant("call" as const), index },
      key: fc.constantFrom(undefined, "k", "k", "l"),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("end-step" as const), index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant("end-contract" as const), index },
      method: fc.constantFrom("REVOKE" as const, "SUSPEND"),
    }),
  },
);

let runs = 0;

class World {
  readonly #server: TestServer;
  readonly #run: number;
  readonly #contracts: string[] = [];
  /** Those whose end was answered. */
  readonly #over = new Set<string>();
  /** By subject, the contracts that calls about it were made under. */
  readonly #contractsOf = new Map<string, Set<string>>();
  readonly #steps: BegunStep[] = [];
  readonly #begun = new Map<string, number>();
  readonly #replies: Promise<void>[] = [];
  #calls = 0;
  readonly wrong: string[] = [];

  constructor(server: TestServer) {
    runs += 1;
    this.#run = runs;
    this.#server = server;
  }

  readonly #take = (message: unknown): void => {
    const step = message as BegunStep;
    const name = `${step.name} of ${step.subject}`;
    this.#begun.set(name, (this.#begun.get(name) ?? 0) + 1);
    this.#steps.push(step);
    const contracts = [...(this.#contractsOf.get(step.subject) ?? [])];
    if (contracts.every((one) => this.#over.has(one))) {
      this.wrong.push(`${name} began under a contract that is over`);
    }
  };

  async play(steps: readonly Step[]): Promise<void> {
    BEGUN.subscribe(this.#take);
    try {
      await this.#propose();
      for (const step of steps) {
        await this.#do(step);
        await nextTurn();
      }
      await this.#end();
    } finally {
      BEGUN.unsubscribe(this.#take);
    }
  }

  async #do(step: Step): Promise<void> {
    switch (step.kind) {
      case "propose":
        return this.#propose();
      case "call":
        this.#replies.push(this.#call(this.#nth(this.#contracts, step.index) ?? "", step.key));
        return;
      case "end-step": {
        const begun = this.#nth(this.#steps, step.index);
        if (begun === undefined) return;
        this.#steps.splice(this.#steps.indexOf(begun), 1);
        begun.end();
        return;
      }
      case "end-contract": {
        const contract = this.#nth(this.#contracts, step.index) ?? "";
        const target = step.method === "REVOKE" ? { target: "contract" } : {};
        const body = { ...target, synthesis_id: contract };
        const { status } = await ask(this.#server, NORA, { method: step.method, body });
        if (status !== 200) this.wrong.push(`${step.method} was answered ${status}`);
        this.#over.add(contract);
      }
    }
  }

  async #propose(): Promise<void> {
    const { status, body } = await ask(this.#server, NORA, propose(JUDGE));
    if (status !== 263) this.wrong.push(`a proposal was answered ${status}`);
    this.#contracts.push(String(body["synthesis_id"]));
  }

  async #call(contract: string, key: string | undefined): Promise<void> {
    this.#calls += 1;
    const subject = `${this.#run}-${key ?? this.#calls}`;
    const wasOver = this.#over.has(contract);
    const contracts = this.#contractsOf.get(subject) ?? new Set();
    this.#contractsOf.set(subject, contracts.add(contract));
    const idempotent = key === undefined ? {} : { "Idempotency-Key": subject };
    const headers = { ...presenting(contract), ...idempotent };
    const reply = await ask(this.#server, NORA, { ...CALL, body: { subject } }, headers);
    this.#judge(reply, { contract, subject, wasOver });
  }

  #judge(
    { status, body }: TestReply,
    call: { readonly contract: string; readonly subject: string; readonly wasOver: boolean },
  ): void {
    const { contract, subject, wasOver } = call;
    const code = body["error"]?.["code"];
    const said = `${status} ${code} to ${subject} under ${contract}`;
    if (status === 200 && String(body["verdict"]) !== `of ${subject}`) this.wrong.push(said);
    // One that is over may have made room for others by now.
    if (wasOver && ![404, 464].includes(status)) this.wrong.push(`${said}, which is over`);
    const isEnded = this.#over.has(contract);
    const isOther = [409, 422].includes(status) && (this.#contractsOf.get(subject)?.size ?? 0) > 1;
    if (status !== 200 && !isEnded && !isOther) this.wrong.push(`${said}, which goes on`);
  }

  /** Every step ends; then every call has its answer. */
  async #end(): Promise<void> {
    let isAnswered = false;
    const answered = Promise.all(this.#replies).then(() => {
      isAnswered = true;
    });
    while (!isAnswered) {
      for (const step of this.#steps.splice(0)) step.end();
      await nextTurn();
    }
    await answered;
    for (const [name, count] of this.#begun) {
      if (count > 1) this.wrong.push(`${name} began ${count} times`);
    }
  }

  #nth<Item>(items: readonly Item[], index: number): Item | undefined {
    return items.at(-1 - (index % Math.max(1, items.length)));
  }
}

// AGTP-API §10.1.4
describe("calls under contracts", () => {
  it("begin no step once the end of theirs was answered, and have one effect for a key", async () => {
    const server = await openServer({ ...negotiationFiles(), "handlers.mjs": HANDLERS });
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { maxLength: 25, size: "max" }), async (steps) => {
        const world = new World(server);
        await world.play(steps);
        expect(world.wrong).toEqual([]);
        expect(server.faults).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
