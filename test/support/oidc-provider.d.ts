/** As much of the package's types as the tests use; it comes without. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";
  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
  }
}
