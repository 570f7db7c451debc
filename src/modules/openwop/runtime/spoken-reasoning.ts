/**
 * The reasoning in what a model says, found while it says it: the member "reasoning" of an answer in
 * JSON, if that comes first, or all of a text that is no JSON.
 */

type Mode = "undecided" | "plain" | "member" | "none";

/** The state of reading JSON before it is clear where its reasoning is. */
const MAX_UNDECIDED = 256;
const FENCE = /^```[a-z]{0,16}\s*/;
const FIRST_MEMBER = /^\{\s*"reasoning"\s*:\s*"/;
const OTHER_MEMBER = /^\{\s*(?:\}|"(?!reasoning")[^"\\]{0,128}"|"reasoning"\s*:\s*[^\s"])/;

export class SpokenReasoning {
  #mode: Mode = "undecided";
  #held = "";
  #hasSpoken = false;

  /** Tells whether any reasoning was found. */
  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  /** The reasoning in one more piece. */
  push(piece: string): string {
    this.#held += piece;
    if (this.#mode === "undecided") this.#decide();
    const said = this.#read();
    this.#hasSpoken ||= said !== "";
    return said;
  }

  #read(): string {
    switch (this.#mode) {
      case "plain":
        return this.#release(this.#held.length);
      case "member":
        return this.#readMember();
      case "none":
        this.#held = "";
        return "";
      case "undecided":
        return "";
    }
  }

  #decide(): void {
    const text = this.#held.trimStart();
    if (text === "" || (text.startsWith("`") && text.length < 4)) return;
    const json = text.replace(FENCE, "");
    if (json === "") return;
    const member = FIRST_MEMBER.exec(json);
    if (member !== null) {
      this.#mode = "member";
      this.#held = json.slice(member[0].length);
    } else if (!/^[{["]/.test(json)) this.#mode = text === json ? "plain" : "none";
    else if (!json.startsWith("{") || OTHER_MEMBER.test(json) || json.length > MAX_UNDECIDED) {
      this.#mode = "none";
    }
  }

  /** A piece may end inside an escape, which then waits for its rest. */
  #readMember(): string {
    let end = 0;
    while (end < this.#held.length && this.#held[end] !== '"') {
      const length = this.#held[end] !== "\\" ? 1 : this.#held[end + 1] === "u" ? 6 : 2;
      if (end + length > this.#held.length) break;
      end += length;
    }
    const isClosed = this.#held[end] === '"';
    const decoded = decode(this.#release(end));
    if (isClosed || decoded === undefined) this.#mode = "none";
    return decoded ?? "";
  }

  #release(length: number): string {
    const released = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return released;
  }
}

/** Undefined: it is no text of JSON. */
function decode(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(`"${text}"`);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
