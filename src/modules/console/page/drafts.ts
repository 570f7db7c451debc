/**
 * Unsent texts, kept in this tab until they are sent or the person logs out: a session that expires meanwhile leads
 * away from the page and back to it.
 */
import { useState } from "./preact.ts";

/** State of a text on the page of this address; a text equal to the first one is not stored. */
export function useDraft(field: string, first = ""): readonly [string, (text: string) => void] {
  const key = JSON.stringify([location.pathname, field]);
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? first);
  const change = (changed: string): void => {
    setText(changed);
    try {
      if (changed === first) sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, changed);
    } catch {
      // The tab's storage is full, so the text is on the page only.
    }
  };
  return [text, change];
}

const PERSON = "person";

/** Deletes another person's drafts. */
export function keepDraftsOf(personId: string): void {
  if (sessionStorage.getItem(PERSON) === personId) return;
  sessionStorage.clear();
  sessionStorage.setItem(PERSON, personId);
}
