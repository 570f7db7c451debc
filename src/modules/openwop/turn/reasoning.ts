/**
 * Writes an agent's reasoning to events: redacted, truncated by verbosity and, where the host streams, in pieces before
 * the block is closed. The pieces concatenate to the text of the closing event.   OpenWOP RFC 0002 §B, RFC 0024
 */
import { wellFormed } from "../../../base/json-value.ts";
import { RedactedStream, type Redactor } from "../../../base/redaction.ts";
import { Turns } from "../../../base/turns.ts";
import type { AgentEvent } from "../agent-executor.ts";
import type { OpenwopConfig } from "../config.ts";
import type { ReasoningSink } from "../runtime/agent-runtime.ts";

export type ReasoningRules = OpenwopConfig["reasoning"];

/** Limits count words, and four characters per token. */
const TOKEN_LENGTH = 4;
/** The limit of `full`, for a model that does not stop. */
const MAX_FULL_LENGTH = 262_144;
/** Shorter pieces are buffered, since each piece is a stored event. */
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
  /** The redacted text not yet shown. */
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

  /** Says a text unless a block was closed before or reasoning is off. */
  sayUnlessSpoken(text: string): Promise<void> {
    const isHidden = this.#rules.verbosity === "off";
    return this.#inTurn(async () => {
      if (!isHidden && this.#blocks === 0) await this.#say(text);
    });
  }

  /** Closes the open block and ignores further reasoning. */
  async end(): Promise<void> {
    const last = this.close();
    this.#isOver = true;
    await last;
  }

  /** Serializes calls, since callers need not await them. */
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

  /** Pieces grow with the block, so that a block has at most some hundreds of them. */
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

  /** Shows text up to the limit; holds back an unpaired surrogate. */
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

/** Truncates a text by verbosity; a summary is its first words. */
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

/** Returns the first words of a text with the white space between them. */
function firstWords(text: string, count: number): string {
  let words = 0;
  for (const { index, 0: word } of text.matchAll(/\S+/g)) {
    words += 1;
    if (words === count) return text.slice(0, index + word.length);
  }
  return text;
}
