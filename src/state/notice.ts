/** Notices to the operator about the state, beside faults: each is one line of the log. */

/** Something that happened to what is kept. */
export interface StateNotice {
  readonly level: "info" | "warn" | "error";
  readonly event:
    | "clock-stepped-back"
    | "journal-tail-cut"
    | "node-taken-over"
    | "record-outcome-unknown"
    | "journal-sync-failed"
    | "journal-cut"
    | "journal-retention-failed"
    | "store-available"
    | "store-unavailable"
    | "store-went-back";
  /** Lower case, no full stop. */
  readonly message: string;
  /** In snake_case, as they stand in the line. */
  readonly fields: Readonly<Record<string, string | number>>;
}
