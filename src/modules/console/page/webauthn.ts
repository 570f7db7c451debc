/** The browser's side of passkeys, and the only file that names its package. */
export { startAuthentication, startRegistration } from "@simplewebauthn/browser";
