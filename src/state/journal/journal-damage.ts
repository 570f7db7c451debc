/**
 * Damages of a journal, and of the store beside it: known records that it lacks, and lines that it
 * should not hold. A daemon does not start over them: the next record would hide the damage for good.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import type { StateNotice } from "../notice.ts";

/** One thing that is wrong with a journal. */
export type JournalDamage =
  /** The newest record that is known of a chain, or one that another record names, is gone. */
  | {
      readonly kind: "lost-record";
      readonly agentId: string;
      readonly auditId: string;
      /** The segment's file name. */
      readonly file: string;
    }
  /** It is there, and not where it was written: another line before it is gone, or is new. */
  | {
      readonly kind: "moved-record";
      readonly agentId: string;
      readonly auditId: string;
      readonly file: string;
    }
  /** The journal ends before the last checkpoint, where no chain is known to have ended. */
  | { readonly kind: "lost-tail"; readonly file: string; readonly octets: number }
  /** A whole line is no record. */
  | {
      readonly kind: "no-record";
      readonly file: string;
      readonly offset: number;
      readonly length: number;
    }
  /** The store's log lost what was committed behind an octet: contracts, revocations and the like. */
  | { readonly kind: "lost-commits"; readonly file: string; readonly offset: number };

/** Everything that is wrong, where a journal is opened. */
export class JournalDamageError extends Error {
  readonly damages: readonly JournalDamage[];

  constructor(damages: readonly JournalDamage[]) {
    super(damages.map(describeDamage).join("; "));
    this.name = "JournalDamageError";
    this.damages = damages;
  }
}

/** Continues a sentence that begins with the segment's file. */
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

/** As a line of the log. */
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
