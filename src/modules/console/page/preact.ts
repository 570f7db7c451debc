/**
 * The page's libraries. Only this file names their packages: the daemon serves them at the paths of `page-files.ts`.
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

/** Builds a virtual node; values become text nodes or properties, never markup. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = htm.bind(
  h,
) as never;

/** Loads the WebAuthn library for browsers at first use. */
export function loadPasskeys(): Promise<typeof import("@simplewebauthn/browser")> {
  return import("@simplewebauthn/browser");
}
