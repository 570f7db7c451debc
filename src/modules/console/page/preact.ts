/**
 * The libraries that the page is drawn with, and the only file that names their packages: the daemon
 * serves them beside the page, at the addresses that `page-files.ts` gives them.
 */
import htm from "htm";
import { h, type VNode } from "preact";

export type { ComponentChildren, VNode } from "preact";
export { render } from "preact";
export {
  useCallback,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "preact/hooks";
export { default as UPlot } from "uplot";

/** A piece of the page. Values become text nodes or properties, never markup. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = htm.bind(
  h,
) as never;

/** The browser's side of passkeys, loaded once one is used. */
export function loadPasskeys(): Promise<typeof import("@simplewebauthn/browser")> {
  return import("@simplewebauthn/browser");
}
