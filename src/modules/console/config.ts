/** The configuration of the console.   `[console]` */
export interface ConsoleConfig {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** Without cert and key, plain HTTP. */
  readonly cert?: string;
  readonly key?: string;
  /** Where people find it; `http://localhost:PORT` without this. */
  readonly baseUrl?: string;
  /** Counted from the last use. */
  readonly sessionMinutes: number;
}
