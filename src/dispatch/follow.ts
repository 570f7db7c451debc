/**
 * Slices of a handler behind what it waits for are known by what the platform says of each
 * continuation: whose call it belongs to. It says so once a handler was seen to be asynchronous, and
 * of that handler from its next call on; until then nothing costs anything.
 * `[limits] work_ms_per_second`
 */
import { AsyncResource, createHook, executionAsyncResource } from "node:async_hooks";
import type { TaskOwner } from "../base/task-queue.ts";
import type { Exchange } from "./exchange.ts";
import type { LoopTime } from "./loop-time.ts";
import { payerOf } from "./payer.ts";

const CALL = Symbol("the call that a continuation belongs to");

interface Marked {
  [CALL]?: FollowedCall;
}

/** A call until it has settled: what others find open afterwards is nobody's any more. */
class FollowedCall extends AsyncResource implements Marked {
  readonly time: LoopTime;
  readonly [CALL]: FollowedCall = this;
  #exchange: Exchange | undefined;

  constructor(time: LoopTime, exchange: Exchange) {
    super("AgtpCall");
    this.time = time;
    this.#exchange = exchange;
  }

  get isOver(): boolean {
    return this.#exchange === undefined;
  }

  readonly payer = (): TaskOwner | undefined => this.#exchange && payerOf(this.#exchange);

  readonly end = (): void => {
    this.#exchange = undefined;
  };
}

const current = (): FollowedCall | undefined => (executionAsyncResource() as Marked)[CALL];

const hook = createHook({
  init(_id, _type, _trigger, resource: Marked) {
    const call = current();
    if (call !== undefined && !call.isOver && !(resource instanceof FollowedCall)) {
      resource[CALL] = call;
    }
  },
  before: () => current()?.time.enter(current()?.payer),
  after: () => current()?.time.leave(),
});

type AnyHandler<Call, Outcome> = (call: Call, exchange: Exchange) => Outcome | Promise<Outcome>;

const asynchronous = new WeakSet<object>();

/** Calls a handler; what it does later is on the account of whoever asked. */
export function follow<Call, Outcome>(
  handler: AnyHandler<Call, Outcome>,
  call: Call,
  exchange: Exchange,
  time: LoopTime,
): Outcome | Promise<Outcome> {
  if (!asynchronous.has(handler)) {
    const outcome = handler(call, exchange);
    if (outcome instanceof Promise) {
      asynchronous.add(handler);
      hook.enable();
    }
    return outcome;
  }
  const followed = new FollowedCall(time, exchange);
  const outcome = followed.runInAsyncScope(handler, undefined, call, exchange);
  if (outcome instanceof Promise) outcome.then(followed.end, followed.end);
  else followed.end();
  return outcome;
}
