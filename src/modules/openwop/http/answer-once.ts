/**
 * An operation that changes something is done once for each Idempotency-Key; the same key with
 * anything else in the request is a mistake.   OpenWOP "idempotency" Layer 1
 */

import { isWholeName } from "../../../dispatch/routes/second-look.ts";
import { canonicalForm, sha256Hex } from "../../../identity/canonical-form.ts";
import { type ApiAnswer, concealed, refuse } from "./answer.ts";
import type { AnsweredRoute, ApiCall } from "./api-route.ts";

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Answers a call, perhaps as it was answered before. */
export async function answerOnce(route: AnsweredRoute, call: ApiCall): Promise<ApiAnswer> {
  const { redact } = call.parts;
  // The answer is kept as it is sent.
  const handle = async (asked: ApiCall): Promise<ApiAnswer> =>
    concealed(await lookTwice(call, () => route.handle(asked)), redact);
  const key = call.header("idempotency-key");
  // Reading changes nothing, whatever header comes with it.
  if (key === undefined || route.method === "GET") return handle(call);
  if (!KEY.test(key)) {
    const message = "the Idempotency-Key must be 1 to 255 printable ASCII characters";
    return refuse(400, "validation_error", message);
  }
  const { parts, params, body } = call;
  const digest = digestOf({ params, body });
  if (digest === undefined) {
    return refuse(400, "validation_error", "the body has no canonical form");
  }
  const { tenant } = call.key;
  const operation = `${route.method} ${route.path}`;
  const request = { tenant, operation, key, digest };
  return parts.state.idempotency.run(request, (keep) => handle({ ...call, keep }), parts.view);
}

function digestOf(request: Parameters<typeof canonicalForm>[0]): string | undefined {
  try {
    return sha256Hex(canonicalForm(request));
  } catch {
    return undefined;
  }
}

/**
 * A look-up over HTTP that misses, on one of several nodes, is made once more when this one has taken in
 * what was committed by then, as over AGTP. Only keys that are known come as far, and only names that are
 * whole; what is answered with 404 has done nothing.
 * @throws StoreUnavailableError where it is not known whether it is there
 */
export async function lookTwice<Said extends object = ApiAnswer>(
  { parts: { view }, params }: Pick<ApiCall, "parts" | "params">,
  ask: () => Promise<Said | ApiAnswer> | ApiAnswer,
): Promise<Said | ApiAnswer> {
  const said = await ask();
  if (view.catchUp === undefined || !("status" in said) || said.status !== 404) return said;
  if (!Object.values(params).some(isWholeName)) return said;
  await view.catchUp();
  return ask();
}
