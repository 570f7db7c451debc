/** The answer of `agtp-keys` is no: what was asked is understood, and is not done. */

/** Ends a command with exit code 1; the message is for people. */
export class CommandRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandRefusal";
  }
}
