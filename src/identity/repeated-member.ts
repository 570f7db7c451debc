/**
 * Finds a member that an object of a JSON text has twice. A parser keeps one of the two, and not
 * every parser the same one, so that a signature over such a text could cover what nobody reads.
 * RFC 8785 §3.1
 */

/** The name of the first repeated member; the text has been parsed and bounded before. */
export function findRepeatedMember(json: string): string | undefined {
  /** The names of each open object so far; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let lastString = "";
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case '"': {
        const end = endOfString(json, at);
        lastString = json.slice(at, end);
        at = end - 1;
        break;
      }
      case ":": {
        // Escapes make one name out of many spellings.
        const name = String(JSON.parse(lastString));
        const names = open.at(-1);
        if (names?.has(name)) return name;
        names?.add(name);
        break;
      }
      case "{":
        open.push(new Set());
        break;
      case "[":
        open.push(undefined);
        break;
      case "}":
      case "]":
        open.pop();
        break;
    }
  }
  return undefined;
}

/** Behind the closing quote of the string that opens at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}
