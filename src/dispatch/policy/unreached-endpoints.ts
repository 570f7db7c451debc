/**
 * Reports endpoints whose method is an alias, so that no request reaches them, and redirects that
 * lead to no endpoint. It is done at load time, since callers notice neither. A disallowed method
 * is deliberate and not reported.   AGTP-API §9.2
 */
import type { Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Route } from "../routes/route.ts";
import { type MethodPolicy, resolveMethod } from "./method-policy.ts";
import type { Redirect } from "./policies-section.ts";

/** The served endpoints, and the policy in front of them. */
interface ServedEndpoints {
  readonly policy: Pick<MethodPolicy, "alias">;
  /** The routes of endpoint files. */
  readonly routes: readonly Route[];
  readonly registry: Pick<EndpointRegistry<Route>, "find">;
  /** The redirects as configured in `file`. */
  readonly redirects: readonly Redirect[];
  readonly file: string;
}

/** Builds a warning for each, one endpoint a step. */
export function* warningOfUnreached(served: ServedEndpoints): Paced<readonly Problem[]> {
  const { policy, routes, registry, redirects, file } = served;
  const warnings: Problem[] = [];
  for (const { method, definition } of routes) {
    yield;
    const target = resolveMethod(policy, method);
    if (target === method) continue;
    const message = `is never reached: [policies.methods] has "${method}" as another name of ${target}`;
    warnings.push({ file: definition.file, key: "endpoint.method", message, severity: "warning" });
  }
  for (const [index, { fromPath, toMethod: method, toPath = fromPath }] of redirects.entries()) {
    if (toPath === undefined || registry.find(method, toPath) !== undefined) continue;
    const message = `leads to ${method} ${toPath}, which no endpoint answers`;
    const key = `policies.methods.redirects[${index}]`;
    warnings.push({ file, key, message, severity: "warning" });
  }
  return warnings;
}
