/**
 * The asking identity: the header fields that a case writes as one name alone. Each request has a Request-ID of
 * its own, so they are made when they are asked for.   AGTP "Request Headers"
 */
import { covers } from "../../identity/authority-scope.ts";
import { uuidv7 } from "../../identity/uuid.ts";

/** The suite's identity, from the command line. */
export interface Identity {
  readonly agentId?: string | undefined;
  readonly ownerId?: string | undefined;
  /** The scopes that the agent holds; without them its Authority-Scope is not sent. */
  readonly scopes?: readonly string[] | undefined;
  readonly otherAgentId?: string | undefined;
  /** Sent with every request, `Name: value`. */
  readonly headers: readonly string[];
}

/** Header field lines, made anew each time. */
export type Lines = () => readonly string[];

/** Names and the lines they stand for; what nobody is named for is not there. */
export function identityLines(identity: Identity): Readonly<Record<string, Lines>> {
  const { agentId, ownerId, scopes, otherAgentId, headers } = identity;
  const lines = (...fields: readonly (readonly [string, string | undefined])[]): Lines => {
    const known = fields.flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    );
    return () => [...known, `Request-ID: ${uuidv7()}`, ...headers];
  };
  const owner = ["Owner-ID", ownerId] as const;
  const agent = ["Agent-ID", agentId] as const;
  const anyone = lines();
  const acting = lines(agent, owner, ["Authority-Scope", scopes?.join(", ")]);
  return {
    anyone,
    caller: agentId === undefined ? anyone : acting,
    ...(agentId === undefined ? {} : { agent: acting }),
    ...(otherAgentId === undefined ? {} : { other: lines(["Agent-ID", otherAgentId], owner) }),
    ...(scopes === undefined
      ? {}
      : { unprivileged: lines(agent, owner, ["Authority-Scope", plainScopes(scopes).join(", ")]) }),
  };
}

/** Scopes that the protocol itself knows. */
const PRIVILEGES = ["rcns:negotiate", "inspect:all"];

/** The scopes that cover no privilege. */
export function plainScopes(scopes: readonly string[]): readonly string[] {
  return scopes.filter((scope) => !PRIVILEGES.some((privilege) => covers([scope], privilege)));
}
