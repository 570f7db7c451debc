/**
 * A look-up over HTTP that misses, on one of several nodes, is made once more when this one has taken in
 * what was committed by then, as over AGTP. Only keys that are known come as far, and only names that are
 * whole; what is answered with 404 has done nothing.
 */
import { isWholeName } from "../../../dispatch/routes/second-look.ts";
import type { ApiAnswer } from "./answer.ts";
import type { ApiCall } from "./api-route.ts";

/** @throws StoreUnavailableError where it is not known whether it is there */
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
