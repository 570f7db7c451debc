/**
 * Rules for replacing a removed method by its successor: each returns the reason if the replacement
 * would break something that works.   AGTP-API §4.5, §5.9, §9.2
 */
import { memberOf, textIn } from "../../base/json-value.ts";
import { templateShape } from "../../base/template.ts";
import { isTable, type TomlTable } from "../../base/toml-document.ts";
import { createRegistry } from "../../endpoint/endpoint-registry.ts";
import { checkReservation } from "../../endpoint/method-rule.ts";
import type { CatalogStep, Conflict } from "./conflict.ts";
import { type FiledPair, pairOf } from "./pack-tools.ts";
import type { Reference } from "./reference.ts";
import type { Scan } from "./scan.ts";

/** A conflict that has a successor. */
export interface FixableConflict extends Conflict {
  readonly successor: string;
}

/** Checks fixes, given the deployment and the endpoints whose fix was refused. */
export class FixRules {
  readonly #scan: Scan;
  readonly #step: CatalogStep;
  /** The pairs of endpoints that stay unchanged. */
  readonly #standing: readonly FiledPair[];
  /** The reason an endpoint cannot be fixed, by its pair with the old method, as steps name it. */
  readonly #stuck = new Map<string, string>();
  /** The pairs of endpoints after the fixes so far. */
  readonly #becoming: FiledPair[];

  constructor(scan: Scan, step: CatalogStep) {
    this.#scan = scan;
    this.#step = step;
    const broken = new Set(scan.conflicts.map(({ reference }) => reference));
    this.#standing = scan.references.methods
      .filter((one) => one.role === "endpoint" && !broken.has(one))
      .flatMap((one) => pairOf(one, one.value) ?? []);
    this.#becoming = [...this.#standing];
  }

  /** The reason this fix must not be made. Fixes of endpoints have to be checked before others. */
  check(conflict: FixableConflict): string | undefined {
    const { reference, successor } = conflict;
    const { within } = reference;
    switch (reference.role) {
      case "endpoint":
        return this.#checkEndpoint(reference, successor);
      case "endpoint-successor":
        return this.#checkOwnSuccessor(reference, successor);
      case "step":
        return this.#checkStep(conflict, textOf(within, "path") ?? "/");
      case "disallow":
        return this.#checkUse(successor, "would not be served any more");
      case "token":
        return this.#checkUse(successor, "would need a token");
      case "approval":
        return this.#checkApproval(successor);
      case "redirect-from":
      case "redirect-to":
        return this.#checkRedirect(reference, successor);
      case "tool":
        return "a pack is its author's to change, and may be signed";
      case "alias-target":
        return Object.hasOwn(within, successor)
          ? `${successor} is an alias itself, and aliases are single-hop`
          : undefined;
      default:
        return undefined;
    }
  }

  #checkEndpoint(reference: Reference, successor: string): string | undefined {
    const pair = pairOf(reference, successor);
    if (pair === undefined) return "its path is no path, so nobody can say what it would become";
    const reason = this.#endpointReason(reference, pair);
    if (reason === undefined) this.#becoming.push(pair);
    else this.#stuck.set(keyOf(reference.value, pair.path), `${pair.file} keeps it: ${reason}`);
    return reason;
  }

  #endpointReason({ within }: Reference, pair: FiledPair): string | undefined {
    const reserved = checkReservation(pair.method, pair.path, this.#step.newer.embedded);
    if (reserved !== undefined) return reserved;
    const rivals = this.#becoming.filter(({ method }) => method === pair.method);
    const [conflict] = createRegistry([...rivals, pair]).conflicts;
    if (conflict !== undefined) {
      const { method, path, file } = conflict.other;
      return `${file} has ${method} ${path} already, so this one can be removed`;
    }
    const { disallow } = this.#policy();
    if (Array.isArray(disallow) && disallow.includes(pair.method)) {
      return `policies.methods.disallow has ${pair.method}`;
    }
    const named = tableOf(within["deprecated"], "successor");
    return named !== undefined && isSamePair(named, pair)
      ? "[endpoint.deprecated] would name the endpoint itself"
      : undefined;
  }

  /** A step may follow its endpoint, or use another one that already has the new pair. */
  #checkStep({ method, successor }: FixableConflict, path: string): string | undefined {
    const target = keyOf(successor, path);
    const isServed = this.#becoming.some((pair) => keyOf(pair.method, pair.path) === target);
    return isServed ? undefined : this.#stuck.get(keyOf(method, path));
  }

  /** The endpoint itself may get the method that its successor would name. */
  #checkOwnSuccessor({ source, within }: Reference, successor: string): string | undefined {
    const endpoint = tableOf(source.table, "endpoint") ?? {};
    const path = textOf(endpoint, "path");
    const isOwn = this.#becoming.some(
      ({ file, method }) => file === source.file && method === successor,
    );
    return isOwn && (textOf(within, "path") ?? path) === path
      ? "it would name the endpoint itself, so [endpoint.deprecated] can be removed"
      : undefined;
  }

  /** A fix of one method must not affect an endpoint that uses the successor. */
  #checkUse(successor: string, consequence: string): string | undefined {
    if (this.#step.newer.embedded.includes(successor)) {
      return `${successor} is a floor method, which ${consequence}`;
    }
    const user = this.#standing.find(({ method }) => method === successor);
    return user && `${user.method} ${user.path} of ${user.file} ${consequence}`;
  }

  /** Of two rules for one method the later may have no effect, which prevents the start. */
  #checkApproval(successor: string): string | undefined {
    const rival = this.#scan.references.methods.some(
      ({ role, value }) => role === "approval" && value === successor,
    );
    if (rival) return `another rule is for ${successor} already`;
    return this.#checkUse(successor, "would come under the rule");
  }

  #checkRedirect({ within, role }: Reference, successor: string): string | undefined {
    const after = (name: string): string | undefined => this.#afterFix(within, name);
    const [from, to] = [after("from_method"), after("to_method")];
    const fromPath = textOf(within, "from_path");
    const toPath = textOf(within, "to_path") ?? fromPath;
    if (from === to && fromPath === toPath) {
      return "it would redirect to itself, so the entry can be removed";
    }
    if (role === "redirect-to") return undefined;
    if (this.#step.newer.embedded.includes(successor)) {
      return `requests for the floor method ${successor} would be redirected`;
    }
    const captured = this.#standing.find(
      ({ method, path }) => method === successor && (fromPath === undefined || path === fromPath),
    );
    if (captured !== undefined) {
      return `requests for ${captured.method} ${captured.path} of ${captured.file} would be redirected`;
    }
    const rival = this.#redirects().some(
      (other) =>
        textOf(other, "from_method") === successor && textOf(other, "from_path") === fromPath,
    );
    return rival ? `another redirect is for ${successor} already` : undefined;
  }

  /** The method that a redirect's member names after the fixes. */
  #afterFix(within: TomlTable, name: string): string | undefined {
    const method = textOf(within, name);
    const conflict = this.#scan.conflicts.find(
      (one) => one.reference.within === within && one.reference.key.endsWith(`.${name}`),
    );
    return conflict?.successor ?? method;
  }

  #redirects(): readonly TomlTable[] {
    const { redirects } = this.#policy();
    return Array.isArray(redirects) ? redirects.filter(isTable) : [];
  }

  #policy(): TomlTable {
    const { config } = this.#scan.references;
    return tableOf(tableOf(config?.table, "policies"), "methods") ?? {};
  }
}

/** The key of a pair, independent of parameter names. */
function keyOf(method: string, path: string): string {
  return `${method} ${templateShape(path)}`;
}

function isSamePair(successor: TomlTable, { method, path }: FiledPair): boolean {
  const named = textOf(successor, "method") ?? method;
  return named === method && (textOf(successor, "path") ?? path) === path;
}

function tableOf(owner: unknown, name: string): TomlTable | undefined {
  const value = isTable(owner) ? memberOf(owner, name) : undefined;
  return isTable(value) ? value : undefined;
}

function textOf(owner: TomlTable, name: string): string | undefined {
  return textIn(memberOf(owner, name));
}
