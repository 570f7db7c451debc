/**
 * An agent's reasoning on its way into events: redacted, cut to what the verbosity allows, and where
 * the host streams, shown piece by piece before the block is closed. The pieces together are the
 * text of the event that closes them.   OpenWOP RFC 0002 §B, RFC 0024
 */
import { wellFormed } from "../../../base/json-value.ts";
import { RedactedStream, type Redactor } from "../../../base/redaction.ts";
import { Turns } from "../../../base/turns.ts";
import type { AgentEvent } from "../agent-executor.ts";
import type { OpenwopConfig } from "../config.ts";
import type { ReasoningSink } from "../runtime/agent-runtime.ts";

export type ReasoningRules = OpenwopConfig["reasoning"];

/** A token is a word, or four characters of a long one. */
const TOKEN_LENGTH = 4;
/** The length that "full" shows of a model that does not stop. */
const MAX_FULL_LENGTH = 262_144;
/** Shorter pieces wait for more: each one is an event that is kept. */
const MIN_PIECE_LENGTH = 16;
const PIECES = 64;

export class ReasoningWriter implements ReasoningSink {
  readonly #agentId: string;
  readonly #rules: ReasoningRules;
  readonly #redactor: Redactor;
  readonly #emit: (event: AgentEvent) => Promise<string>;
  #stream: RedactedStream;
  readonly #turns = new Turns();
  #isOver = false;
  /** The part of the open block that is not looked at yet. */
  #heard = "";
  #text = "";
  #deltas = 0;
  #blocks = 0;

  constructor(
    agentId: string,
    rules: ReasoningRules,
    redactor: Redactor,
    emit: (event: AgentEvent) => Promise<string>,
  ) {
    this.#agentId = agentId;
    this.#rules = rules;
    this.#redactor = redactor;
    this.#emit = emit;
    this.#stream = new RedactedStream(redactor);
  }

  add(piece: string): Promise<void> {
    return this.#inTurn(() => this.#add(piece));
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#close());
  }

  say(text: string): Promise<void> {
    return this.#inTurn(() => this.#say(text));
  }

  /** Says a text unless a block was closed before, or all are hidden. */
  sayUnlessSpoken(text: string): Promise<void> {
    const isHidden = this.#rules.verbosity === "off";
    return this.#inTurn(async () => {
      if (!isHidden && this.#blocks === 0) await this.#say(text);
    });
  }

  /** Ends the block that is open; what is said from now on is not heard. */
  async end(): Promise<void> {
    const last = this.close();
    this.#isOver = true;
    await last;
  }

  /** A speaker need not wait: what is said at once is told one after the other. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    return this.#isOver ? this.#turns.settled() : this.#turns.run(step);
  }

  async #say(text: string): Promise<void> {
    await this.#add(text);
    await this.#close();
  }

  async #add(piece: string): Promise<void> {
    if (this.#isFull()) return;
    this.#heard += this.#stream.push(piece);
    if (this.#heard.length >= this.#leastPiece()) await this.#show();
  }

  /** The longer a block grows the larger its pieces: however long it is, they are some hundreds. */
  #leastPiece(): number {
    return Math.max(MIN_PIECE_LENGTH, this.#text.length / PIECES);
  }

  async #close(): Promise<void> {
    this.#heard += this.#stream.end();
    await this.#show();
    if (this.#text !== "") await this.#emitBlock();
    this.#stream = new RedactedStream(this.#redactor);
    this.#heard = "";
    this.#text = "";
    this.#deltas = 0;
  }

  #isFull(): boolean {
    return this.#rules.verbosity === "off" || this.#text.length >= maxLength(this.#rules);
  }

  /** Shows what still fits; half of a surrogate pair waits for the other one. */
  async #show(): Promise<void> {
    const whole = wellFormed(this.#heard);
    const text = cutReasoning(this.#text + whole, this.#rules);
    const delta = text.slice(this.#text.length);
    this.#heard = this.#heard.slice(whole.length);
    this.#text = text;
    if (delta !== "") await this.#emitDelta(delta);
  }

  async #emitDelta(delta: string): Promise<void> {
    if (!this.#rules.streaming) return;
    const { verbosity } = this.#rules;
    const payload = { agentId: this.#agentId, delta, sequence: this.#deltas, verbosity };
    this.#deltas += 1;
    await this.#emit({ type: "agent.reasoning.delta", payload });
  }

  async #emitBlock(): Promise<void> {
    this.#blocks += 1;
    const { verbosity } = this.#rules;
    const payload = { agentId: this.#agentId, reasoning: this.#text, verbosity };
    await this.#emit({ type: "agent.reasoned", payload });
  }
}

/** As much of a text as is shown: a summary is the words that it begins with. */
export function cutReasoning(
  text: string,
  rules: Pick<ReasoningRules, "verbosity" | "tokenLimit">,
): string {
  const { verbosity, tokenLimit } = rules;
  const words = verbosity === "summary" ? firstWords(text, tokenLimit) : text;
  return wellFormed(words.slice(0, maxLength(rules)));
}

function maxLength({
  verbosity,
  tokenLimit,
}: Pick<ReasoningRules, "verbosity" | "tokenLimit">): number {
  return verbosity === "summary" ? tokenLimit * TOKEN_LENGTH : MAX_FULL_LENGTH;
}

/** The words at the beginning of a text, with the white space between them. */
function firstWords(text: string, count: number): string {
  let words = 0;
  for (const { index, 0: word } of text.matchAll(/\S+/g)) {
    words += 1;
    if (words === count) return text.slice(0, index + word.length);
  }
  return text;
}
