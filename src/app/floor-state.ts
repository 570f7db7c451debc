/** What the floor methods keep while a daemon runs, through every reload. */

import { RateWindow } from "../base/rate-window.ts";
import { SLICE_MS, TaskQueue } from "../base/task-queue.ts";
import { LoopTime } from "../dispatch/loop-time.ts";
import { Rates } from "../dispatch/rates.ts";
import { Runs } from "../dispatch/runs.ts";
import { createToll, type Toll } from "../dispatch/toll.ts";
import { openRunState, type RunState } from "../modules/agentcli/run/run-state.ts";
import { type AgntcyState, openAgntcy } from "../modules/agntcy/state.ts";
import { DelegationRegister } from "../modules/delegation/register.ts";
import { SeenTokens } from "../modules/delegation/seen-tokens.ts";
import { NotificationRegister } from "../modules/delivery/notification-register.ts";
import { WebhookOutbox } from "../modules/delivery/webhook-outbox.ts";
import { openTasks, type TaskState } from "../modules/tasks/state.ts";
import type { Store } from "../state/store.ts";
import { type OpenwopState, openOpenwop } from "./openwop-state.ts";

/** One member a part, opened once. */
export interface FloorState {
  readonly store: Store;
  readonly runs: Runs;
  readonly delegations: DelegationRegister;
  readonly seenTokens: SeenTokens;
  /** The way to people, for whoever has something to tell them. */
  readonly webhooks: WebhookOutbox;
  readonly notifications: NotificationRegister;
  /** How often each agent notifies. */
  readonly notifyRate: RateWindow;
  readonly tasks: TaskState;
  readonly taskRuns: RunState;
  readonly agntcy: AgntcyState;
  /** Runs of OpenWOP workflows and agents, and what their HTTP face remembers. */
  readonly openwop: OpenwopState;
  /** What everybody has taken of the server. */
  readonly rates: Rates;
  readonly time: LoopTime;
  readonly toll: Toll;
  /** What takes longer than others want to wait, whoever asks for it. */
  readonly work: TaskQueue;
  /** Aborted when the daemon begins to stop: whoever only waits has its answer then. */
  readonly stopping: AbortController;
}

/** Opens what an earlier process kept. */
export async function openFloorState(store: Store): Promise<FloorState> {
  const webhooks = await WebhookOutbox.open({ store });
  const tasks = await openTasks(store);
  const rates = new Rates();
  const time = new LoopTime(rates);
  return {
    store,
    runs: new Runs(),
    delegations: await DelegationRegister.open(store),
    seenTokens: await SeenTokens.open(store),
    webhooks,
    notifications: await NotificationRegister.open({ store, outbox: webhooks }),
    notifyRate: new RateWindow(),
    tasks,
    taskRuns: await openRunState(store, tasks.escalations),
    agntcy: await openAgntcy(store),
    openwop: await openOpenwop(store),
    ...{ rates, time, toll: createToll(rates, time) },
    ...{ work: new TaskQueue({ sliceMs: SLICE_MS, meter: time }) },
    stopping: new AbortController(),
  };
}
