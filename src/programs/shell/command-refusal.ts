/** A program's answer is no: it understands what is asked and does not do it. */

/** Ends a command with exit code 1; the message is for people. */
export class CommandRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandRefusal";
  }
}
