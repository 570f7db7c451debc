#!/usr/bin/env node
/**
 * Makes what the sample deployment needs and no repository should hold: the certificate of its order
 * desk, which `endpoints/orders/` trusts. Part of the build, so that a fresh clone passes `--check`.
 */
import { fileURLToPath } from "node:url";
import { ensureCertificate } from "../src/server/certificate.ts";

await ensureCertificate(fileURLToPath(new URL("../../.agtp/sample", import.meta.url)));
