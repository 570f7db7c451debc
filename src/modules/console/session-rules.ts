/** The rules that sessions stand by: those of the deployment that is served, whoever opened them. */
import type { ConsoleConfig } from "./console-section.ts";

type Rules = Pick<ConsoleConfig, "sessionMinutes" | "oidc">;

/** One in a process; each deployment that begins to be served puts its own rules in force. */
export class SessionRules {
  #current: Rules | undefined;

  /** @throws before the first were put in force */
  get current(): Rules {
    if (this.#current === undefined) throw new Error("no rules are in force yet");
    return this.#current;
  }

  /** The rules from now on. */
  enforce(rules: Rules): void {
    this.#current = rules;
  }

  /** The rules until a deployment is served, for sessions that are read before. */
  begin(rules: Rules): void {
    this.#current ??= rules;
  }
}
