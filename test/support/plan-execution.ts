/**
 * Executes a plan as an agent would that knows nothing but the plan: each step is sent, and what
 * later steps take from its answer is looked up by the notation of recipes.
 */
import type { TestBody, TestReply, TestRequest } from "./dispatch.ts";

/** What came of a plan. */
export interface Execution {
  readonly replies: readonly TestReply[];
  /** The answers by the names that the plan has for them; of a floor method its `result`. */
  readonly captured: ReadonlyMap<string, unknown>;
}

type Send = (request: TestRequest) => Promise<TestReply>;
type Values = Readonly<Record<string, unknown>>;

/** Calls step after step; `given` are inputs that the plan waits for. */
export async function executePlan(
  plan: TestBody,
  send: Send,
  given: Values = {},
): Promise<Execution> {
  const captured = new Map<string, unknown>();
  const replies: TestReply[] = [];
  for (const step of Object.values(plan["ordered_steps"] ?? {})) {
    const input = new Map(
      Object.entries(step["input"] ?? {}).map(([name, value]) => {
        return [name, resolve(value, captured, given)] as const;
      }),
    );
    const path = String(step["path"]).replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String(input.get(name));
      input.delete(name);
      return encodeURIComponent(value);
    });
    const reply = await send({
      method: String(step["method"]),
      path,
      body: Object.fromEntries(input),
    });
    replies.push(reply);
    captured.set(String(step["capture_as"]), path === "/" ? reply.body["result"] : reply.body);
  }
  return { replies, captured };
}

function resolve(value: unknown, captured: ReadonlyMap<string, unknown>, given: Values): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (Object.keys(value).sort().join() !== "kind,value") return value;
  const { kind, value: from } = value as { readonly kind: string; readonly value: unknown };
  if (kind === "constant") return from;
  if (kind === "proposal") return given[String(from)];
  const [name = "", ...members] = String(from).split(".");
  return members.reduce<unknown>((whole, member) => (whole as Values)[member], captured.get(name));
}
