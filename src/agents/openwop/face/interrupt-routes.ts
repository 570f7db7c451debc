/** Answering what runs wait for: by the node, or by the token of a snapshot.   OpenWOP "interrupt" */
import { isRefused, refuseRun } from "../runs/run-refusal.ts";
import { interruptView } from "../runs/run-snapshot.ts";
import { answer, type FaceAnswer, refuse, refuseAs } from "./answer.ts";
import type { FaceCall, FaceRoute } from "./face-route.ts";
import type { NamedInterrupt } from "./interrupt-token.ts";

/** The operations. */
export const INTERRUPT_ROUTES: readonly FaceRoute[] = [
  {
    method: "POST",
    path: "/v1/runs/{runId}/interrupts/{nodeId}",
    summary: "Answer what a node waits for",
    scope: "approvals:respond",
    handle: (call) => {
      const { runId = "", nodeId = "" } = call.params;
      return respond(call, runId, nodeId);
    },
  },
  {
    method: "GET",
    path: "/v1/interrupts/{token}",
    summary: "Read what is waited for",
    scope: "approvals:respond",
    handle: readInterrupt,
  },
  {
    method: "POST",
    path: "/v1/interrupts/{token}",
    summary: "Answer what is waited for",
    scope: "approvals:respond",
    handle: async (call) => {
      const named = readToken(call);
      return "status" in named ? named : respond(call, named.runId, named.nodeId);
    },
  },
];

async function respond(call: FaceCall, runId: string, nodeId: string): Promise<FaceAnswer> {
  const { parts, caller, body, key } = call;
  const { resumeValue } = body;
  if (resumeValue === undefined) {
    return refuse(400, "validation_error", "/resumeValue is missing");
  }
  const said = answer({ runId, nodeId, status: "resolved" });
  const word = { resumeValue, by: key.name };
  const answered = await parts.host.answer(runId, nodeId, word, caller, () => call.keep(said));
  return isRefused(answered) ? refuseAs(answered) : said;
}

async function readInterrupt(call: FaceCall): Promise<FaceAnswer> {
  const named = readToken(call);
  if ("status" in named) return named;
  const log = await call.parts.host.find(named.runId, call.caller);
  if (isRefused(log)) return unknownInterrupt();
  const interrupt = log.state.interrupts[named.nodeId];
  if (interrupt?.interruptId !== named.interruptId) return unknownInterrupt();
  const { runId } = log.run;
  return answer({ runId, ...interruptView(interrupt), isResolved: interrupt.isResolved });
}

function readToken({ parts, params }: FaceCall): NamedInterrupt | FaceAnswer {
  const read = parts.state.tokens.read(params["token"] ?? "");
  if (read === undefined) return unknownInterrupt();
  if (read !== "expired") return read.interrupt;
  return refuseAs(refuseRun("interrupt_expired", "the token's half hour is over"));
}

function unknownInterrupt(): FaceAnswer {
  return refuseAs(refuseRun("interrupt_not_found", "nothing that is waited for has this token"));
}
