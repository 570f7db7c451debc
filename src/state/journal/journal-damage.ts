/**
 * Damage to a journal, or to the store beside it: known records that are missing, and lines that are not records. A
 * daemon does not start with it, since the next record would hide it for good.   AGTP-IDENTIFIERS "Audit Log"
 */
import type { StateNotice } from "../notice.ts";

/** A single damage. */
export type JournalDamage =
  /** The newest known record of a chain, or one that another record names, is missing. */
  | {
      readonly kind: "lost-record";
      readonly agentId: string;
      readonly auditId: string;
      /** The segment's file name. */
      readonly file: string;
    }
  /** The record is at another offset than it was written at, since something before it was removed or inserted. */
  | {
      readonly kind: "moved-record";
      readonly agentId: string;
      readonly auditId: string;
      readonly file: string;
    }
  /** The journal ends before the last checkpoint, in a part without known heads. */
  | { readonly kind: "lost-tail"; readonly file: string; readonly octets: number }
  /** A complete line is not a record. */
  | {
      readonly kind: "no-record";
      readonly file: string;
      readonly offset: number;
      readonly length: number;
    }
  /** The store's log lost the commits after an offset: contracts, revocations and others. */
  | { readonly kind: "lost-commits"; readonly file: string; readonly offset: number };

/** Thrown on opening a journal, with every damage found. */
export class JournalDamageError extends Error {
  readonly damages: readonly JournalDamage[];

  constructor(damages: readonly JournalDamage[]) {
    super(damages.map(describeDamage).join("; "));
    this.name = "JournalDamageError";
    this.damages = damages;
  }
}

/** Describes a damage, as the end of a sentence that begins with the file. */
export function describeDamage(damage: JournalDamage): string {
  switch (damage.kind) {
    case "lost-record":
      return `lacks record ${damage.auditId} of agent ${damage.agentId}, which is known to have been in its chain`;
    case "moved-record":
      return `holds record ${damage.auditId} of agent ${damage.agentId} at another octet than it was written at: something before it was changed`;
    case "lost-tail":
      return `lacks its end: it had ${damage.octets} octets at least when the last checkpoint was made`;
    case "no-record":
      return `holds something else than a record at octet ${damage.offset}`;
    case "lost-commits":
      return `does not hold from octet ${damage.offset} on, and lost what was committed behind that`;
  }
}

/** Returns the damage as a notice for the log. */
export function damageNotice(damage: JournalDamage): StateNotice {
  const { file } = damage;
  const named = "agentId" in damage ? { agent_id: damage.agentId, audit_id: damage.auditId } : {};
  return {
    level: "error",
    event: "store-went-back",
    message: `${file} ${describeDamage(damage)}`,
    fields: { file, ...named },
  };
}
