/** A person at the console: who it is, and what it may do there. */
import type { Operator } from "../../state/registers/operator.ts";

/** A viewer sees, an operator decides. */
export const ROLES = ["viewer", "operator"] as const;
export type Role = (typeof ROLES)[number];

/** Somebody who signed in, or may. */
export interface Person {
  /** `link:NAME`, or the provider's issuer and subject. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly via: Exclude<Operator["via"], "certificate" | "passkey">;
}

/** The person as records name it. */
export function operatorOfPerson({ id, name, via }: Person): Operator {
  return { id, name, via };
}
